// Validation of custom resources by structural schemas, with kube-apiserver's messages.

import {
  type FieldError,
  formatFieldError,
  invalidValue,
  requiredValue,
  tooLong,
  tooMany,
  typeInvalid,
  unsupportedValue,
} from '../../src/kubernetes/field-error.ts';
import { type Fields, isFields, isList, type Value } from '../../src/kubernetes/object.ts';
import { type Schema, type SchemaType, schemaOfField } from '../../src/kubernetes/schema/schema.ts';
import { encodeGoJson, formatGoFloat, quoteGoString } from '../../src/std/go-text.ts';
import { isSameValue } from '../same-value.ts';
import { matchesPattern } from './pattern.ts';

/** Validates a value. Messages contain paths relative to the value; `field` is the path of the value in the object. */
export function validateSchema(value: Value, schema: Schema, field = ''): readonly FieldError[] {
  return check({ value, schema, path: '' }).map((error) => ({ ...error, field: toAbsolutePath(field, error.field) }));
}

/** Returns the errors of an updated object, except those that it had before the update: kube-apiserver tolerates them. */
export function filterNewErrors(next: readonly FieldError[], old: () => readonly FieldError[]): readonly FieldError[] {
  if (next.length === 0) return next;
  const known = new Set(old().map(formatFieldError));
  return next.filter((error) => !known.has(formatFieldError(error)));
}

/** Supported formats; definitions with other formats are rejected. */
export const FORMATS: ReadonlySet<string> = new Set(['byte', 'date-time', 'int32', 'int64']);

interface Node {
  readonly value: Value;
  readonly schema: Schema;
  /** Path relative to the validated value. */
  readonly path: string;
}

function toAbsolutePath(prefix: string, field: string): string {
  const path = [prefix, field.replace(/^\./, '')].filter((part) => part !== '').join('.');
  return path === '' ? '<nil>' : path;
}

function check(node: Node): readonly FieldError[] {
  return [...validateType(node), ...validateValue(node), ...validateEnum(node)];
}

function validateValue({ value, schema, path }: Node): readonly FieldError[] {
  if (typeof value === 'string') return validateText(value, schema, path);
  if (typeof value === 'number' || typeof value === 'bigint') return validateNumber(value, schema, path);
  if (isList(value)) return validateList(value, schema, path);
  return isFields(value) ? validateObject(value, schema, path) : [];
}

function validateType({ value, schema, path }: Node): readonly FieldError[] {
  const types = allowedTypesOf(schema);
  const expected = types.join(',');
  if (value === null) return types.length === 0 || schema.nullable ? [] : [wrongType(path, expected, 'null')];
  const type = typeOf(value);
  if (types.length === 0 || isAllowedType(type, types)) return [];
  // If the schema has a format, kube-apiserver reports the format instead of the type, except for strings and lists.
  if (schema.format === undefined) return [wrongType(path, expected, type)];
  if (type !== 'string' && type !== 'array') return [wrongType(path, schema.format, GO_FORMATS[type] ?? '')];
  return types.includes('string') ? [] : [wrongType(path, expected, type)];
}

function isAllowedType(type: SchemaType, types: readonly SchemaType[]): boolean {
  return types.includes(type) || (type === 'integer' && types.includes('number'));
}

/** Returns the types that a schema allows; empty if it allows all. */
function allowedTypesOf(schema: Schema): readonly SchemaType[] {
  if (schema['x-kubernetes-int-or-string']) return ['integer', 'string'];
  return schema.type === undefined ? [] : [schema.type];
}

const GO_FORMATS: Partial<Record<SchemaType, string>> = { integer: 'int64', number: 'float64' };

function wrongType(path: string, expected: string, found: string): FieldError {
  return typeInvalid(path, found, `${path} in body must be of type ${expected}: ${quoteGoString(found)}`);
}

function typeOf(value: NonNullable<Value>): SchemaType {
  if (typeof value === 'string') return 'string';
  if (typeof value === 'boolean') return 'boolean';
  if (isList(value)) return 'array';
  if (isFields(value)) return 'object';
  return isInt64(value) ? 'integer' : 'number';
}

function isInt64(value: number | bigint): boolean {
  return typeof value === 'bigint' ? BigInt.asIntN(64, value) === value : Number.isSafeInteger(value);
}

/** Validates a string. If both length and pattern are wrong, reports only the length. */
function validateText(value: string, schema: Schema, path: string): readonly FieldError[] {
  const { minLength = 0, maxLength, pattern = '', type, format } = schema;
  const length = Array.from(value).length;
  const errors: FieldError[] = [];
  if (maxLength !== undefined && length > maxLength) errors.push(tooLong(path, maxLength));
  else if (length < minLength) errors.push(invalidValue(path, value, `${path} in body should be at least ${minLength} chars long`));
  else if (pattern !== '' && !matchesPattern(pattern, value))
    errors.push(invalidValue(path, value, `${path} in body should match '${pattern}'`));
  if (type === 'string' && format !== undefined && TEXT_FORMATS[format]?.(value) === false) {
    errors.push(typeInvalid(path, value, `${path} in body must be of type ${format}: ${quoteGoString(value)}`));
  }
  return errors;
}

/** Checks of strings, by format. */
const TEXT_FORMATS: Readonly<Record<string, (text: string) => boolean>> = { byte: isBase64, 'date-time': isDateTime };

/** Returns true for base64 that kube-apiserver accepts; false for the empty string. */
function isBase64(text: string): boolean {
  return text !== '' && text.length % 4 === 0 && /^[A-Za-z0-9+/]+={0,2}$/.test(text);
}

function isDateTime(text: string): boolean {
  const parts = /^(\d{4}-\d{2}-\d{2})t([01]\d|2[0-3]):[0-5]\d:[0-5]\d(?:.\d+)?(?:z|[+-]\d{2}:\d{2})$/i.exec(text);
  const date = new Date(`${parts?.[1]}T00:00:00Z`);
  return !Number.isNaN(date.getTime()) && date.toISOString().startsWith(parts?.[1] ?? 'none');
}

function validateNumber(value: number | bigint, { type, format, minimum, maximum }: Schema, path: string): readonly FieldError[] {
  const errors: FieldError[] = [];
  if (type === 'integer' && !isOfWidth(value, format === 'int32' ? 32 : 64)) {
    const form = format === undefined ? '(default format)' : `with format ${format}`;
    errors.push(invalidValue('', '', `Checked value must be of type integer ${form} in ${path}`));
  }
  const bound = (relation: string, limit: number) => {
    const text = isInt64(value) && Number.isInteger(limit) ? String(limit) : formatGoFloat(limit);
    return invalidValue(path, isInt64(value) ? value : Number(value), `${path} in body should be ${relation} ${text}`);
  };
  if (minimum !== undefined && value < minimum) errors.push(bound('greater than or equal to', minimum));
  if (maximum !== undefined && value > maximum) errors.push(bound('less than or equal to', maximum));
  return errors;
}

function isOfWidth(value: number | bigint, bits: number): boolean {
  if (typeof value === 'number' && !Number.isInteger(value)) return false;
  return BigInt.asIntN(bits, BigInt(value)) === BigInt(value);
}

function validateList(list: readonly Value[], { items, minItems = 0, maxItems }: Schema, path: string): readonly FieldError[] {
  const errors = items === undefined ? [] : list.flatMap((value, index) => check({ value, schema: items, path: `${path}[${index}]` }));
  const { length } = list;
  if (length < minItems) return [...errors, invalidValue(path, length, `${path} in body should have at least ${minItems} items`)];
  return maxItems !== undefined && length > maxItems ? [...errors, tooMany(path, length, maxItems)] : errors;
}

function validateObject(object: Fields, schema: Schema, path: string): readonly FieldError[] {
  const { maxProperties, required = [], properties = {} } = schema;
  const names = Object.keys(object);
  const errors = names.flatMap((name) => {
    const field = schemaOfField(schema, name);
    const isNamed = Object.hasOwn(properties, name);
    return field === undefined
      ? []
      : check({ value: object[name] ?? null, schema: field, path: isNamed && path === '' ? name : `${path}.${name}` });
  });
  if (maxProperties !== undefined && names.length > maxProperties) errors.push(tooMany(path, names.length, maxProperties));
  const missing = required.filter((name) => !Object.hasOwn(object, name));
  return [...errors, ...missing.map((name) => requiredValue(`${path}.${name}`))];
}

function validateEnum({ value, schema, path }: Node): readonly FieldError[] {
  const allowed = schema.enum ?? [];
  if (allowed.length === 0 || (value !== null && allowed.some((other) => isSameValue(value, other)))) return [];
  return [
    unsupportedValue(
      path,
      value,
      allowed.map((other) => (typeof other === 'string' ? other : encodeGoJson(other))),
    ),
  ];
}
