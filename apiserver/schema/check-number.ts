// Numbers: bounds, multiples, and the range of their format. Integers are compared as integers, the rest as floats.

import { type FieldError, invalidValue } from '../../src/kubernetes/field-error.ts';
import type { Schema } from '../../src/kubernetes/schema/schema.ts';
import { goFloat } from '../../src/std/go-text.ts';
import { allowedTypes, isInteger, isIntegral } from './types.ts';

/** What is wrong with a number, besides its type. */
export function checkNumber(value: number | bigint, schema: Schema, path: string): readonly FieldError[] {
  const { multipleOf, minimum, maximum } = schema;
  return [
    ...rangeErrors(value, schema, path, 'Checked'),
    ...(multipleOf === undefined ? [] : checkMultiple({ value, limit: multipleOf, schema, path })),
    ...(minimum === undefined ? [] : checkMinimum({ value, limit: minimum, schema, path })),
    ...(maximum === undefined ? [] : checkMaximum({ value, limit: maximum, schema, path })),
  ];
}

interface Bound {
  readonly value: number | bigint;
  readonly limit: number;
  readonly schema: Schema;
  readonly path: string;
}

function checkMultiple({ value, limit, schema, path }: Bound): readonly FieldError[] {
  const unusable = rangeErrors(limit, schema, path, 'MultipleOf');
  const factor = isInteger(value) && unusable.length === 0 ? BigInt(Math.trunc(limit)) : limit;
  const text = limitText(factor);
  if (factor <= 0) return [...unusable, invalidValue(path, factor, `factor MultipleOf declared for ${path} must be positive: ${text}`)];
  if (isMultiple(value, factor)) return unusable;
  return [...unusable, invalidValue(path, value, `${path} in body should be a multiple of ${text}`)];
}

function isMultiple(value: number | bigint, factor: number | bigint): boolean {
  if (typeof factor === 'bigint') return BigInt(value) % factor === 0n;
  return isIntegral(factor < 1 ? (1 / factor) * Number(value) : Number(value) / factor);
}

function checkMinimum({ value, limit: bound, schema, path }: Bound): readonly FieldError[] {
  const unusable = rangeErrors(bound, schema, path, 'Minimum boundary');
  const limit = comparable(value, bound, unusable.length === 0);
  const exclusive = schema.exclusiveMinimum === true;
  if (exclusive ? value > limit : value >= limit) return unusable;
  const relation = exclusive ? 'greater than' : 'greater than or equal to';
  return [...unusable, invalidValue(path, value, `${path} in body should be ${relation} ${limitText(limit)}`)];
}

function checkMaximum({ value, limit: bound, schema, path }: Bound): readonly FieldError[] {
  const unusable = rangeErrors(bound, schema, path, 'Maximum boundary');
  const limit = comparable(value, bound, unusable.length === 0);
  const exclusive = schema.exclusiveMaximum === true;
  if (exclusive ? value < limit : value <= limit) return unusable;
  const relation = exclusive ? 'less than' : 'less than or equal to';
  return [...unusable, invalidValue(path, value, `${path} in body should be ${relation} ${limitText(limit)}`)];
}

/** The limit as it is compared with a value: beside an integer it loses its fraction. */
function comparable(value: number | bigint, limit: number, inRange: boolean): number | bigint {
  return isInteger(value) && inRange ? BigInt.asIntN(64, BigInt(Math.trunc(limit))) : limit;
}

function limitText(limit: number | bigint): string {
  return typeof limit === 'bigint' ? String(limit) : goFloat(limit);
}

/** Both values and limits must be what the type and format can hold. */
function rangeErrors(value: number | bigint, schema: Schema, path: string, label: string): readonly FieldError[] {
  const types = allowedTypes(schema);
  const type = types.length === 1 ? types[0] : undefined;
  if (type === 'integer') {
    const format = schema.format === 'int32' || schema.format === 'int64' ? schema.format : undefined;
    return isOfWidth(value, format === 'int32' ? 32 : 64) ? [] : [outOfRange(label, type, format, path)];
  }
  if (type !== 'number' || schema.format !== 'float') return [];
  return Number.isFinite(Math.fround(Number(value))) ? [] : [outOfRange(label, type, 'float', path)];
}

function isOfWidth(value: number | bigint, bits: number): boolean {
  if (typeof value === 'number' && !Number.isInteger(value)) return false;
  return BigInt.asIntN(bits, BigInt(value)) === BigInt(value);
}

function outOfRange(label: string, type: string, format: string | undefined, path: string): FieldError {
  const form = format === undefined ? '(default format)' : `with format ${format}`;
  return invalidValue('', '', `${label} value must be of type ${type} ${form} in ${path}`);
}
