// Errors about invalid fields of an object, with Kubernetes' messages.

import { encodeGoJson, encodeGoStructJson, formatGoNumber, quoteGoString } from '../std/go-text.ts';

/** Kind of a field error: the `reason` of a Status cause. */
export type FieldErrorType = keyof typeof TITLES;

export interface FieldError {
  readonly type: FieldErrorType;
  /** Path of the field, such as `spec.audiences[0]`. */
  readonly field: string;
  /** Message without the field: `Invalid value: 5: must be larger`. */
  readonly body: string;
}

const TITLES = {
  FieldValueRequired: 'Required value',
  FieldValueDuplicate: 'Duplicate value',
  FieldValueInvalid: 'Invalid value',
  FieldValueNotSupported: 'Unsupported value',
  FieldValueForbidden: 'Forbidden',
  FieldValueTooLong: 'Too long',
  FieldValueTooMany: 'Too many',
  FieldValueTypeInvalid: 'Invalid value',
} as const;

/** Returns the error for an invalid value. The message contains strings in quotes, numbers in Go's format, and other values as JSON. */
export function invalidValue(field: string, value: unknown, detail: string): FieldError {
  return fieldError('FieldValueInvalid', field, [formatValue(value), detail]);
}

/** Returns the error for an invalid struct or list of structs. The message contains the value as JSON with the keys in the given order. */
export function invalidStruct(field: string, value: unknown, detail: string): FieldError {
  return fieldError('FieldValueInvalid', field, [encodeGoStructJson(value), detail]);
}

/** Returns the error for an invalid value that is too large or too sensitive for the message. */
export function invalidOmitted(field: string, detail: string): FieldError {
  return fieldError('FieldValueInvalid', field, [detail]);
}

export function typeInvalid(field: string, value: unknown, detail: string): FieldError {
  return fieldError('FieldValueTypeInvalid', field, [formatValue(value), detail]);
}

export function requiredValue(field: string, detail = ''): FieldError {
  return fieldError('FieldValueRequired', field, [detail]);
}

export function forbiddenValue(field: string, detail: string): FieldError {
  return fieldError('FieldValueForbidden', field, [detail]);
}

export function duplicateValue(field: string, value: unknown): FieldError {
  return fieldError('FieldValueDuplicate', field, [formatValue(value)]);
}

export function unsupportedValue(field: string, value: unknown, supported: readonly string[]): FieldError {
  const detail = supported.length > 0 ? `supported values: ${supported.map(quoteGoString).join(', ')}` : '';
  return fieldError('FieldValueNotSupported', field, [formatValue(value), detail]);
}

export function tooLong(field: string, maxBytes: number): FieldError {
  return fieldError('FieldValueTooLong', field, [`may not be more than ${formatCount(maxBytes, 'byte')}`]);
}

export function tooMany(field: string, actual: number, max: number): FieldError {
  return fieldError('FieldValueTooMany', field, [String(actual), `must have at most ${formatCount(max, 'item')}`]);
}

/** Returns the error as Kubernetes prints it: `spec.size: Invalid value: 5: must be larger`. */
export function formatFieldError(error: FieldError): string {
  return `${error.field}: ${error.body}`;
}

function fieldError(type: FieldErrorType, field: string, parts: readonly string[]): FieldError {
  return { type, field, body: [TITLES[type], ...parts.filter((part) => part !== '')].join(': ') };
}

function formatValue(value: unknown): string {
  if (typeof value === 'number' || typeof value === 'bigint') return formatGoNumber(value);
  return typeof value === 'string' ? quoteGoString(value) : encodeGoJson(value);
}

function formatCount(count: number, unit: string): string {
  return `${count} ${unit}${count === 1 ? '' : 's'}`;
}
