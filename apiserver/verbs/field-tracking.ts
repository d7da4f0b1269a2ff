// Tracking of field owners for all writes except server-side apply.

import { apiVersionOf, type KubeObject } from '../../src/kubernetes/object.ts';
import { formatTimestamp } from '../../src/std/timestamp.ts';
import { withTrackedUpdate } from '../fields/managed-fields.ts';
import type { Typing } from '../fields/typed-object.ts';
import type { Kind } from '../kinds/kind.ts';
import type { Api, RequestTarget, Writer } from './api.ts';

export interface Write {
  readonly live?: KubeObject | undefined;
  readonly next: KubeObject;
  readonly writer: Writer;
}

/** Returns the written object with its managedFields. */
export function trackFields(api: Api, target: RequestTarget, { live, next, writer }: Write): KubeObject {
  const { subresource } = target;
  return withTrackedUpdate({ ...toTyping(target), live, next, manager: writer.manager, now: formatTimestamp(api.now()), subresource });
}

/** Returns the type information for the fields that an endpoint of a kind writes. */
export function toTyping({ kind, subresource }: Pick<RequestTarget, 'kind' | 'subresource'>): Typing {
  return { schema: kind.schema, apiVersion: apiVersionOf(kind), resetPaths: toResetPaths(kind, subresource) };
}

/** Returns the paths that an endpoint does not write. `subresource` is empty for the object itself. */
function toResetPaths({ subresources, builtIn }: Kind, subresource: string): NonNullable<Typing['resetPaths']> {
  if (!subresources.some(({ name }) => name === 'status')) return [];
  if (subresource !== 'status') return [['status']];
  // The status endpoints of built-in kinds also write metadata; those of custom resources do not.
  return builtIn ? [['spec']] : [['metadata'], ['spec']];
}
