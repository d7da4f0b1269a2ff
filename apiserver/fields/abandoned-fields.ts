// Who applies an object again without a field gives it up; a field that nobody else owns goes.

import { difference, intersection, union } from './field-set.ts';
import { ownedFields } from './owned-fields.ts';
import type { Ownership, Ownerships } from './ownership.ts';
import { removeFields } from './remove-fields.ts';
import { converted, type TypedObject, type Typing } from './typed-object.ts';
import { withNamedFields } from './typed-sets.ts';

/** `merged` without the fields that the applying owner had in `last` and nobody has in `ownerships`. */
export function withoutAbandoned(
  merged: TypedObject,
  { ownerships, last, typing }: { readonly ownerships: Ownerships; readonly last: Ownership | undefined; readonly typing: Typing },
): TypedObject {
  if (last === undefined || last.fields.size === 0) return merged;
  const whole = converted(merged, last.apiVersion, typing);
  if (whole === undefined) return merged;
  const lastFields = withNamedFields(whole.type, last.fields);
  const bare = { ...whole, value: removeFields(whole.type, whole.value, lastFields) };
  const owned = withOwned(whole, bare, { ownerships, typing });
  const kept = converted(owned, last.apiVersion, typing) ?? whole;
  const gone = intersection(difference(namedFields(whole), namedFields(kept)), lastFields);
  return converted({ ...whole, value: removeFields(whole.type, whole.value, gone) }, merged.apiVersion, typing) ?? merged;
}

/** `bare` with everything of `whole` that someone owns, in whatever version it is owned. */
function withOwned(
  whole: TypedObject,
  bare: TypedObject,
  { ownerships, typing }: { readonly ownerships: Ownerships; readonly typing: Typing },
): TypedObject {
  const byVersion = Map.groupBy(ownerships.values(), ({ apiVersion }) => apiVersion);
  const versions = [...byVersion.keys()].sort((a, b) => Number(b === whole.apiVersion) - Number(a === whole.apiVersion));
  let kept = bare;
  for (const version of versions) {
    const all = converted(whole, version, typing);
    const some = converted(kept, version, typing);
    if (all === undefined || some === undefined) continue;
    const owned = (byVersion.get(version) ?? []).map(({ fields }) => fields).reduce(union);
    const missing = difference(namedFields(all), union(namedFields(some), withNamedFields(all.type, owned)));
    kept = { ...all, value: removeFields(all.type, all.value, missing) };
  }
  return kept;
}

function namedFields({ type, value }: TypedObject): ReturnType<typeof ownedFields> {
  return withNamedFields(type, ownedFields(type, value));
}
