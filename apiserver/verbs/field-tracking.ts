// Field ownership after an ordinary write: create, PUT, and JSON, merge and strategic patches.

import { apiVersionOf, type KubeObject } from '../../src/kubernetes/object.ts';
import { formatTimestamp } from '../../src/std/timestamp.ts';
import { withTrackedUpdate } from '../fields/managed-fields.ts';
import type { Typing } from '../fields/typed-object.ts';
import type { Kind } from '../kinds/kind.ts';
import type { Api, Target, Writer } from './api.ts';

export interface Write {
  readonly live?: KubeObject | undefined;
  readonly next: KubeObject;
  readonly writer: Writer;
}

/** Returns the written object with its metadata.managedFields. */
export function trackFields(api: Api, target: Target, { live, next, writer }: Write): KubeObject {
  const { subresource } = target;
  return withTrackedUpdate({ ...typingOf(target), live, next, manager: writer.manager, now: formatTimestamp(api.now()), subresource });
}

/** Returns how fields of a kind are owned at one of its endpoints. */
export function typingOf({ kind, subresource }: Pick<Target, 'kind' | 'subresource'>): Typing {
  return {
    schema: kind.schema,
    apiVersion: apiVersionOf(kind),
    resetPaths: resetPathsOf(kind, subresource),
  };
}

/** Status is written at its own endpoint only, and that writes little else. `subresource` is empty for the object itself. */
export function resetPathsOf(
  { subresources, builtIn }: Pick<Kind, 'subresources' | 'builtIn'>,
  subresource: string,
): readonly (readonly string[])[] {
  const status = subresources.find(({ name }) => name === 'status');
  if (status === undefined) return [];
  if (subresource !== 'status') return [['status']];
  // The status endpoints of built-in kinds take changes of metadata, those of custom resources do not.
  return builtIn ? [['spec']] : [['metadata'], ['spec']];
}
