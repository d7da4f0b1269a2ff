import { describe, expect, it } from '@jest/globals';
import { from, Subject } from 'rxjs';
import { TransportError } from '../../src/kube/transport-error.ts';
import { conflict, statusError, unclassified } from '../../src/kubernetes/status.ts';
import type { Outcome } from '../../src/runtime/controller.ts';
import { type RunReport, report, toFailureReason } from '../../src/runtime/report.ts';
import type { FailureClass } from '../../src/runtime/retry-policy.ts';
import { IssueError } from '../../src/targets/issue-error.ts';
import { createLogger } from '../../src/telemetry/logger.ts';
import { FakeClock } from '../support/clock.ts';

const START = Date.parse('2026-03-01T12:00:00Z');
const run = { key: 'team-a/ci', failures: 0, startedAt: START, finishedAt: START + 40, durationMs: 40, latenessMs: 7 };

function reconciled(requeueAt?: number): Outcome<string> {
  return { ...run, type: 'reconciled', result: { requeueAt } };
}

function failed(failureClass: FailureClass, error: unknown, retryAt?: number): Outcome<string> {
  return { ...run, failures: 3, type: 'failed', error, retry: { class: failureClass, retryAt } };
}

function runReport(...outcomes: readonly Outcome<string>[]) {
  const lines: string[] = [];
  const runs: RunReport[] = [];
  const passed: Outcome<string>[] = [];
  const log = createLogger({ level: 'debug', readable: false, write: (line) => lines.push(line) });
  const clock = new FakeClock();
  from(outcomes)
    .pipe(report({ controller: 'managed-token', log, metrics: { recordRun: (each) => runs.push(each) }, clock }))
    .subscribe((outcome) => passed.push(outcome));
  expect(clock.pending).toBe(0);
  return { text: lines.join(''), lines: lines.map((line) => JSON.parse(line) as Record<string, unknown>), runs, passed };
}

describe('report', () => {
  it('logs one line for a successful run', () => {
    const { lines } = runReport(reconciled(START + 3_600_000));
    expect(lines).toEqual([
      {
        level: 'debug',
        time: expect.any(String),
        controller: 'managed-token',
        outcome: 'reconciled',
        key: 'team-a/ci',
        failures: 0,
        durationMs: 40,
        latenessMs: 7,
        nextAt: '2026-03-01T13:00:00.000Z',
        msg: 'reconciled',
      },
    ]);
  });

  it('logs one line for a failed run with reason, count and next time', () => {
    const { lines } = runReport(failed('transient', new TransportError('ECONNREFUSED', 'refused'), START + 2_000));
    expect(lines).toEqual([
      {
        level: 'error',
        time: expect.any(String),
        controller: 'managed-token',
        outcome: 'transient',
        reason: 'NoResponse',
        key: 'team-a/ci',
        failures: 3,
        durationMs: 40,
        latenessMs: 7,
        nextAt: '2026-03-01T12:00:02.000Z',
        error: { name: 'TransportError', message: 'refused', code: 'ECONNREFUSED' },
        msg: 'reconcile failed',
      },
    ]);
  });

  it.each([
    ['reconciled', 'debug', reconciled()],
    ['gone', 'debug', failed('gone', statusError('NotFound', ''))],
    ['conflict', 'debug', failed('conflict', conflict({ group: '', name: 'secrets' }, 'x', ''))],
    ['throttled', 'info', failed('throttled', statusError('TooManyRequests', ''))],
    ['transient', 'error', failed('transient', new Error('x'))],
    ['transient', 'warn', failed('transient', new IssueError('EndpointNotPinned'))],
  ] as const)('logs the outcome %s at level %s, and passes the outcome on', (outcome, level, given) => {
    const { lines, runs, passed } = runReport(given);
    expect(lines.map((line) => line['level'])).toEqual([level]);
    expect(runs.map((each) => each.outcome)).toEqual([outcome]);
    expect(passed).toEqual([given]);
  });

  it('logs rounded durations', () => {
    const { lines } = runReport({ ...reconciled(), durationMs: 12.3456, latenessMs: 0.789 });
    expect(lines).toMatchObject([{ durationMs: 12, latenessMs: 1 }]);
  });

  it('logs the failure of an object once per change to its reason, and again after it was reconciled', () => {
    const unpinned = failed('transient', new IssueError('EndpointNotPinned'));
    const late = failed('transient', new IssueError('ClusterTimeout'));
    const { lines, runs } = runReport(unpinned, unpinned, late, late, reconciled(), late);
    expect(lines.map(({ level, reason }) => `${String(level)} ${String(reason)}`)).toEqual([
      'warn EndpointNotPinned',
      'debug EndpointNotPinned',
      'warn ClusterTimeout',
      'debug ClusterTimeout',
      'debug undefined',
      'warn ClusterTimeout',
    ]);
    expect(runs).toHaveLength(6);
  });

  it('limits the lines of 2,000 failing objects in one namespace, not those of other namespaces', () => {
    const lines: Record<string, unknown>[] = [];
    const log = createLogger({ level: 'info', readable: false, write: (line) => lines.push(JSON.parse(line) as Record<string, unknown>) });
    const clock = new FakeClock();
    const outcomes$ = new Subject<Outcome<string>>();
    const running = outcomes$.pipe(report({ controller: 'managed-token', log, metrics: { recordRun: () => {} }, clock })).subscribe();
    const fail = (key: string) => outcomes$.next({ ...failed('transient', new IssueError('EndpointNotPinned')), key });
    for (let second = 0; second < 65; second++) {
      for (let index = 0; index < 2_000; index += 20) fail(`crowd/t-${index + (second % 20)}`);
      clock.advance(1_000);
    }
    fail('team-a/ci');
    running.unsubscribe();
    expect(lines.filter(({ level }) => level === 'error')).toEqual([]);
    expect(lines.filter(({ key }) => String(key).startsWith('crowd/'))).toHaveLength(10);
    expect(lines.filter(({ key }) => key === 'team-a/ci')).toHaveLength(1);
    expect(lines.filter(({ msg }) => msg === 'failure lines suppressed')).toMatchObject([{ namespace: 'crowd', suppressed: 1_990 }]);
    expect(clock.pending).toBe(0);
  });

  it('counts each run once, with a reason if it failed', () => {
    const { runs } = runReport(reconciled(), failed('transient', statusError('Timeout', 'late'), START + 1));
    expect(runs).toEqual([
      { controller: 'managed-token', outcome: 'reconciled', reason: undefined, durationMs: 40, latenessMs: 7 },
      { controller: 'managed-token', outcome: 'transient', reason: 'Timeout', durationMs: 40, latenessMs: 7 },
    ]);
  });

  it('omits a missing or invalid next time', () => {
    const { lines } = runReport(reconciled(), reconciled(Infinity), failed('gone', statusError('NotFound', '')));
    expect(lines.map((line) => line['nextAt'])).toEqual([undefined, undefined, undefined]);
  });

  const jwt = 'eyJhbGciOiJSUzI1NiJ9.eyJzdWIiOiJkZXBsb3llciJ9.c2lnbmF0dXJl';

  it.each([
    ['thrown as a string', jwt],
    ['in an object that was thrown', { token: jwt, toString: (): string => jwt }],
    ['in the message of an error', new Error(`cannot use ${jwt}`)],
    ['in the message of a Status', statusError('Forbidden', jwt)],
    ['in the cause of an error', new Error('no', { cause: new Error(jwt) })],
    ['in a field of an error', Object.assign(new Error('no'), { request: { headers: { authorization: `Bearer ${jwt}` } } })],
  ])('logs no token: %s', (_case, error) => {
    const { text, lines, runs } = runReport(failed('transient', error));
    expect(lines).toHaveLength(1);
    expect(text).not.toContain('eyJ');
    expect(JSON.stringify(runs)).not.toContain('eyJ');
  });
});

describe('toFailureReason', () => {
  it.each([
    ['an API error by its reason', statusError('Forbidden', 'no'), 'Forbidden'],
    ['an API error without a reason', unclassified('odd'), 'Unclassified'],
    ['an IssueError by its reason', new IssueError('CircuitOpen'), 'CircuitOpen'],
    ['a request without a response', new TransportError('ETIMEDOUT', 'late'), 'NoResponse'],
    ['a TypeError', new TypeError('oops'), 'Defect'],
    ['a thrown string', 'oops', 'Defect'],
  ])('returns the reason of %s', (_case, error, reason) => {
    expect(toFailureReason(error)).toBe(reason);
  });
});
