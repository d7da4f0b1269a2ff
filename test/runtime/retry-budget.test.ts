import { describe, expect, it } from '@jest/globals';
import { RetryBudget } from '../../src/runtime/retry-budget.ts';

function spent(budget: RetryBudget, lane: string, times: number, now = 0): number {
  let waitMs = 0;
  for (let time = 0; time < times; time++) waitMs = budget.spend(lane, now);
  return waitMs;
}

describe('a retry budget', () => {
  it.each([
    ['a few at once', 500, 0],
    ['more, one after the other', 600, 2_000],
    ['very many, within a minute', 100_000, 60_000],
  ])('lets %s try again', (_, times, waitMs) => {
    expect(spent(new RetryBudget(), 'a', times)).toBe(waitMs);
  });

  it('is full again after a while', () => {
    const budget = new RetryBudget();
    spent(budget, 'a', 600);
    expect([budget.spend('a', 2_000), budget.spend('a', 60_000)]).toEqual([20, 0]);
  });

  it('is one for each lane, and remembers none that has not failed lately', () => {
    const budget = new RetryBudget();
    spent(budget, 'a', 1_000);
    expect([budget.spend('b', 0), budget.size]).toEqual([0, 2]);
    budget.spend('c', 1_000_000);
    expect(budget.size).toBe(1);
  });
});
