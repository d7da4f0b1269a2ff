// Regular expressions of schemas and rules, in Go's syntax and in linear time.

import { RE2JS } from 're2js';

/** Whether the pattern matches anywhere in the text; an invalid pattern throws. */
export function matchesPattern(pattern: string, text: string): boolean {
  return compiled(pattern).matcher(text).find();
}

/** All matches in the text, from left to right. */
export function patternMatches(pattern: string, text: string): readonly string[] {
  const matcher = compiled(pattern).matcher(text);
  const found: string[] = [];
  while (matcher.find()) found.push(matcher.group() ?? '');
  return found;
}

/** What is wrong with a pattern, in the words of its compiler. */
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
