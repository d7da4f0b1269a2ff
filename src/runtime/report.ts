// Outcomes as log lines and metrics: one of each for every run, and nothing of what the objects contain.

import { type MonoTypeOperatorFunction, tap } from 'rxjs';
import { StatusError } from '../api/status.ts';
import { TransportError } from '../kube/transport-error.ts';
import type { Logger } from '../telemetry/logger.ts';
import type { Outcome } from './controller.ts';
import type { FailureClass } from './retry-policy.ts';

/** What metrics are told of a run. All texts come from closed sets. */
export interface RunReport {
  readonly controller: string;
  readonly outcome: 'reconciled' | FailureClass;
  /** Why it failed; undefined if it did not. */
  readonly reason: string | undefined;
  readonly durationMs: number;
  readonly latenessMs: number;
}

/** Where runs are counted. */
export interface OutcomeMetrics {
  ran(run: RunReport): void;
}

export interface ReportOptions {
  /** The controller whose outcomes these are. */
  readonly controller: string;
  readonly log: Logger;
  readonly metrics: OutcomeMetrics;
}

/** Tells of every outcome that passes. */
export function report({ controller, log, metrics }: ReportOptions): MonoTypeOperatorFunction<Outcome<string>> {
  return tap((outcome) => {
    const run = runReport(controller, outcome);
    metrics.ran(run);
    const { level, message } = TELLING[run.outcome];
    log[level]({ ...run, key: outcome.key, failures: outcome.failures, ...sequel(outcome) }, message);
  });
}

/** Why a run failed, in one word of a closed set. */
export function failureReason(error: unknown): string {
  if (error instanceof StatusError) return error.reason ?? 'Unclassified';
  if (error instanceof TransportError) return 'NoAnswer';
  // Errors with a reason of ours: those of issuers.
  return error instanceof Error && 'reason' in error && typeof error.reason === 'string' ? error.reason : 'Defect';
}

const TELLING = {
  reconciled: { level: 'debug', message: 'reconciled' },
  gone: { level: 'debug', message: 'the object is gone' },
  conflict: { level: 'debug', message: 'the object has changed meanwhile' },
  'told-to-wait': { level: 'info', message: 'the server asks to wait' },
  transient: { level: 'error', message: 'not reconciled, to be tried again' },
} as const;

function runReport(controller: string, outcome: Outcome<string>): RunReport {
  const failed = outcome.type === 'failed' ? outcome : undefined;
  return {
    controller,
    outcome: failed?.retry.class ?? 'reconciled',
    reason: failed && failureReason(failed.error),
    durationMs: outcome.durationMs,
    latenessMs: outcome.latenessMs,
  };
}

function sequel(outcome: Outcome<string>): { readonly nextAt: string | undefined; readonly error?: Error } {
  if (outcome.type === 'reconciled') return { nextAt: instant(outcome.result.requeueAt) };
  return { nextAt: instant(outcome.retry.retryAt), error: printable(outcome.error) };
}

function instant(at: number | undefined): string | undefined {
  return at === undefined || !(at <= LAST_INSTANT) ? undefined : new Date(at).toISOString();
}

/** Beyond it there are no dates, only numbers. */
const LAST_INSTANT = 8.64e15;

/** What is thrown without being an error may be anything, a token for one, so it is not shown. */
function printable(error: unknown): Error {
  return error instanceof Error ? error : new TypeError(`something was thrown that is no error but of type ${typeof error}`);
}
