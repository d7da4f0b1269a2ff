import { describe, expect, it } from '@jest/globals';
import * as fc from 'fast-check';
import { isMassWithdrawal, withdrawalAfter } from '../../src/domain/withdrawal.ts';
import { at, NOON } from '../support/builders.ts';

describe('withdrawalAfter', () => {
  it.each([
    ['keeps the Secret while nobody said no', [], '12:00:00', { type: 'keep' }],
    ['looks again after the first no', ['12:00:00'], '12:00:00', { type: 'lookAgain', at: at('12:00:15') }],
    [
      'looks again when two came too soon after each other',
      ['12:00:00', '12:00:14'],
      '12:00:14',
      { type: 'lookAgain', at: at('12:00:15') },
    ],
    ['removes the Secret after two that are fifteen seconds apart', ['12:00:00', '12:00:15'], '12:00:15', { type: 'remove' }],
    ['removes it when errors kept the second one away for an hour', ['12:00:00', '13:00:00'], '13:00:00', { type: 'remove' }],
    ['looks again soon when the second one is overdue', ['12:00:00'], '12:10:00', { type: 'lookAgain', at: at('12:10:01') }],
    ['F28: begins anew when the clock was set back', ['13:00:00', '13:00:20'], '12:00:00', { type: 'lookAgain', at: at('12:00:15') }],
  ])('%s', (_, refused, now, withdrawal) => {
    expect(withdrawalAfter(refused.map(at), at(now))).toEqual(withdrawal);
  });

  it('looks again within fifteen seconds, and never in the past', () => {
    const times = fc.integer({ min: NOON - 1e9, max: NOON + 1e9 });
    fc.assert(
      fc.property(fc.array(times), times, (refusedAt, now) => {
        const withdrawal = withdrawalAfter(refusedAt, now);
        if (withdrawal.type !== 'lookAgain') return;
        expect(withdrawal.at).toBeGreaterThan(now);
        expect(withdrawal.at).toBeLessThanOrEqual(now + 15_000);
      }),
    );
  });
});

describe('isMassWithdrawal', () => {
  const times = (count: number, time: string) => Array.from({ length: count }, () => at(time));

  it.each([
    ['twenty of a few', { removedAt: times(20, '12:00:00'), waiting: 0, total: 30 }, false],
    ['one more', { removedAt: times(20, '12:00:00'), waiting: 1, total: 30 }, true],
    ['all at once', { removedAt: [], waiting: 500, total: 500 }, true],
    ['a tenth of many', { removedAt: times(50, '12:00:00'), waiting: 50, total: 1000 }, false],
    ['more than a tenth of many', { removedAt: times(50, '12:00:00'), waiting: 51, total: 1000 }, true],
    ['many, but a minute ago', { removedAt: times(500, '11:59:30'), waiting: 1, total: 30 }, false],
  ])('%s', (_, withdrawals, isMass) => {
    expect(isMassWithdrawal(withdrawals, at('12:00:30'))).toBe(isMass);
  });
});
