import { describe, expect, it } from '@jest/globals';
import { NO_RESPONSE, problemOf, retryDelay } from '../../../src/ui/model/problems.ts';

describe('problemOf', () => {
  it.each([
    [401, 'Log in with a valid token.'],
    [403, 'Ask an administrator for a Role or ClusterRole that allows get, list and watch.'],
    [429, 'The page retries when the rate limit allows.'],
    [500, "The page retries. If the error persists, check Purser's log."],
    [503, "The page retries. If the error persists, check Purser's log."],
  ])('returns a cause and a remedy for the status %d', (status, remedy) => {
    const problem = problemOf(status, '', null);
    expect(problem).toEqual({ status, cause: expect.stringMatching(/^[A-Z].*\.$/) as unknown, remedy });
  });

  it('shortens the message of a server', () => {
    expect(problemOf(500, 'x'.repeat(100_000), null).cause.length).toBeLessThan(400);
  });

  it.each([
    ['7', 7_000],
    ['999999', 300_000],
    ['-1', undefined],
    ['soon', undefined],
    [null, undefined],
  ])('reads the Retry-After %p', (header, ms) => {
    expect(problemOf(429, '', header).retryAfterMs).toBe(ms);
  });
});

describe('retryDelay', () => {
  it('doubles up to 10 s, with a random part of up to half', () => {
    expect([0, 1, 2, 6, 1_000].map((failures) => retryDelay(failures, NO_RESPONSE, 1))).toEqual([500, 1_000, 2_000, 10_000, 10_000]);
    expect(retryDelay(2, NO_RESPONSE, 0)).toBe(1_000);
  });
});
