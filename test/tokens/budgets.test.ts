import { describe, expect, it } from '@jest/globals';
import { createLogger } from '../../src/telemetry/logger.ts';
import { NamespaceBudgets, type RateBudget } from '../../src/tokens/budgets.ts';
import { FakeClock } from '../support/clock.ts';

function world(tokens = 10) {
  const clock = new FakeClock();
  const lines: string[] = [];
  const log = createLogger({ level: 'info', readable: false, write: (line) => lines.push((JSON.parse(line) as { msg: string }).msg) });
  const budgets = new NamespaceBudgets({ clock, log, countInNamespace: () => tokens });
  const spend = (budget: RateBudget, times: number, namespace = 'team-a') => {
    for (let time = 0; time < times; time++) budgets.spend(budget, namespace);
  };
  return { clock, lines, budgets, spend };
}

describe('NamespaceBudgets', () => {
  it.each([1, 100, 10_000])('lets a namespace issue and renew %i tokens without delay', (tokens) => {
    const { clock, budgets, spend } = world(tokens);
    spend('reviews', 3 * tokens);
    spend('dials', 2 * tokens);
    spend('runs', 5 * tokens);
    for (let minute = 0; minute < 30; minute++) {
      clock.advance(60_000);
      spend('reviews', tokens);
      spend('dials', 2 * tokens);
      spend('runs', 6 * tokens);
      expect(budgets.waitMs('team-a')).toBe(0);
    }
  });

  it.each(['reviews', 'dials', 'runs'] as const)('delays a namespace that spends too many %s, and no other namespace', (budget) => {
    const { budgets, spend } = world();
    spend(budget, 2_000);
    spend(budget, 10, 'team-b');
    expect(budgets.waitMs('team-a')).toBeGreaterThan(60_000);
    expect(budgets.waitMs('team-b')).toBe(0);
    expect([...budgets.over()]).toEqual([['team-a', budget]]);
  });

  it.each([
    ['reviews', 10],
    ['dials', 10],
    ['runs', 10],
    ['reviews', 30_000],
  ] as const)('delays a namespace by at most three minutes, regardless of its spending: %s with %i ManagedTokens', (budget, tokens) => {
    const { clock, budgets, spend } = world(tokens);
    spend(budget, 400_000);
    expect(budgets.waitMs('team-a')).toBe(180_000);
    clock.advance(180_000);
    expect(budgets.waitMs('team-a')).toBe(0);
  });

  it('logs once that a namespace is over its budget, and once that the namespace is within its budget again', () => {
    const { clock, lines, budgets, spend } = world();
    for (let round = 0; round < 10; round++) {
      spend('reviews', 100);
      budgets.waitMs('team-a');
    }
    expect(lines).toEqual(['namespace over budget']);
    clock.advance(3_600_000);
    expect([[...budgets.over()], budgets.waitMs('team-a'), lines]).toEqual([[], 0, ['namespace over budget', 'namespace within budget']]);
  });

  it('forgets namespaces that have spent nothing recently', () => {
    const { clock, budgets, spend } = world();
    for (let index = 0; index < 1_000; index++) spend('reviews', 1, `team-${index}`);
    clock.advance(3_600_000);
    spend('reviews', 1, 'another');
    expect(budgets.size).toBe(1);
  });
});
