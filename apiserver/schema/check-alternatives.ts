// anyOf, oneOf, allOf and not. Of alternatives that all fail, the one that came furthest is explained.

import { type FieldError, invalidValue } from '../../src/kubernetes/field-error.ts';
import type { Schema } from '../../src/kubernetes/schema/schema.ts';
import { goQuote } from '../../src/std/go-text.ts';
import type { Node } from './node.ts';
import { failed, merged, PASSED, type Result } from './result.ts';

/** Checks a value against the alternatives of its schema. */
export function checkAlternatives(node: Node, check: (node: Node) => Result): Result {
  const against = (schemas: readonly Schema[] = []) => schemas.map((schema) => check({ ...node, schema }));
  const { anyOf, oneOf, allOf, not } = node.schema;
  const name = goQuote(node.path);
  return merged(
    [
      ...(anyOf === undefined ? [] : [checkAnyOf(against(anyOf), name)]),
      ...(oneOf === undefined ? [] : [checkOneOf(against(oneOf), name)]),
      ...(allOf === undefined ? [] : [checkAllOf(against(allOf), name)]),
      ...(not === undefined || !isValid(check({ ...node, schema: not }))
        ? []
        : [failed(whole(`${name} must not validate the schema (not)`))]),
    ],
    1,
  );
}

function checkAnyOf(results: readonly Result[], name: string): Result {
  if (results.length === 0) return PASSED;
  return results.find(isValid) ?? merged([failed(whole(`${name} must validate at least one schema (anyOf)`)), furthest(results)]);
}

function checkOneOf(results: readonly Result[], name: string): Result {
  if (results.length === 0) return PASSED;
  const valid = results.filter(isValid);
  const [first] = valid;
  if (valid.length === 1 && first !== undefined) return first;
  const found = valid.length === 0 ? 'Found none valid' : `Found ${valid.length} valid alternatives`;
  const error = failed(whole(`${name} must validate one and only one schema (oneOf). ${found}`));
  return valid.length === 0 ? merged([error, furthest(results)]) : error;
}

function checkAllOf(results: readonly Result[], name: string): Result {
  if (results.every(isValid)) return merged(results);
  const none = results.some(isValid) ? '' : '. None validated';
  return merged([...results, failed(whole(`${name} must validate all the schemas (allOf)${none}`))]);
}

function isValid(result: Result): boolean {
  return result.errors.length === 0;
}

function furthest(results: readonly Result[]): Result {
  return results.reduce((best, result) => (result.checks > best.checks ? result : best));
}

/** An error that is not laid at one field's door. */
function whole(detail: string): FieldError {
  return invalidValue('', '', detail);
}
