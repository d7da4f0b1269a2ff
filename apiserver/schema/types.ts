// Which JSON type a value has, and whether a schema asks for that one.

import { typeInvalid } from '../../src/kubernetes/field-error.ts';
import { isFields, isList, type Value } from '../../src/kubernetes/object.ts';
import type { Schema, SchemaType } from '../../src/kubernetes/schema/schema.ts';
import { goQuote } from '../../src/std/go-text.ts';
import { enforcedFormat } from './formats.ts';
import { failed, PASSED, type Result } from './result.ts';

/** The JSON type of a value that is not null. */
export function typeOf(value: NonNullable<Value>): SchemaType {
  if (typeof value === 'string' || typeof value === 'boolean') return typeof value === 'string' ? 'string' : 'boolean';
  if (isList(value)) return 'array';
  if (isFields(value)) return 'object';
  return isInteger(value) ? 'integer' : 'number';
}

/** Whether Go holds this number as an int64. */
export function isInteger(value: number | bigint): boolean {
  return typeof value === 'bigint' ? BigInt.asIntN(64, value) === value : Number.isSafeInteger(value);
}

/** Whether a float is an integer as far as JSON can tell: within a relative error of 1e-9. */
export function isIntegral(value: number): boolean {
  const whole = Math.trunc(value);
  if (!Number.isSafeInteger(whole)) return false;
  return value === whole || (whole !== 0 && Math.abs(value - whole) / (Math.abs(value) + Math.abs(whole)) < 1e-9);
}

/** The types that a schema allows; none means any. */
export function allowedTypes(schema: Schema): readonly SchemaType[] {
  if (schema['x-kubernetes-int-or-string']) return ['integer', 'string'];
  return schema.type === undefined ? [] : [schema.type];
}

/** Checks the type. A format takes part: strings and lists pass any format of text, whose own check follows. */
export function checkType(value: Value, schema: Schema, path: string): Result {
  const types = allowedTypes(schema);
  const wanted = types.join(',');
  if (value === null) return types.length === 0 || schema.nullable ? RIGHT_TYPE : wrongType(path, wanted, 'null');
  const type = typeOf(value);
  if (fits(value, type, types)) return RIGHT_TYPE;
  const format = enforcedFormat(schema);
  if (format === undefined) return wrongType(path, wanted, type);
  if (type !== 'string' && type !== 'array') return wrongType(path, format, GO_FORMATS[type] ?? '');
  return types.includes('number') || types.includes('integer') ? wrongType(path, wanted, type) : RIGHT_TYPE;
}

const RIGHT_TYPE: Result = { ...PASSED, checks: 1 };

function fits(value: Value, type: SchemaType, types: readonly SchemaType[]): boolean {
  if (types.includes(type)) return true;
  if (type === 'integer') return types.includes('number');
  return type === 'number' && types.includes('integer') && isIntegral(Number(value));
}

const GO_FORMATS: Partial<Record<SchemaType, string>> = { integer: 'int64', number: 'float64' };

function wrongType(path: string, wanted: string, found: string): Result {
  return failed(typeInvalid(path, found, `${path} in body must be of type ${wanted}: ${goQuote(found)}`));
}
