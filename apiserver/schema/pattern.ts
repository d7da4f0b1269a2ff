// Regular expressions of schemas and rules, in Go's syntax and in linear time.

import { RE2JS } from 're2js';

/** Reports if the pattern matches anywhere in the text. Throws for an invalid pattern. */
export function matchesPattern(pattern: string, text: string): boolean {
  return compiled(pattern).matcher(text).find();
}

/** Returns the compiler's error for a pattern; undefined for a valid one. */
export function patternProblem(pattern: string): string | undefined {
  try {
    compiled(pattern);
    return undefined;
  } catch (error) {
    return error instanceof Error ? error.message : String(error);
  }
}

const cache = new Map<string, RE2JS>();
const CACHE_SIZE = 1000;

function compiled(pattern: string): RE2JS {
  const known = cache.get(pattern);
  if (known !== undefined) return known;
  const fresh = RE2JS.compile(pattern);
  if (cache.size >= CACHE_SIZE) cache.clear();
  cache.set(pattern, fresh);
  return fresh;
}
