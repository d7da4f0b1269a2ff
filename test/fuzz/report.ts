// The report of a difference, which fits on one screen.

import type { FuzzRequest } from './request.ts';
import { toCurl } from './request.ts';
import type { Comparable } from './response.ts';

export interface Failure {
  readonly seed: number;
  readonly number: number;
  readonly request: FuzzRequest;
  /** Path and query on each server. */
  readonly targets: { readonly kube: string; readonly facade: string };
  readonly kube: Comparable;
  /** Response of kube-apiserver with the documented differences. */
  readonly expected: Comparable;
  readonly facade: Comparable;
  /** Titles of the documented differences that apply. */
  readonly rows: readonly string[];
}

const MAX_LINE = 900;
const CONTEXT = 120;

/** Returns the request and both responses, with the part of the bodies around the first difference. */
export function formatFailure(failure: Failure): string {
  const { seed, number, request, targets, kube, expected, facade, rows } = failure;
  const [left, right] = excerpts(expected.body, facade.body);
  return [
    `seed ${seed}, request ${number}: undocumented difference (repeat with --seed ${seed} --only ${number})`,
    shorten(toCurl(request, targets.facade)),
    `  on kube-apiserver: ${shorten(targets.kube)}`,
    `  kube-apiserver: ${kube.status} ${formatHeaders(kube)}${kube.status === expected.status ? '' : ` → expected ${expected.status} ${formatHeaders(expected)}`}`,
    `  façade:         ${facade.status} ${formatHeaders(facade)}`,
    `  kube-apiserver: ${left}`,
    `  façade:         ${right}`,
    ...(rows.length === 0 ? [] : [`  applied: ${rows.join('; ')}`]),
  ].join('\n');
}

function formatHeaders({ headers }: Comparable): string {
  const present = Object.entries(headers).filter(([, value]) => value !== '');
  return shorten(present.map(([name, value]) => `${name}: ${value}`).join(', '));
}

/** Returns the parts of two strings around their first difference. */
function excerpts(left: string, right: string): readonly [string, string] {
  if (left === right) return ['(equal bodies)', shorten(right)];
  let at = 0;
  while (left[at] === right[at]) at += 1;
  const from = Math.max(0, at - CONTEXT);
  const excerpt = (text: string) => shorten(`${from > 0 ? '…' : ''}${JSON.stringify(text.slice(from, at + 3 * CONTEXT))}`);
  return [excerpt(left), excerpt(right)];
}

function shorten(text: string): string {
  return text.length > MAX_LINE ? `${text.slice(0, MAX_LINE)}…` : text;
}
