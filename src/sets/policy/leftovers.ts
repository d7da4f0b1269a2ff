// Fields of a ManagedToken that server-side apply keeps although the template does not have them: fields that another manager added, and
// fields set when Purser created the ManagedToken. managedFields records the creation as Update, and server-side apply removes only fields
// that are recorded as Apply.

import { TokensGroup } from '../../api/names.ts';
import { type Fields, isFields } from '../../kubernetes/object.ts';
import { encodeGoJson } from '../../std/go-text.ts';
import type { StoredToken } from '../../tokens/policy/spec.ts';
import type { RenderedToken } from './template.ts';

/** Merge patch of a ManagedToken. */
export interface TokenPatch {
  readonly metadata: { readonly labels: Fields; readonly annotations: Fields };
  readonly spec: Fields;
}

/**
 * Returns the merge patch that turns a ManagedToken into the rendered one; undefined if there is nothing to remove from the ManagedToken.
 */
export function toLeftoverPatch(
  { metadata, spec }: StoredToken,
  { labels, annotations, ...rendered }: RenderedToken,
): TokenPatch | undefined {
  const removed = {
    labels: toNulls(findKeysBeyond(metadata.labels, labels)),
    annotations: toNulls(findKeysBeyond(metadata.annotations, annotations).filter((key) => !key.startsWith(`${TokensGroup}/`))),
  };
  const isBare = Object.keys(removed.labels).length + Object.keys(removed.annotations).length === 0;
  if (isBare && !hasMore(spec, rendered.spec)) return undefined;
  return {
    metadata: { labels: { ...removed.labels, ...labels }, annotations: { ...removed.annotations, ...annotations } },
    spec: createMergePatch(spec, rendered.spec),
  };
}

/** Returns the keys of an object that have a value and that another object lacks. */
function findKeysBeyond(from: object = {}, to: object): readonly string[] {
  const after = to as Fields;
  return Object.entries(from).flatMap(([key, value]) => (value !== undefined && after[key] === undefined ? [key] : []));
}

/** Returns whether an object has a field, at any depth, that another one lacks. */
function hasMore(from: object, to: object): boolean {
  const isDeeper = ([key, value]: readonly [string, unknown]) => {
    const old = (from as Fields)[key];
    return isFields(old) && isFields(value) && hasMore(old, value);
  };
  return findKeysBeyond(from, to).length > 0 || Object.entries(to).some(isDeeper);
}

function toNulls(keys: readonly string[]): Fields {
  return Object.fromEntries(keys.map((key) => [key, null]));
}

/** Returns the merge patch that turns `from` into `to`. */
function createMergePatch(from: object, to: object): Fields {
  const before = from as Fields;
  const changed = Object.entries(to).filter(([key, value]) => value !== undefined && encodeGoJson(before[key]) !== encodeGoJson(value));
  const patched = changed.map(([key, value]) => {
    const old = before[key];
    return [key, isFields(old) && isFields(value) ? createMergePatch(old, value) : value] as const;
  });
  return { ...toNulls(findKeysBeyond(from, to)), ...Object.fromEntries(patched) };
}
