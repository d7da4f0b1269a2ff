// Fields that an applier gives up by applying an object without them. A field without another owner is removed.

import { difference, type FieldSet, intersection, union } from './field-set.ts';
import { ownedFields } from './owned-fields.ts';
import type { Ownership, Ownerships } from './ownership.ts';
import { removeFields } from './remove-fields.ts';
import type { TypedObject } from './typed-object.ts';
import { withNamedFields } from './typed-sets.ts';

/** Returns `merged` without the fields that the applier owned in `last` and that no owner has in `ownerships`. */
export function withoutAbandoned(merged: TypedObject, ownerships: Ownerships, last: Ownership | undefined): TypedObject {
  if (last === undefined || last.fields.size === 0) return merged;
  const { type, value } = merged;
  const lastFields = withNamedFields(type, last.fields);
  const all = namedFields(merged);
  const bare = namedFields({ ...merged, value: removeFields(type, value, lastFields) });
  const owned = withNamedFields(type, [...ownerships.values()].map(({ fields }) => fields).reduce(union));
  const missing = difference(all, union(bare, owned));
  const kept = namedFields({ ...merged, value: removeFields(type, value, missing) });
  const gone = intersection(difference(all, kept), lastFields);
  return { ...merged, value: removeFields(type, value, gone) };
}

function namedFields({ type, value }: TypedObject): FieldSet {
  return withNamedFields(type, ownedFields(type, value));
}
