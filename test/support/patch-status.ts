// Patches of a status, as users and other controllers send them. Purser replaces statuses.

import type { ApiObject, Resource, Stored } from '../../src/api/resources.ts';
import type { KubeClient } from '../../src/kube/client.ts';
import { type ObjectName, objectPath } from '../../src/kube/paths.ts';
import { toStatusError } from '../../src/kube/response.ts';

/** Applies a merge patch to the status subresource, and returns the object. Throws a StatusError. */
export async function patchStatus<T extends ApiObject>(
  { transport }: KubeClient,
  resource: Resource<T>,
  name: ObjectName,
  patch: object,
): Promise<Stored<T>> {
  const response = await transport.request({
    method: 'PATCH',
    path: objectPath(resource, name, 'status'),
    headers: { 'content-type': 'application/merge-patch+json' },
    body: JSON.stringify(patch),
  });
  if (response.status !== 200) throw toStatusError(response);
  return JSON.parse(response.body) as Stored<T>;
}
