// The CEL dialect of Kubernetes: CEL with optionals, plus those of Kubernetes' functions that rules commonly call.

import { Environment } from '@marcbachmann/cel-js';
import { isRequestUri } from '../format-checks.ts';
import { matchesPattern, patternMatches } from '../pattern.ts';
import { WIDE_HAS, wideHas } from './has.ts';

/** Under this name `matches` runs in linear time; the library's own cannot be replaced. */
export const SAFE_MATCHES = 'matchesPattern';

type Comparable = string | number | bigint;

const STRINGS = {
  [`string.${SAFE_MATCHES}(string): bool`]: (text: string, pattern: string) => matchesPattern(pattern, text),
  'string.find(string): string': (text: string, pattern: string) => patternMatches(pattern, text)[0] ?? '',
  'string.findAll(string): list<string>': (text: string, pattern: string) => patternMatches(pattern, text),
  'string.findAll(string, int): list<string>': (text: string, pattern: string, limit: bigint) =>
    limit < 0n ? patternMatches(pattern, text) : patternMatches(pattern, text).slice(0, Number(limit)),
  'string.charAt(int): string': (text: string, index: bigint) => Array.from(text)[Number(index)] ?? '',
  'string.replace(string, string): string': (text: string, from: string, to: string) => text.replaceAll(from, () => to),
  'string.format(list): string': (text: string, values: readonly unknown[]) => formatted(text, values),
  'isURL(string): bool': isRequestUri,
};

const LISTS = {
  'list.isSorted(): bool': (list: readonly Comparable[]) => list.every((item, index) => index === 0 || (list[index - 1] ?? item) <= item),
  'list<int>.sum(): int': (list: readonly bigint[]) => list.reduce((sum, item) => sum + item, 0n),
  'list<double>.sum(): double': (list: readonly number[]) => list.reduce((sum, item) => sum + item, 0),
  'list<T>.min(): T': (list: readonly Comparable[]) => list.reduce((least, item) => (item < least ? item : least)),
  'list<T>.max(): T': (list: readonly Comparable[]) => list.reduce((most, item) => (item > most ? item : most)),
  'list.indexOf(dyn): int': (list: readonly unknown[], item: unknown) => BigInt(list.indexOf(item)),
  'list.lastIndexOf(dyn): int': (list: readonly unknown[], item: unknown) => BigInt(list.lastIndexOf(item)),
};

/** What every rule may call; `self` and `oldSelf` are added per use. */
export const CEL: Environment = new Environment({ enableOptionalTypes: true, homogeneousAggregateLiterals: false });
for (const [signature, handler] of Object.entries({ ...STRINGS, ...LISTS })) CEL.registerFunction(signature, handler, { async: false });
CEL.registerFunction(`${WIDE_HAS}(ast): bool`, wideHas);

const DURATION = new Environment().registerVariable('text', 'string');

/** A duration as rules compare it; words such as `3 days` stay text. */
export function celDuration(text: string): unknown {
  try {
    return DURATION.evaluate('duration(text)', { text });
  } catch {
    return text;
  }
}

/** Replaces %s, %d and %f (with a precision) by the values, in their order. */
function formatted(text: string, values: readonly unknown[]): string {
  let next = 0;
  return text.replaceAll(/%(?:%|s|d|(?:\.(\d+))?f)/g, (verb, precision: string | undefined) => {
    if (verb === '%%') return '%';
    const value = values[next];
    next += 1;
    return verb.endsWith('f') ? Number(value).toFixed(Number(precision ?? 6)) : String(value);
  });
}
