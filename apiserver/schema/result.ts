// The outcome of checking one value: what is wrong, and how many checks were made on the way.

import type { FieldError } from '../../src/kubernetes/field-error.ts';

export interface Result {
  /** Each problem once. The field is relative to the checked root and empty for the root itself. */
  readonly errors: readonly FieldError[];
  /** Of several alternatives that all fail, the one with most checks explains the failure. */
  readonly checks: number;
}

export const PASSED: Result = { errors: [], checks: 0 };

/** Several outcomes as one. */
export function merged(results: readonly Result[], checks = 0): Result {
  const errors = new Map<string, FieldError>();
  for (const result of results) {
    for (const error of result.errors) errors.set(`${error.field}: ${error.body}`, error);
  }
  return { errors: [...errors.values()], checks: results.reduce((sum, result) => sum + result.checks, checks) };
}

/** An outcome of problems alone. */
export function failed(...errors: readonly FieldError[]): Result {
  return { errors, checks: 0 };
}
