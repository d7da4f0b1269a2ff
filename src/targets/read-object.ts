// Reads an object from a target, if the credential permits it.

import type { ApiObject, Resource } from '../api/resources.ts';
import { type ObjectName, objectPath } from '../kube/paths.ts';
import { toStatusError } from '../kube/response.ts';
import type { Fields } from '../kubernetes/object.ts';
import { StatusError } from '../kubernetes/status.ts';
import { fieldsOf } from '../kubernetes/untrusted.ts';
import { IssueError, toStatusFailure } from './issue-error.ts';
import type { TokenSource } from './target.ts';

/** Part of an object to read: `metadata` excludes the data of Secrets. */
export type ObjectPart = 'whole' | 'metadata';

/**
 * Returns the object; undefined if the credential is not permitted to read it. Throws an IssueError for other failures; the error contains
 * the target's Status if the object does not exist.
 */
export async function readObject(
  target: TokenSource,
  resource: Resource<ApiObject>,
  name: ObjectName,
  { part, signal }: { readonly part: ObjectPart; readonly signal: AbortSignal },
): Promise<Fields | undefined> {
  const path = objectPath(resource, name);
  const headers = { accept: ACCEPTED_TYPES[part] };
  try {
    return await target.call(async ({ transport }, options) => {
      const response = await transport.request({ method: 'GET', path, headers, maxBytes: MAX_BYTES, ...options });
      if (response.status !== 200) throw toStatusError(response);
      return parseObject(response.body);
    }, signal);
  } catch (error) {
    if (!(error instanceof StatusError)) throw error;
    const failure = toStatusFailure(error);
    if (failure.reason === 'TargetForbidden') return undefined;
    throw failure;
  }
}

const MAX_BYTES = 4 << 20;
const ACCEPTED_TYPES: Readonly<Record<ObjectPart, string>> = {
  whole: 'application/json',
  metadata: 'application/json;as=PartialObjectMetadata;g=meta.k8s.io;v=v1',
};

function parseObject(body: string): Fields {
  try {
    return fieldsOf(JSON.parse(body));
  } catch {
    throw new IssueError('ResponseUntrusted', 'the response is not JSON');
  }
}
