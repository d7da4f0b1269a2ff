// Lists: how many items, and whether all differ.

import { type FieldError, invalidValue, tooMany } from '../../api/field-error.ts';
import type { Value } from '../object.ts';
import { sameValue } from '../same-value.ts';
import { failed, type Result } from './result.ts';
import type { Schema } from './schema.ts';

/** What is wrong with a list as a whole. */
export function checkListSize(items: readonly Value[], { minItems = 0, maxItems, uniqueItems }: Schema, path: string): Result {
  const errors: FieldError[] = [];
  const size = items.length;
  if (size < minItems) errors.push(invalidValue(path, size, `${path} in body should have at least ${minItems} items`));
  if (maxItems !== undefined && size > maxItems) errors.push(tooMany(path, size, maxItems));
  if (uniqueItems && items.some((item, index) => items.slice(0, index).some((other) => sameValue(item, other)))) {
    errors.push(invalidValue(path, '', `${path} in body shouldn't contain duplicates`));
  }
  return failed(...errors);
}
