import { describe, expect, it } from '@jest/globals';
import * as fc from 'fast-check';
import { ManagedTokens } from '../../src/api/resources.ts';
import { TransportError } from '../../src/kube/transport-error.ts';
import { modified, notFound, StatusError, serviceUnavailable, statusError, tooManyRequests } from '../../src/kubernetes/status.ts';
import { type Failure, planRetry, RetryBudget, type RetryTerms } from '../../src/runtime/retry-policy.ts';
import { IssueError } from '../../src/targets/issue-error.ts';

const NOW = Date.parse('2026-03-01T12:00:00Z');
const tokens = { group: 'tokens.purser.dev', name: 'managedtokens' };

function plan(
  error: unknown,
  more: Partial<Failure<string> & RetryTerms> = {},
): { readonly class: string; readonly waitMs: number | undefined } {
  const { failures = 1, conflicts = 1, ...terms } = more;
  const { class: failureClass, retryAt } = planRetry(
    { key: 'team-a/ci', error, failures, conflicts, now: NOW },
    { random: 0, resource: ManagedTokens, ...terms },
  );
  return { class: failureClass, waitMs: retryAt === undefined ? undefined : retryAt - NOW };
}

function asking(retryAfterSeconds: unknown): StatusError {
  return statusError('TooManyRequests', 'busy', { retryAfterSeconds: retryAfterSeconds as number });
}

describe('planRetry', () => {
  it.each([
    ['the object is gone', notFound(tokens, 'ci'), { class: 'gone', waitMs: undefined }],
    ['a write was stale', modified(tokens, 'ci'), { class: 'conflict', waitMs: 200 }],
    ['the server says how long to wait', tooManyRequests('busy', 7), { class: 'throttled', waitMs: 7_000 }],
    ['the server says so with a 503', serviceUnavailable('soon', 30), { class: 'throttled', waitMs: 30_000 }],
    ['the server is busy and does not say how long', asking(undefined), { class: 'throttled', waitMs: 1_000 }],
    ['a target says how long to wait', new IssueError('CircuitOpen', '', { retryAfterMs: 9_000 }), { class: 'throttled', waitMs: 9_000 }],
    ['a target does not say', new IssueError('ClusterUnreachable'), { class: 'transient', waitMs: 500 }],
    ['there is no answer', new TransportError('ECONNREFUSED', 'refused'), { class: 'transient', waitMs: 500 }],
    ['the server fails', statusError('InternalError', 'oops'), { class: 'transient', waitMs: 500 }],
    ['we are not allowed to', statusError('Forbidden', 'no'), { class: 'transient', waitMs: 500 }],
    ['something is there already', statusError('AlreadyExists', 'yes'), { class: 'transient', waitMs: 500 }],
    ['an abort that is not ours', new DOMException('aborted', 'AbortError'), { class: 'transient', waitMs: 500 }],
    ['a defect', new TypeError('undefined is not a function'), { class: 'transient', waitMs: 500 }],
    ['something that is no error', 'oops', { class: 'transient', waitMs: 500 }],
    ['nothing at all', undefined, { class: 'transient', waitMs: 500 }],
  ])('classifies the failure when %s', (_case, error, expected) => {
    expect(plan(error)).toEqual(expected);
  });

  it.each([
    ['another object', notFound(tokens, 'cd')],
    ['another kind', notFound({ group: '', name: 'serviceaccounts' }, 'ci')],
    ['a kind that was uninstalled', statusError('NotFound', 'the server could not find the requested resource', {})],
    ['nobody knows what', statusError('NotFound', 'not found')],
  ])('does not classify a key as gone because of %s', (_case, error) => {
    expect(plan(error).class).toBe('transient');
  });

  it('does not classify a key as gone without its kind', () => {
    const failure = { key: 'team-a/ci', error: notFound(tokens, 'ci'), failures: 1, conflicts: 1, now: NOW };
    expect(planRetry(failure, { random: 0 }).class).toBe('transient');
  });

  it('waits for the requested time of an open circuit without counting a failure', () => {
    const putOff = new IssueError('CircuitOpen', '', { retryAfterMs: 1_500 });
    expect(plan(putOff, { failures: 9 })).toEqual({ class: 'throttled', waitMs: 1_500 });
    expect(planRetry({ key: 'a/b', error: putOff, failures: 1, conflicts: 1, now: NOW }, { random: 0 }).isPutOff).toBe(true);
  });

  it.each([
    ['comes later by what the budget says', new Error('x'), {}, 2_500],
    ['never comes later than it must', new Error('x'), { latestAt: NOW + 1_000 }, 1_000],
    ['costs nothing where nobody failed', modified(tokens, 'ci'), {}, 200],
    ['costs nothing where nothing was sent', new IssueError('CircuitOpen', '', { retryAfterMs: 1_500 }), {}, 1_500],
  ])('plans a retry that %s', (_case, error, terms, waitMs) => {
    expect(plan(error, { ...terms, spend: () => 2_000 }).waitMs).toBe(waitMs);
  });

  it('doubles the delay from 0.5 s to 5 min', () => {
    const waits = Array.from({ length: 12 }, (_, index) => plan(new Error('x'), { failures: index + 1 }).waitMs);
    expect(waits).toEqual([500, 1_000, 2_000, 4_000, 8_000, 16_000, 32_000, 64_000, 128_000, 256_000, 300_000, 300_000]);
  });

  it('doubles the delay after conflicts from 0.2 s to 10 s', () => {
    const waits = Array.from({ length: 8 }, (_, index) => plan(modified(tokens, 'ci'), { conflicts: index + 1 }).waitMs);
    expect(waits).toEqual([200, 400, 800, 1_600, 3_200, 6_400, 10_000, 10_000]);
  });

  it('shortens delays by a jitter of up to a half', () => {
    expect(plan(new Error('x'), { random: 0.999_999, failures: 3 }).waitMs).toBe(1_001);
    expect(plan(modified(tokens, 'ci'), { random: 0.5 }).waitMs).toBe(150);
  });

  it.each([
    ['garbage', 'soon', 1_000],
    ['nothing', 0, 1_000],
    ['the past', -5, 1_000],
    ['not a number', Number.NaN, 1_000],
    ['less than a second', 0.01, 1_000],
    ['a second', 1, 1_000],
    ['a day', 86_400, 300_000],
    ['for ever', Infinity, 300_000],
  ])('waits between a second and five minutes for a server that requests %s', (_case, seconds, waitMs) => {
    expect(plan(asking(seconds)).waitMs).toBe(waitMs);
  });

  it('waits at least as long as requested, and longer with every rejection', () => {
    expect(plan(tooManyRequests('busy', 10), { random: 0.5 }).waitMs).toBe(10_500);
    expect(plan(tooManyRequests('busy', 1), { failures: 8 }).waitMs).toBe(64_000);
  });

  it.each([
    ['a backoff', new Error('x')],
    ['what a server asks for', tooManyRequests('busy', 300)],
  ])('retries before the latest time for %s', (_case, error) => {
    expect(plan(error, { failures: 20, latestAt: NOW + 12_000 }).waitMs).toBe(12_000);
    expect(plan(error, { failures: 20, latestAt: Infinity }).waitMs).toBe(300_000);
  });

  it('returns a whole number within five and a half minutes', () => {
    const error = fc.oneof(
      fc.anything(),
      fc.anything().map(asking),
      fc.integer({ min: 400, max: 599 }).map((code) => new StatusError({ ...statusError('Timeout', '').status, code })),
    );
    fc.assert(
      fc.property(
        error,
        fc.integer({ min: 1, max: 10_000 }),
        fc.double({ min: 0, max: 1, maxExcluded: true, noNaN: true }),
        (thrown, failures, random) => {
          const { waitMs = Number.NaN } = plan(thrown, { failures, random });
          expect(Number.isInteger(waitMs)).toBe(true);
          expect(waitMs).toBeGreaterThan(0);
          expect(waitMs).toBeLessThanOrEqual(330_000);
        },
      ),
    );
  });
});

function spent(budget: RetryBudget, lane: string, times: number, now = 0): number {
  let waitMs = 0;
  for (let time = 0; time < times; time++) waitMs = budget.spend(lane, now);
  return waitMs;
}

describe('RetryBudget', () => {
  it.each([
    ['a few at once', 500, 0],
    ['more, one after the other', 600, 2_000],
    ['very many, within a minute', 100_000, 60_000],
  ])('allows retries of %s', (_, times, waitMs) => {
    expect(spent(new RetryBudget(), 'a', times)).toBe(waitMs);
  });

  it('refills after a while', () => {
    const budget = new RetryBudget();
    spent(budget, 'a', 600);
    expect([budget.spend('a', 2_000), budget.spend('a', 60_000)]).toEqual([20, 0]);
  });

  it('keeps a budget for each lane and forgets lanes without recent retries', () => {
    const budget = new RetryBudget();
    spent(budget, 'a', 1_000);
    expect([budget.spend('b', 0), budget.size]).toEqual([0, 2]);
    budget.spend('c', 1_000_000);
    expect(budget.size).toBe(1);
  });
});
