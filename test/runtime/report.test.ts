import { describe, expect, it } from '@jest/globals';
import { from } from 'rxjs';
import { conflict, statusError, unclassified } from '../../src/api/status.ts';
import { IssueError } from '../../src/issuers/issue-error.ts';
import { TransportError } from '../../src/kube/transport-error.ts';
import type { Outcome } from '../../src/runtime/controller.ts';
import { failureReason, type RunReport, report } from '../../src/runtime/report.ts';
import type { FailureClass } from '../../src/runtime/retry-policy.ts';
import { createLogger } from '../../src/telemetry/logger.ts';

const START = Date.parse('2026-03-01T12:00:00Z');
const run = { key: 'team-a/ci', failures: 0, startedAt: START, finishedAt: START + 40, durationMs: 40, latenessMs: 7 };

function reconciled(requeueAt?: number): Outcome<string> {
  return { ...run, type: 'reconciled', result: { requeueAt } };
}

function failed(failureClass: FailureClass, error: unknown, retryAt?: number): Outcome<string> {
  return { ...run, failures: 3, type: 'failed', error, retry: { class: failureClass, retryAt } };
}

function told(...outcomes: readonly Outcome<string>[]) {
  const lines: string[] = [];
  const runs: RunReport[] = [];
  const passed: Outcome<string>[] = [];
  const log = createLogger({ level: 'debug', readable: false, write: (line) => lines.push(line) });
  from(outcomes)
    .pipe(report({ controller: 'managed-token', log, metrics: { ran: (each) => runs.push(each) } }))
    .subscribe((outcome) => passed.push(outcome));
  return { text: lines.join(''), lines: lines.map((line) => JSON.parse(line) as Record<string, unknown>), runs, passed };
}

describe('report', () => {
  it('writes one line for a run that went well', () => {
    const { lines } = told(reconciled(START + 3_600_000));
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

  it('writes one line for a run that failed, with its reason, how often and what follows', () => {
    const { lines } = told(failed('transient', new TransportError('ECONNREFUSED', 'refused'), START + 2_000));
    expect(lines).toEqual([
      {
        level: 'error',
        time: expect.any(String),
        controller: 'managed-token',
        outcome: 'transient',
        reason: 'NoAnswer',
        key: 'team-a/ci',
        failures: 3,
        durationMs: 40,
        latenessMs: 7,
        nextAt: '2026-03-01T12:00:02.000Z',
        error: { name: 'TransportError', message: 'refused', code: 'ECONNREFUSED' },
        msg: 'not reconciled, to be tried again',
      },
    ]);
  });

  it.each([
    ['reconciled', 'debug', reconciled()],
    ['gone', 'debug', failed('gone', statusError('NotFound', ''))],
    ['conflict', 'debug', failed('conflict', conflict({ group: '', name: 'secrets' }, 'x', ''))],
    ['told-to-wait', 'info', failed('told-to-wait', statusError('TooManyRequests', ''))],
    ['transient', 'error', failed('transient', new Error('x'))],
  ] as const)('tells of %s at level %s, and passes it on', (outcome, level, given) => {
    const { lines, runs, passed } = told(given);
    expect(lines.map((line) => line['level'])).toEqual([level]);
    expect(runs.map((each) => each.outcome)).toEqual([outcome]);
    expect(passed).toEqual([given]);
  });

  it('counts each run once, with a reason if it failed', () => {
    const { runs } = told(reconciled(), failed('transient', statusError('Timeout', 'late'), START + 1));
    expect(runs).toEqual([
      { controller: 'managed-token', outcome: 'reconciled', reason: undefined, durationMs: 40, latenessMs: 7 },
      { controller: 'managed-token', outcome: 'transient', reason: 'Timeout', durationMs: 40, latenessMs: 7 },
    ]);
  });

  it('names no next time when there is none, or none that is a date', () => {
    const { lines } = told(reconciled(), reconciled(Infinity), failed('gone', statusError('NotFound', '')));
    expect(lines.map((line) => line['nextAt'])).toEqual([undefined, undefined, undefined]);
  });

  const jwt = 'eyJhbGciOiJSUzI1NiJ9.eyJzdWIiOiJkZXBsb3llciJ9.c2lnbmF0dXJl';

  it.each([
    ['thrown as it is', jwt],
    ['in an object that was thrown', { token: jwt, toString: (): string => jwt }],
    ['in the message of an error', new Error(`cannot use ${jwt}`)],
    ['in the message of a refusal', statusError('Forbidden', jwt)],
    ['in the cause of an error', new Error('no', { cause: new Error(jwt) })],
    ['in a field of an error', Object.assign(new Error('no'), { request: { headers: { authorization: `Bearer ${jwt}` } } })],
  ])('never prints a token: %s', (_case, error) => {
    const { text, lines, runs } = told(failed('transient', error));
    expect(lines).toHaveLength(1);
    expect(text).not.toContain('eyJ');
    expect(JSON.stringify(runs)).not.toContain('eyJ');
  });
});

describe('failureReason', () => {
  it.each([
    ['an API error by its reason', statusError('Forbidden', 'no'), 'Forbidden'],
    ['an API error without one', unclassified('odd'), 'Unclassified'],
    ['a failure of an issuer by its reason', new IssueError('CircuitOpen'), 'CircuitOpen'],
    ['a missing answer', new TransportError('ETIMEDOUT', 'late'), 'NoAnswer'],
    ['anything else', new TypeError('oops'), 'Defect'],
    ['what is no error', 'oops', 'Defect'],
  ])('names %s', (_case, error, reason) => {
    expect(failureReason(error)).toBe(reason);
  });
});
