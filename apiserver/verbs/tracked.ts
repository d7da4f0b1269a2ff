// Who owns which field after an ordinary write (create, PUT, JSON, merge and strategic patch).

import { apiVersionOf, type KubeObject } from '../../src/kubernetes/object.ts';
import { formatTimestamp } from '../../src/std/timestamp.ts';
import { withTrackedUpdate } from '../fields/managed-fields.ts';
import type { Typing } from '../fields/typed-object.ts';
import type { Kind } from '../kinds/kind.ts';
import type { Api, Target, Writer } from './api.ts';
import { resetPathsOf } from './reset-paths.ts';

export interface Write {
  readonly live?: KubeObject | undefined;
  readonly next: KubeObject;
  readonly writer: Writer;
}

/** The written object with its metadata.managedFields. */
export function tracked(api: Api, target: Target, { live, next, writer }: Write): KubeObject {
  const { subresource } = target;
  return withTrackedUpdate({ ...typingOf(api, target), live, next, manager: writer.manager, now: formatTimestamp(api.now()), subresource });
}

/** How the fields of a kind are owned at one of its endpoints. */
export function typingOf(api: Api, { kind, subresource }: Pick<Target, 'kind' | 'subresource'>): Typing {
  return {
    schema: kind.schema,
    apiVersion: apiVersionOf(kind),
    resetPaths: resetPathsOf(kind, subresource),
    inVersion: (object, apiVersion) => inVersion(api, kind, object, apiVersion),
  };
}

function inVersion(
  api: Api,
  { group, plural }: Kind,
  object: KubeObject,
  apiVersion: string,
): ReturnType<NonNullable<Typing['inVersion']>> {
  const version = apiVersion.slice(apiVersion.indexOf('/') + 1);
  const other = api.registry.find(group, version, plural);
  if (other === undefined || apiVersionOf(other) !== apiVersion) return undefined;
  return { object: { ...object, apiVersion }, schema: other.schema };
}
