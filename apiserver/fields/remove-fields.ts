// Taking fields out of an object.

import { isFields } from '../../src/kubernetes/object.ts';
import type { FieldSet } from './field-set.ts';
import { entryElement } from './list-entry.ts';
import { fieldType, type MergeType, partFor } from './merge-type.ts';
import { fieldElement } from './path-element.ts';

/** `object` without these fields. What loses its last part below a field that stays becomes null. */
export function removeFields(type: MergeType, object: unknown, fields: FieldSet): unknown {
  return fields.size === 0 ? object : (remove(type, object, fields) ?? {});
}

function remove(type: MergeType, value: unknown, fields: FieldSet): unknown {
  const part = partFor(type, value);
  if (part === 'map' && type.map) return type.map.atomic ? null : removeFromMap(type, value, fields);
  if (part === 'list' && type.list) return type.list.atomic ? null : removeFromList(type, value, fields);
  return value;
}

function removeFromMap({ map }: MergeType, value: unknown, fields: FieldSet): unknown {
  if (!map || !isFields(value)) return null;
  const kept = Object.entries(value).flatMap(([name, field]): [string, unknown][] => {
    const node = fields.get(fieldElement(name));
    if (node === undefined || field === undefined) return [[name, field]];
    return node.member ? [] : [[name, remove(fieldType(map, name) ?? {}, field, node.children)]];
  });
  return kept.length > 0 ? Object.fromEntries(kept) : null;
}

function removeFromList({ list }: MergeType, value: unknown, fields: FieldSet): unknown {
  if (!list || !Array.isArray(value)) return null;
  const kept = value.flatMap((entry: unknown): unknown[] => {
    const node = fields.get(entryElement(list, entry));
    if (node === undefined) return [entry];
    return node.member ? [] : [remove(list.items(), entry, node.children)];
  });
  return kept.length > 0 ? kept : null;
}
