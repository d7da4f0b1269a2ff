// Owners of fields, and the encoding of metadata.managedFields.

import { isFields, type ManagedFieldsEntry } from '../../src/kubernetes/object.ts';
import { compareUtf8, goJsonString } from '../../src/std/go-text.ts';
import { type FieldSet, fromFieldsV1, toFieldsV1 } from './field-set.ts';

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
export function ownerKey({ manager, operation, apiVersion, subresource }: Owner): string {
  const parts = { manager, operation, apiVersion: operation === 'Apply' ? '' : apiVersion, subresource };
  const present = Object.entries(parts).filter(([, text]) => text !== '');
  return `{${present.map(([name, text]) => `"${name}":${goJsonString(text)}`).join(',')}}`;
}

/** Decodes managedFields. Throws an Error for a malformed entry. */
export function decodeManagedFields(entries: unknown): Ownerships {
  const decoded = new Map<string, Ownership>();
  for (const [index, entry] of (isEntries(entries) ? entries : []).entries()) {
    const ownership = decodeEntry(entry, index);
    decoded.set(ownerKey(ownership), ownership);
  }
  return decoded;
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
    fieldsV1: toFieldsV1(fields),
    ...(subresource !== '' && { subresource }),
  }));
}

function isEntries(entries: unknown): entries is readonly Readonly<Record<string, unknown>>[] {
  return Array.isArray(entries) && entries.every(isFields);
}

function decodeEntry(entry: Readonly<Record<string, unknown>>, index: number): Ownership {
  const { manager, operation, apiVersion, time, fieldsType, fieldsV1, subresource } = entry;
  if (operation !== 'Apply' && operation !== 'Update') throw new Error('operation must be `Apply` or `Update`');
  if (typeof apiVersion !== 'string' || apiVersion === '') throw new Error('apiVersion must not be empty');
  if (fieldsType !== 'FieldsV1') throw new Error(`invalid fieldsType in managed fields entry ${index}`);
  return {
    manager: typeof manager === 'string' ? manager : '',
    operation,
    apiVersion,
    subresource: typeof subresource === 'string' ? subresource : '',
    ...(typeof time === 'string' && { time }),
    fields: fromFieldsV1(fieldsV1),
  };
}
