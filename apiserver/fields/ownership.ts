// Owners of fields, and the encoding of metadata.managedFields.

import { isFields, type ManagedFieldsEntry } from '../../src/kubernetes/object.ts';
import { compareUtf8, encodeGoJsonString } from '../../src/std/go-text.ts';
import type { JsonObject } from '../same-value.ts';
import { decodeFieldsV1, encodeFieldsV1, type FieldSet } from './field-set.ts';

/** A field manager with its operation, version and subresource. */
export interface Owner {
  readonly manager: string;
  readonly operation: 'Apply' | 'Update';
  readonly apiVersion: string;
  /** Subresource; empty for the object itself. */
  readonly subresource: string;
}

export interface Ownership extends Owner {
  readonly fields: FieldSet;
  /** Time of the last change, RFC 3339; absent if unknown. */
  readonly time?: string;
}

/** Ownerships by the key of their owner. */
export type Ownerships = ReadonlyMap<string, Ownership>;

/** Returns the key of an owner. A manager that applies is the same owner in every version. */
export function encodeOwnerKey({ manager, operation, apiVersion, subresource }: Owner): string {
  const parts = { manager, operation, apiVersion: operation === 'Apply' ? '' : apiVersion, subresource };
  const present = Object.entries(parts).filter(([, text]) => text !== '');
  return `{${present.map(([name, text]) => `"${name}":${encodeGoJsonString(text)}`).join(',')}}`;
}

/** Decodes managedFields; returns no owners if an entry is malformed. */
export function decodeManagedFields(entries: unknown): Ownerships {
  try {
    const decoded = Array.isArray(entries) ? entries.map(decodeEntry) : [];
    return new Map(decoded.map((ownership) => [encodeOwnerKey(ownership), ownership]));
  } catch {
    return new Map();
  }
}

/** Encodes managedFields in Kubernetes' order: by operation, time, manager, version and subresource. */
export function encodeManagedFields(ownerships: Ownerships): readonly ManagedFieldsEntry[] {
  const ordered = [...ownerships.values()].sort(
    (a, b) =>
      compareUtf8(a.operation, b.operation) ||
      compareUtf8(a.time ?? '', b.time ?? '') ||
      compareUtf8(a.manager, b.manager) ||
      compareUtf8(a.apiVersion, b.apiVersion) ||
      compareUtf8(a.subresource, b.subresource),
  );
  return ordered.map(({ manager, operation, apiVersion, time, fields, subresource }) => ({
    ...(manager !== '' && { manager }),
    operation,
    apiVersion,
    ...(time !== undefined && { time }),
    fieldsType: 'FieldsV1',
    fieldsV1: encodeFieldsV1(fields),
    ...(subresource !== '' && { subresource }),
  }));
}

function decodeEntry(entry: unknown): Ownership {
  const { manager, operation, apiVersion, time, fieldsType, fieldsV1, subresource }: JsonObject = isFields(entry) ? entry : {};
  const isOperation = operation === 'Apply' || operation === 'Update';
  if (!isOperation || typeof apiVersion !== 'string' || apiVersion === '' || fieldsType !== 'FieldsV1') throw new Error('malformed entry');
  return {
    manager: typeof manager === 'string' ? manager : '',
    operation,
    apiVersion,
    subresource: typeof subresource === 'string' ? subresource : '',
    ...(typeof time === 'string' && { time }),
    fields: decodeFieldsV1(fieldsV1),
  };
}
