// Lists: how many items. That all of them differ, no definition may ask: only lists of type set and map are told so.

import { type FieldError, invalidValue, tooMany } from '../../src/kubernetes/field-error.ts';
import type { Value } from '../../src/kubernetes/object.ts';
import type { Schema } from '../../src/kubernetes/schema/schema.ts';
import { failed, type Result } from './result.ts';

/** What is wrong with a list as a whole. */
export function checkListSize(items: readonly Value[], { minItems = 0, maxItems }: Schema, path: string): Result {
  const errors: FieldError[] = [];
  const size = items.length;
  if (size < minItems) errors.push(invalidValue(path, size, `${path} in body should have at least ${minItems} items`));
  if (maxItems !== undefined && size > maxItems) errors.push(tooMany(path, size, maxItems));
  return failed(...errors);
}
