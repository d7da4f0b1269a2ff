import { describe, expect, it } from '@jest/globals';
import { computeRetryDelay, createProblem, NO_RESPONSE } from '../../../src/ui/model/problems.ts';

describe('createProblem', () => {
  it.each([
    [401, 'Log in with a valid token.'],
    [403, 'Ask an administrator for permission to get, list and watch these objects.'],
    [429, 'The page retries when the rate limit allows.'],
    [500, "The page retries. If the error persists, check Purser's log."],
    [503, "The page retries. If the error persists, check Purser's log."],
  ])('returns a cause and a remedy for the status %d', (status, remedy) => {
    const problem = createProblem(status, '', null);
    expect(problem).toEqual({ status, cause: expect.stringMatching(/^[A-Z].*\.$/) as unknown, remedy });
  });

  it('shortens the message of a server', () => {
    expect(createProblem(500, 'x'.repeat(100_000), null).cause.length).toBeLessThan(400);
  });

  it.each([
    ['7', 7_000],
    ['999999', 300_000],
    ['-1', undefined],
    ['soon', undefined],
    [null, undefined],
  ])('reads the Retry-After %p', (header, ms) => {
    expect(createProblem(429, '', header).retryAfterMs).toBe(ms);
  });
});

describe('computeRetryDelay', () => {
  it('doubles up to 10 s, with a random part of up to half', () => {
    expect([0, 1, 2, 6, 1_000].map((failures) => computeRetryDelay(failures, NO_RESPONSE, 1))).toEqual([500, 1_000, 2_000, 10_000, 10_000]);
    expect(computeRetryDelay(2, NO_RESPONSE, 0)).toBe(1_000);
  });
});
