// Table of faults: runs, samples, violations, worst lateness and recovery; as text and as Markdown.

import { checkHistory } from './checks/check-history.ts';
import { findIssuances } from './checks/issuances.ts';
import { computeRenewalFigures, REFUSED_MS } from './checks/renewals.ts';
import { computeTenantFigures, type Times } from './checks/tenants.ts';
import { findRenewals } from './checks/timing.ts';
import type { Violation } from './checks/violation.ts';
import { ofType, type Recorded } from './history.ts';

export interface Row {
  readonly id: string;
  readonly title: string;
  readonly runs: number;
  /** Number of times that a token in its Secret was verified with its target. */
  readonly samples: number;
  readonly issued: number;
  readonly violations: readonly Violation[];
  /** Longest delay between scheduled and actual renewal, in milliseconds. */
  readonly worstLateMs: number;
  /** Time from the end of the fault until all tokens were healthy, in milliseconds. */
  readonly recoveryMs: number;
  /** Reason why the fault was not run; absent if it was. */
  readonly reason?: string;
}

/** Returns one row for each fault that was run, in order. */
export function buildRows(history: readonly Recorded[], titles: ReadonlyMap<string, string>): readonly Row[] {
  const violations = checkHistory(history);
  const renewals = findRenewals(history);
  const issued = findIssuances(history);
  const runs = Map.groupBy(ofType(history, 'begin'), ({ fault }) => fault);
  return [...runs].map(([id, begins]) => {
    const spans = begins.map(({ at }) => findSpan(history, id, at));
    const within = <T extends { readonly at: number }>(entries: readonly T[]) =>
      entries.filter(({ at }) => spans.some((span) => at >= span.beginAt && at <= span.endAt));
    return {
      id,
      title: titles.get(id) ?? '',
      runs: begins.length,
      samples: within(ofType(history, 'sample')).filter(({ verdict }) => verdict === 'accepted' || verdict === 'rejected').length,
      issued: within(issued).length,
      violations: within(violations),
      worstLateMs: Math.max(0, ...within(renewals.map((each) => ({ ...each, at: each.dueAt }))).map(({ lateMs }) => lateMs)),
      recoveryMs: Math.max(0, ...spans.map(({ healAt, recoveredAt }) => recoveredAt - healAt)),
    };
  });
}

interface Span {
  readonly beginAt: number;
  readonly healAt: number;
  readonly recoveredAt: number;
  readonly endAt: number;
}

function findSpan(history: readonly Recorded[], id: string, beginAt: number): Span {
  const next = (type: 'heal' | 'recovered' | 'end') =>
    ofType(history, type).find(({ fault, at }) => fault === id && at >= beginAt)?.at ?? Infinity;
  return { beginAt, healAt: next('heal'), recoveredAt: next('recovered'), endAt: next('end') };
}

const COLUMNS = ['fault', 'description', 'runs', 'samples', 'issued', 'violations', 'worst lateness', 'recovery'];

/** Formats a row for a terminal. */
export function formatRow(row: Row): string {
  const [id = '', title = '', ...figures] = formatCells(row);
  return `${id.padEnd(9)} ${title.padEnd(62).slice(0, 62)} ${figures.map((figure) => figure.padStart(10)).join('')}`;
}

/** Formats the column headings for a terminal. */
export function formatHeading(): string {
  const figures = ['runs', 'samples', 'issued', 'violated', 'lateness', 'recovery'];
  return `${'fault'.padEnd(9)} ${'description'.padEnd(62)} ${figures.map((figure) => figure.padStart(10)).join('')}`;
}

/** Formats the rows as a Markdown table. */
export function formatMarkdown(rows: readonly Row[]): string {
  const lines = [COLUMNS, COLUMNS.map((_, index) => (index < 2 ? '---' : '---:')), ...rows.map(formatCells)];
  return lines.map((cells) => `| ${cells.join(' | ')} |`).join('\n');
}

function formatCells({ id, title, reason, ...row }: Row): readonly string[] {
  if (reason !== undefined) return [id, `${title}: ${reason}`, '–', '–', '–', '–', '–', '–'];
  const seconds = (ms: number) => `${(ms / 1_000).toFixed(1)} s`;
  return [
    id,
    title,
    ...[row.runs, row.samples, row.issued, row.violations.length].map(String),
    seconds(row.worstLateMs),
    seconds(row.recoveryMs),
  ];
}

/** Formats violations; equal ones appear once, with their number. */
export function formatViolations(violations: readonly Violation[]): readonly string[] {
  const groups = Map.groupBy(violations, ({ invariant, token, message }) => `${invariant} ${token ?? ''} ${message.slice(0, 400)}`);
  return [...groups].map(([text, each]) => `${text}${each.length > 1 ? ` (${each.length} times)` : ''}`);
}

/** Formats the figures of the hostile-tenant and renewal benches as sentences; none of those that were not run. */
export function formatFigures(history: readonly Recorded[]): readonly string[] {
  return [...formatTenantFigures(history), ...formatRenewalFigures(history)];
}

function formatRenewalFigures(history: readonly Recorded[]): readonly string[] {
  const figures = computeRenewalFigures(history);
  if (figures === undefined) return [];
  const { renewals, holders, faults, presented, refused, refusedInTime, worstRefusalMs, leastRemainingMs } = figures;
  const seconds = (ms: number) => `${Math.round(ms / 1_000)} s`;
  return [
    `Purser renewed ${holders} credentials ${renewals} times under ${faults} faults.`,
    `A thief presented every renewed credential, ${presented} times. The clusters refused ${refused} replaced ones, ${refusedInTime} of them within ${seconds(REFUSED_MS)} of the replacement, and all after at most ${seconds(worstRefusalMs)}.`,
    ...(leastRemainingMs === Infinity ? [] : [`A replaced credential had at least ${seconds(leastRemainingMs)} left before expiry.`]),
  ];
}

function formatTenantFigures(history: readonly Recorded[]): readonly string[] {
  const figures = computeTenantFigures(history);
  if (figures === undefined) return [];
  const { actions, held, shown, rotations, calls, control, memory } = figures;
  return [
    `The hostile tenants sent ${actions} requests and obtained ${held} tokens. The façade returned ${shown} objects of other tenants to them.`,
    `Requested rotations of other tenants took ${formatTimes(rotations.calm)} without attackers and ${formatTimes(rotations.attack)} with them.`,
    `The requests of a rotation, sent without Purser, took ${formatTimes(control.calm)} without attackers and ${formatTimes(control.attack)} with them.`,
    `Token requests of a well-behaved caller of the façade took ${formatTimes(calls.calm)} without attackers and ${formatTimes(calls.attack)} with them.`,
    `Purser's memory was at most ${memory.calm} MB before, ${memory.attack} MB during and ${memory.after} MB after the attack.`,
  ];
}

function formatTimes({ count, median, p95, worst }: Times): string {
  const seconds = (ms: number) => (ms / 1_000).toFixed(2);
  return `${seconds(median)} s (median), ${seconds(p95)} s (95th percentile), ${seconds(worst)} s (worst of ${count})`;
}
