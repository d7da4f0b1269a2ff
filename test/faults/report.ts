// One row for each fault: runs, samples, violations, worst lateness, recovery. For terminals, as JSON and as Markdown.

import { checkHistory } from './checks/check-history.ts';
import { issuances } from './checks/issuances.ts';
import { type Times, tenantFigures } from './checks/tenants.ts';
import { renewals } from './checks/timing.ts';
import type { Violation } from './checks/violation.ts';
import { ofType, type Recorded } from './history.ts';

export interface Row {
  readonly id: string;
  readonly title: string;
  readonly runs: number;
  /** How often a token in its Secret was put to its target. */
  readonly samples: number;
  readonly issued: number;
  readonly violations: readonly Violation[];
  /** How long after its time the latest renewal came. */
  readonly worstLateMs: number;
  /** From the end of the fault until all tokens were well. */
  readonly recoveryMs: number;
  /** Why it was not tried. */
  readonly why?: string;
}

/** The rows of the faults that were run, in that order. */
export function rowsOf(history: readonly Recorded[], titles: ReadonlyMap<string, string>): readonly Row[] {
  const violations = checkHistory(history);
  const late = renewals(history);
  const issued = issuances(history);
  const runs = Map.groupBy(ofType(history, 'begin'), ({ fault }) => fault);
  return [...runs].map(([id, begins]) => {
    const spans = begins.map(({ at }) => spanOf(history, id, at));
    const within = <T extends { readonly at: number }>(entries: readonly T[]) =>
      entries.filter(({ at }) => spans.some((span) => at >= span.beginAt && at <= span.endAt));
    return {
      id,
      title: titles.get(id) ?? '',
      runs: begins.length,
      samples: within(ofType(history, 'sample')).filter(({ verdict }) => verdict === 'accepted' || verdict === 'refused').length,
      issued: within(issued).length,
      violations: within(violations),
      worstLateMs: Math.max(0, ...within(late.map((each) => ({ ...each, at: each.dueAt }))).map(({ lateMs }) => lateMs)),
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

function spanOf(history: readonly Recorded[], id: string, beginAt: number): Span {
  const next = (type: 'heal' | 'recovered' | 'end') =>
    ofType(history, type).find(({ fault, at }) => fault === id && at >= beginAt)?.at ?? Infinity;
  return { beginAt, healAt: next('heal'), recoveredAt: next('recovered'), endAt: next('end') };
}

const COLUMNS = ['fault', 'description', 'runs', 'samples', 'issued', 'violations', 'worst lateness', 'recovery'];

/** One line for a terminal. */
export function lineOf(row: Row): string {
  const [id = '', title = '', ...figures] = cellsOf(row);
  return `${id.padEnd(9)} ${title.padEnd(62).slice(0, 62)} ${figures.map((figure) => figure.padStart(10)).join('')}`;
}

/** The heading of those lines. */
export function headingLine(): string {
  const figures = ['runs', 'samples', 'issued', 'violated', 'lateness', 'recovery'];
  return `${'fault'.padEnd(9)} ${'description'.padEnd(62)} ${figures.map((figure) => figure.padStart(10)).join('')}`;
}

/** The table for the documentation. */
export function markdownOf(rows: readonly Row[]): string {
  const lines = [COLUMNS, COLUMNS.map((_, index) => (index < 2 ? '---' : '---:')), ...rows.map(cellsOf)];
  return lines.map((cells) => `| ${cells.join(' | ')} |`).join('\n');
}

function cellsOf({ id, title, why, ...row }: Row): readonly string[] {
  if (why !== undefined) return [id, `${title}: ${why}`, '–', '–', '–', '–', '–', '–'];
  const seconds = (ms: number) => `${(ms / 1_000).toFixed(1)} s`;
  return [
    id,
    title,
    ...[row.runs, row.samples, row.issued, row.violations.length].map(String),
    seconds(row.worstLateMs),
    seconds(row.recoveryMs),
  ];
}

/** What was violated, most important first, without repeating itself. */
export function violationLines(violations: readonly Violation[]): readonly string[] {
  const alike = Map.groupBy(violations, ({ invariant, token, message }) => `${invariant} ${token ?? ''} ${message.slice(0, 400)}`);
  return [...alike].map(([text, each]) => `${text}${each.length > 1 ? ` (${each.length} times)` : ''}`);
}

/** Returns the figures of the tenant bench in sentences; none when it was not run. */
export function tenantLines(history: readonly Recorded[]): readonly string[] {
  const figures = tenantFigures(history);
  if (figures === undefined) return [];
  const { actions, held, rotations, calls, control, memory } = figures;
  return [
    `The hostile tenants sent ${actions} requests and got ${held} tokens.`,
    `Requested rotations of other tenants took ${timesText(rotations.calm)} without attackers and ${timesText(rotations.attack)} with them.`,
    `The same requests without Purser took ${timesText(control.calm)} and ${timesText(control.attack)}.`,
    `Token requests of a polite façade caller took ${timesText(calls.calm)} without attackers and ${timesText(calls.attack)} with them.`,
    `Purser's memory was at most ${memory.calm} MB before, ${memory.attack} MB during and ${memory.after} MB after the attack.`,
  ];
}

function timesText({ count, median, p95, worst }: Times): string {
  const seconds = (ms: number) => (ms / 1_000).toFixed(2);
  return `${seconds(median)} s (median), ${seconds(p95)} s (95%), ${seconds(worst)} s (worst of ${count})`;
}
