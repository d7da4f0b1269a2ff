// Regular expressions in Go's syntax, matched in linear time.

import { RE2JS } from 're2js';

/** Returns true if the pattern matches anywhere in the text. Throws for an invalid pattern. */
export function matchesPattern(pattern: string, text: string): boolean {
  return compile(pattern).matcher(text).find();
}

/** Returns the compiler's error for a pattern; undefined for a valid one. */
export function findPatternProblem(pattern: string): string | undefined {
  try {
    compile(pattern);
    return undefined;
  } catch (error) {
    return error instanceof Error ? error.message : String(error);
  }
}

const cache = new Map<string, RE2JS>();
const CACHE_SIZE = 1000;

function compile(pattern: string): RE2JS {
  const known = cache.get(pattern);
  if (known !== undefined) return known;
  const fresh = RE2JS.compile(pattern);
  if (cache.size >= CACHE_SIZE) cache.clear();
  cache.set(pattern, fresh);
  return fresh;
}
