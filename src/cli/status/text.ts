// Text output of `purser status`.

import type { ManagedToken } from '../../api/managed-token.gen.ts';
import { TokenConditionType } from '../../api/names.ts';
import { findCondition } from '../../kubernetes/conditions.ts';
import { formatHumanDuration } from '../../kubernetes/wire/go-duration.ts';
import { parseTimestamp } from '../../std/timestamp.ts';
import { CHECK_PURSER } from '../command.ts';
import { toVisibleLine } from '../visible-text.ts';
import type { Link, Verdict } from './chain.ts';
import type { ClusterProblem, FleetStatus, TokenProblem } from './fleet.ts';
import type { SetProblem } from './sets.ts';

/** Adds a color or bold type to a string for a terminal; returns the string unchanged if colors are disabled. */
export type Paint = (color: 'red' | 'yellow' | 'green' | 'bold', text: string) => string;

/** Returns the report on a fleet, with the problems first. */
export function formatFleet({ clusters, managedTokens, managedTokenSets, silentSince }: FleetStatus, now: number, paint: Paint): string {
  const own = managedTokens.problems.filter(({ isCausedByCluster }) => !isCausedByCluster);
  const blocks = [
    ...(silentSince === undefined ? [] : [formatSilence(silentSince, now, paint)]),
    ...(clusters?.problems ?? []).map((problem) => formatCluster(problem, now, paint)),
    ...own.map((problem) => formatToken(problem, now, paint)),
    ...(managedTokenSets?.problems ?? []).map((problem) => formatSet(problem, now, paint)),
    formatSummary({ clusters, managedTokens, managedTokenSets }, now, paint),
  ];
  return blocks.join('\n');
}

function formatSilence(since: number, now: number, paint: Paint): string {
  const title = paint('red', `Purser has reported no probe of a cluster for ${formatHumanDuration(now - since)}`);
  return `${title}\n  Everything below may be outdated. ${CHECK_PURSER}\n`;
}

function formatCluster({ name, reason, message, since, failingTokens, firstExpiry }: ClusterProblem, now: number, paint: Paint): string {
  const expiry = firstExpiry === undefined ? '' : `; the first token expires in ${formatHumanDuration(firstExpiry - now)}`;
  const affected = failingTokens === 0 ? '' : `; ${formatCount(failingTokens, 'ManagedToken')} affected${expiry}`;
  return `${paint('red', `Cluster ${name}`)}: ${toVisibleLine(reason)}${formatAge(since, now)}${affected}\n  ${toVisibleLine(message)}\n`;
}

function formatToken({ namespace, name, reason, message, since, usable, expiresAt }: TokenProblem, now: number, paint: Paint): string {
  const state = usable && expiresAt !== undefined ? `; the token expires in ${formatHumanDuration(expiresAt - now)}` : '; no valid token';
  const title = paint(usable ? 'yellow' : 'red', `ManagedToken ${namespace}/${name}`);
  return `${title}: ${toVisibleLine(reason)}${formatAge(since, now)}${state}\n  ${toVisibleLine(message)}\n`;
}

function formatSet({ namespace, name, reason, message, since, clusters, ready }: SetProblem, now: number, paint: Paint): string {
  const title = paint(ready === clusters ? 'yellow' : 'red', `ManagedTokenSet ${namespace}/${name}`);
  return `${title}: ${toVisibleLine(reason)}${formatAge(since, now)}; ${ready} of ${clusters} clusters ready\n  ${toVisibleLine(message)}\n`;
}

function formatAge(since: number | undefined, now: number): string {
  return since === undefined ? '' : `, failing for ${formatHumanDuration(now - since)}`;
}

function formatSummary({ clusters, managedTokens, managedTokenSets }: Omit<FleetStatus, 'silentSince'>, now: number, paint: Paint): string {
  const { total, ready, suspended, nextRotation } = managedTokens;
  const lines = [
    clusters === undefined
      ? 'Clusters: not checked (needs permission to list clusters.registry.purser.dev)'
      : `Clusters: ${formatShare(clusters.ready, clusters.total, paint)} ready`,
    `ManagedTokens: ${formatShare(ready, total, paint)} ready${suspended === 0 ? '' : `, ${suspended} suspended`}${formatRotation(nextRotation, now)}`,
    ...formatSetsSummary(managedTokenSets, paint),
  ];
  return `${lines.join('\n')}\n`;
}

/** Returns the line about ManagedTokenSets, or no line if there are none. */
function formatSetsSummary(sets: FleetStatus['managedTokenSets'], paint: Paint): readonly string[] {
  if (sets === undefined) return ['ManagedTokenSets: not checked (needs permission to list managedtokensets.tokens.purser.dev)'];
  return sets.total === 0 ? [] : [`ManagedTokenSets: ${formatShare(sets.ready, sets.total, paint)} ready`];
}

function formatRotation(at: number | undefined, now: number): string {
  if (at === undefined) return '';
  return at <= now ? ', the next rotation is due' : `, the next rotation is in ${formatHumanDuration(at - now)}`;
}

function formatShare(part: number, total: number, paint: Paint): string {
  return paint(part === total ? 'green' : 'yellow', `${part} of ${total}`);
}

function formatCount(count: number, noun: string): string {
  return `${count} ${noun}${count === 1 ? '' : 's'}`;
}

/** Returns the report on one ManagedToken: its state and each link of the chain. */
export function formatChain(token: ManagedToken, links: readonly Link[], now: number, paint: Paint): string {
  const { metadata, spec } = token;
  const ready = findCondition(token, TokenConditionType.ready);
  const isReady = ready?.status === 'True';
  const title = paint('bold', `ManagedToken ${metadata.namespace}/${metadata.name}`);
  const state = paint(isReady ? 'green' : 'red', isReady ? 'ready' : toVisibleLine(ready?.reason ?? 'Pending'));
  const width = Math.max(...links.map(({ name }) => name.length));
  const lines = links.map(
    ({ name, verdict, message }) => `  ${paint(COLORS[verdict], MARKS[verdict])} ${name.padEnd(width)}  ${toVisibleLine(message)}`,
  );
  const cause = isReady || ready === undefined ? [] : [`  ${toVisibleLine(ready.message)}`];
  return `${[`${title}: ${state}${formatTimes(token, now)}${spec.rotation.suspend ? ', suspended' : ''}`, ...cause, '', ...lines].join('\n')}\n`;
}

function formatTimes({ status }: ManagedToken, now: number): string {
  const [expiresAt, rotatesAt] = [status?.expirationTimestamp, status?.nextRotationTime].map(parseTimestamp);
  const expiry = expiresAt === undefined || expiresAt <= now ? '' : `, expires in ${formatHumanDuration(expiresAt - now)}`;
  return rotatesAt === undefined || rotatesAt <= now ? expiry : `${expiry}, rotates in ${formatHumanDuration(rotatesAt - now)}`;
}

const MARKS: Readonly<Record<Verdict, string>> = { ok: '✓', failed: '✗', unchecked: '?' };
const COLORS = { ok: 'green', failed: 'red', unchecked: 'yellow' } as const satisfies Readonly<Record<Verdict, string>>;
