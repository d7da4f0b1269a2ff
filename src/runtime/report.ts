// Outcomes of reconciles, as log lines and metrics. Neither shows the contents of objects.

import { defer, finalize, type MonoTypeOperatorFunction, tap } from 'rxjs';
import { namespaceOf } from '../kube/paths.ts';
import { TransportError } from '../kube/transport-error.ts';
import { StatusError } from '../kubernetes/status.ts';
import type { Clock } from '../std/clock.ts';
import { omitUndefined } from '../std/omit-undefined.ts';
import { LineLimit } from '../telemetry/line-limit.ts';
import type { Logger } from '../telemetry/logger.ts';
import type { Outcome } from './controller.ts';
import type { FailureClass } from './retry-policy.ts';

/** Description of a run for metrics. All strings come from closed sets. */
export interface RunReport {
  readonly controller: string;
  readonly outcome: 'reconciled' | FailureClass;
  /** Reason of the failure; undefined if the run did not fail. */
  readonly reason: string | undefined;
  readonly durationMs: number;
  readonly latenessMs: number;
}

/** Metrics of runs. */
export interface OutcomeMetrics {
  recordRun(run: RunReport): void;
}

export interface ReportOptions {
  /** Name of the controller. */
  readonly controller: string;
  readonly log: Logger;
  readonly metrics: OutcomeMetrics;
  readonly clock: Clock;
}

/**
 * Counts and logs every outcome. Logs the first failure of a key, and each failure with a new reason, at the level from `selectLine`,
 * within `LineLimit`; repetitions and excess lines at level debug. A summary line reports the number of excess lines.
 */
export function report({ controller, log, metrics, clock }: ReportOptions): MonoTypeOperatorFunction<Outcome<string>> {
  return (outcomes$) =>
    defer(() => {
      const failures = new FailureLines(controller, log, clock);
      const write = (outcome: Outcome<string>) => {
        const run = toRunReport(controller, outcome);
        metrics.recordRun(run);
        const { level, message } = selectLine(outcome);
        const createLine = () => ({ ...run, key: outcome.key, failures: outcome.failures, ...toNextFields(outcome) });
        if (level !== 'debug') failures.write(level, createLine(), message);
        else if (log.isLevelEnabled('debug')) log.debug(createLine(), message);
        if (run.outcome === 'reconciled' || run.outcome === 'gone') failures.forget(outcome.key);
      };
      return outcomes$.pipe(
        tap(write),
        finalize(() => failures.close()),
      );
    });
}

/** Returns the reason of a failed run, from a closed set. */
export function toFailureReason(error: unknown): string {
  if (error instanceof StatusError) return error.reason ?? 'Unclassified';
  if (error instanceof TransportError) return 'NoResponse';
  return ownReason(error) ?? 'Defect';
}

/** Returns the reason of one of Purser's own errors; undefined for other errors. */
function ownReason(error: unknown): string | undefined {
  const isOurs = error instanceof Error && !(error instanceof StatusError) && 'reason' in error && typeof error.reason === 'string';
  return isOurs ? (error.reason as string) : undefined;
}

type Level = 'debug' | 'info' | 'warn' | 'error';

const LINES = {
  reconciled: { level: 'debug', message: 'reconciled' },
  gone: { level: 'debug', message: 'object not found' },
  conflict: { level: 'debug', message: 'object changed during reconcile' },
  throttled: { level: 'info', message: 'reconcile throttled' },
  transient: { level: 'error', message: 'reconcile failed' },
} as const;

function selectLine(outcome: Outcome<string>): { readonly level: Level; readonly message: string } {
  if (outcome.type === 'reconciled') return LINES.reconciled;
  const line = LINES[outcome.retry.class];
  // A failing target or a rejected request is not a fault of Purser.
  return line.level === 'error' && ownReason(outcome.error) !== undefined ? { ...line, level: 'warn' } : line;
}

interface FailureLine {
  readonly key: string;
  readonly reason: string | undefined;
}

/** Logs failures as `report` describes. */
class FailureLines {
  readonly #log: Logger;
  readonly #limit: LineLimit;
  /** Reason that was logged last, by key. */
  readonly #logged = new Map<string, string>();

  constructor(controller: string, log: Logger, clock: Clock) {
    this.#log = log;
    this.#limit = new LineLimit({
      clock,
      onSuppressed: (namespace, suppressed) =>
        log.warn(omitUndefined({ controller, namespace: namespace || undefined, suppressed }), 'failure lines suppressed'),
    });
  }

  write(level: Exclude<Level, 'debug'>, line: FailureLine, message: string): void {
    const { key, reason = '' } = line;
    const isNew = this.#logged.get(key) !== reason;
    this.#logged.set(key, reason);
    this.#log[isNew && this.#limit.take(namespaceOf(key)) ? level : 'debug'](line, message);
  }

  forget(key: string): void {
    this.#logged.delete(key);
  }

  close(): void {
    this.#limit.close();
  }
}

function toRunReport(controller: string, outcome: Outcome<string>): RunReport {
  const failed = outcome.type === 'failed' ? outcome : undefined;
  return {
    controller,
    outcome: failed?.retry.class ?? 'reconciled',
    reason: failed && toFailureReason(failed.error),
    durationMs: Math.round(outcome.durationMs),
    latenessMs: Math.round(outcome.latenessMs),
  };
}

function toNextFields(outcome: Outcome<string>): { readonly nextAt: string | undefined; readonly error?: Error } {
  if (outcome.type === 'reconciled') return { nextAt: formatTime(outcome.result.requeueAt) };
  return { nextAt: formatTime(outcome.retry.retryAt), error: toLoggedError(outcome.error) };
}

function formatTime(at: number | undefined): string | undefined {
  return at === undefined || !(at <= LATEST_TIME) ? undefined : new Date(at).toISOString();
}

/** Latest time that a Date can represent, in milliseconds since 1970. */
const LATEST_TIME = 8.64e15;

/** Returns an error to log; a thrown value of another type may be a token, so only its type is logged. */
function toLoggedError(error: unknown): Error {
  return error instanceof Error ? error : new TypeError(`thrown value of type ${typeof error}`);
}
