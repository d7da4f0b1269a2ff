// Values from other programs, which may have any type.

import { type Fields, isFields } from './object.ts';

/** Returns the fields of an object; none for any other value. */
export function fieldsOf(value: unknown): Fields {
  return isFields(value) ? value : {};
}

/** Returns a string unchanged; the empty string for any other value. */
export function textOf(value: unknown): string {
  return typeof value === 'string' ? value : '';
}

/** Returns the value if it is safe in annotations and status: 1 to 128 printable ASCII characters without spaces; otherwise undefined. */
export function identifierOf(value: unknown): string | undefined {
  return typeof value === 'string' && /^[\x21-\x7e]{1,128}$/.test(value) ? value : undefined;
}

/** Returns the UID of an object; undefined if it has no valid UID. */
export function uidOf(object: unknown): string | undefined {
  return identifierOf(fieldsOf(fieldsOf(object)['metadata'])['uid']);
}

/** Returns whether the object has this kind and apiVersion. */
export function isKind(value: unknown, apiVersion: string, kind: string): boolean {
  const fields = fieldsOf(value);
  return fields['apiVersion'] === apiVersion && fields['kind'] === kind;
}
