// Parts of a ManagedToken that server-side apply leaves in place although the template does not have them: fields that another manager
// added, and fields from the creation, which apply does not own.

import type { ManagedToken } from '../../api/managed-token.gen.ts';
import { SetFieldManager } from '../../api/names.ts';
import type { ObjectMeta } from '../../api/wire.ts';
import { goJson } from '../../std/go-text.ts';
import type { RenderedToken } from './template.ts';

type Fields = Readonly<Record<string, unknown>>;

/** Returns the merge patch that removes everything that the template does not have; undefined if there is nothing to remove. */
export function leftovers({ metadata, spec }: ManagedToken, rendered: RenderedToken): Fields | undefined {
  const labels = ownedKeys(metadata, 'f:labels').filter((key) => !Object.hasOwn(rendered.labels, key));
  const annotations = ownedKeys(metadata, 'f:annotations').filter((key) => !Object.hasOwn(rendered.annotations, key));
  const patch = {
    ...(labels.length + annotations.length > 0 && { metadata: { labels: nulls(labels), annotations: nulls(annotations) } }),
    ...(goJson(spec) !== goJson(rendered.spec) && { spec: mergePatch(spec, rendered.spec) }),
  };
  return Object.keys(patch).length === 0 ? undefined : patch;
}

function nulls(keys: readonly string[]): Fields {
  return Object.fromEntries(keys.map((key) => [key, null]));
}

/** Returns the merge patch that turns `from` into `to`. */
function mergePatch(from: object, to: object): Fields {
  const [before, after] = [from as Fields, to as Fields];
  const removed = Object.keys(before).filter((key) => after[key] === undefined);
  const changed = Object.entries(after).filter(([key, value]) => value !== undefined && goJson(before[key]) !== goJson(value));
  const patched = changed.map(([key, value]) => {
    const old = before[key];
    return [key, isFields(old) && isFields(value) ? mergePatch(old, value) : value] as const;
  });
  return { ...nulls(removed), ...Object.fromEntries(patched) };
}

function isFields(value: unknown): value is Fields {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}

/** Returns the keys of labels or annotations that the controller of sets has set. */
function ownedKeys({ managedFields = [] }: ObjectMeta, part: 'f:labels' | 'f:annotations'): readonly string[] {
  const keys = managedFields.flatMap(({ manager, fieldsV1 }) => {
    const metadata = manager === SetFieldManager && isFields(fieldsV1) ? fieldsV1['f:metadata'] : undefined;
    const fields = isFields(metadata) ? metadata[part] : undefined;
    return isFields(fields) ? Object.keys(fields).filter((key) => key.startsWith('f:')) : [];
  });
  return [...new Set(keys.map((key) => key.slice('f:'.length)))];
}
