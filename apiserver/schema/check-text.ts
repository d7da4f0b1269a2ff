// Strings: length in characters, pattern, format. Only the first of length and pattern is reported.

import { invalidValue, tooLong, typeInvalid } from '../../src/kubernetes/field-error.ts';
import type { Schema } from '../../src/kubernetes/schema/schema.ts';
import { goQuote } from '../../src/std/go-text.ts';
import { enforcedFormat, hasFormat } from './formats.ts';
import { matchesPattern } from './pattern.ts';
import { failed, PASSED, type Result } from './result.ts';

/** What is wrong with a string, besides its type; one result per check that applies. */
export function checkText(value: string, schema: Schema, path: string): readonly Result[] {
  const format = enforcedFormat(schema);
  const isNumeric = schema.type === 'integer' || schema.type === 'number';
  return [checkLengthAndPattern(value, schema, path), ...(format === undefined || isNumeric ? [] : [checkFormat(value, format, path)])];
}

function checkLengthAndPattern(value: string, { minLength = 0, maxLength, pattern = '' }: Schema, path: string): Result {
  const length = Array.from(value).length;
  if (maxLength !== undefined && length > maxLength) return failed(tooLong(path, maxLength));
  if (length < minLength) return failed(invalidValue(path, value, `${path} in body should be at least ${minLength} chars long`));
  if (pattern === '' || matchesPattern(pattern, value)) return PASSED;
  return failed(invalidValue(path, value, `${path} in body should match '${pattern}'`));
}

function checkFormat(value: string, format: string, path: string): Result {
  if (hasFormat(value, format)) return PASSED;
  return failed(typeInvalid(path, value, `${path} in body must be of type ${format}: ${goQuote(value)}`));
}
