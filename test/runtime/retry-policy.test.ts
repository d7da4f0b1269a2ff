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

function throttledFor(retryAfterSeconds: unknown): StatusError {
  return statusError('TooManyRequests', 'busy', { retryAfterSeconds: retryAfterSeconds as number });
}

describe('planRetry', () => {
  it.each([
    ['the object does not exist', notFound(tokens, 'ci'), { class: 'gone', waitMs: undefined }],
    ['a write conflicts with another write', modified(tokens, 'ci'), { class: 'conflict', waitMs: 200 }],
    ['the server sends a 429 with Retry-After', tooManyRequests('busy', 7), { class: 'throttled', waitMs: 7_000 }],
    ['the server sends a 503 with Retry-After', serviceUnavailable('soon', 30), { class: 'throttled', waitMs: 30_000 }],
    ['the server sends a 429 without Retry-After', throttledFor(undefined), { class: 'throttled', waitMs: 1_000 }],
    ['the circuit of a target is open', new IssueError('CircuitOpen', '', { retryAfterMs: 9_000 }), { class: 'throttled', waitMs: 9_000 }],
    ['a target is unreachable', new IssueError('ClusterUnreachable'), { class: 'transient', waitMs: 500 }],
    ['the server does not respond', new TransportError('ECONNREFUSED', 'refused'), { class: 'transient', waitMs: 500 }],
    ['the server responds with an internal error', statusError('InternalError', 'oops'), { class: 'transient', waitMs: 500 }],
    ['the server denies permission', statusError('Forbidden', 'no'), { class: 'transient', waitMs: 500 }],
    ['the object exists already', statusError('AlreadyExists', 'yes'), { class: 'transient', waitMs: 500 }],
    ['another component aborts', new DOMException('aborted', 'AbortError'), { class: 'transient', waitMs: 500 }],
    ['the reconcile throws a TypeError', new TypeError('undefined is not a function'), { class: 'transient', waitMs: 500 }],
    ['the reconcile throws a string', 'oops', { class: 'transient', waitMs: 500 }],
    ['the reconcile throws undefined', undefined, { class: 'transient', waitMs: 500 }],
  ])('classifies the failure when %s', (_case, error, expected) => {
    expect(plan(error)).toEqual(expected);
  });

  it.each([
    ['a missing object of another name', notFound(tokens, 'cd')],
    ['a missing object of another kind', notFound({ group: '', name: 'serviceaccounts' }, 'ci')],
    ['a kind that is not served', statusError('NotFound', 'the server could not find the requested resource', {})],
    ['a 404 without details', statusError('NotFound', 'not found')],
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
    expect(planRetry({ key: 'a/b', error: putOff, failures: 1, conflicts: 1, now: NOW }, { random: 0 }).isDeferred).toBe(true);
  });

  it.each([
    ['is delayed by the budget', new Error('x'), {}, 2_500],
    ['is not delayed beyond its latest time', new Error('x'), { latestAt: NOW + 1_000 }, 1_000],
    ['spends no budget after a conflict', modified(tokens, 'ci'), {}, 200],
    ['spends no budget while the circuit is open', new IssueError('CircuitOpen', '', { retryAfterMs: 1_500 }), {}, 1_500],
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

  it('shortens delays by a random share of up to half', () => {
    expect(plan(new Error('x'), { random: 0.999_999, failures: 3 }).waitMs).toBe(1_001);
    expect(plan(modified(tokens, 'ci'), { random: 0.5 }).waitMs).toBe(150);
  });

  it.each([
    ['an invalid delay', 'soon', 1_000],
    ['a delay of 0', 0, 1_000],
    ['a negative delay', -5, 1_000],
    ['a delay of NaN', Number.NaN, 1_000],
    ['a delay below a second', 0.01, 1_000],
    ['a delay of a second', 1, 1_000],
    ['a delay of a day', 86_400, 300_000],
    ['an infinite delay', Infinity, 300_000],
  ])('waits between one second and five minutes for a server that requests %s', (_case, seconds, waitMs) => {
    expect(plan(throttledFor(seconds)).waitMs).toBe(waitMs);
  });

  it('waits at least as long as requested, and longer with every rejection', () => {
    expect(plan(tooManyRequests('busy', 10), { random: 0.5 }).waitMs).toBe(10_500);
    expect(plan(tooManyRequests('busy', 1), { failures: 8 }).waitMs).toBe(64_000);
  });

  it.each([
    ['an exponential backoff', new Error('x')],
    ['a Retry-After from the server', tooManyRequests('busy', 300)],
  ])('retries at the latest time if that precedes %s', (_case, error) => {
    expect(plan(error, { failures: 20, latestAt: NOW + 12_000 }).waitMs).toBe(12_000);
    expect(plan(error, { failures: 20, latestAt: Infinity }).waitMs).toBe(300_000);
  });

  it('returns a whole number within five and a half minutes', () => {
    const error = fc.oneof(
      fc.anything(),
      fc.anything().map(throttledFor),
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
    ['the burst without delay', 500, 0],
    ['more keys than the burst with a delay', 600, 2_000],
    ['100,000 keys with a delay of a minute at most', 100_000, 60_000],
  ])('allows retries of %s', (_, times, waitMs) => {
    expect(spent(new RetryBudget(), 'a', times)).toBe(waitMs);
  });

  it('allows a full burst again after a pause', () => {
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
