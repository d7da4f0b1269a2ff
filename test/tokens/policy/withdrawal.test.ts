import { describe, expect, it } from '@jest/globals';
import * as fc from 'fast-check';
import { decideWithdrawal, delayedUntil, isMassWithdrawal } from '../../../src/tokens/policy/withdrawal.ts';
import { at, NOON } from '../../support/builders.ts';

describe('decideWithdrawal', () => {
  it.each([
    ['keeps the Secret without a refusal', [], '12:00:00', { type: 'keep' }],
    ['rechecks after the first refusal', ['12:00:00'], '12:00:00', { type: 'recheck', at: at('12:00:05'), isReported: false }],
    [
      'rechecks after two refusals in quick succession',
      ['12:00:00', '12:00:14'],
      '12:00:14',
      { type: 'recheck', at: at('12:00:15'), isReported: true },
    ],
    ['removes the Secret after two refusals fifteen seconds apart', ['12:00:00', '12:00:15'], '12:00:15', { type: 'remove' }],
    ['removes the Secret if errors delayed the second refusal by an hour', ['12:00:00', '13:00:00'], '13:00:00', { type: 'remove' }],
    [
      'rechecks soon when the second review is overdue',
      ['12:00:00'],
      '12:10:00',
      { type: 'recheck', at: at('12:10:01'), isReported: false },
    ],
    [
      'starts over when the clock was set back',
      ['13:00:00', '13:00:20'],
      '12:00:00',
      { type: 'recheck', at: at('12:00:15'), isReported: false },
    ],
  ])('%s', (_, refused, now, withdrawal) => {
    expect(decideWithdrawal(refused.map(at), at(now))).toEqual(withdrawal);
  });

  it('rechecks within fifteen seconds, and never in the past', () => {
    const times = fc.integer({ min: NOON - 1e9, max: NOON + 1e9 });
    fc.assert(
      fc.property(fc.array(times), times, (refusedAt, now) => {
        const withdrawal = decideWithdrawal(refusedAt, now);
        if (withdrawal.type !== 'recheck') return;
        expect(withdrawal.at).toBeGreaterThan(now);
        expect(withdrawal.at).toBeLessThanOrEqual(now + 15_000);
      }),
    );
  });
});

describe('isMassWithdrawal', () => {
  const counts = (...each: readonly number[]) => new Map(each.map((count, index) => [`team-${index}`, count]));

  it.each([
    ['20 tokens of five namespaces', counts(4, 4, 4, 4, 4), counts(4, 4, 4, 4, 4), false],
    ['21 tokens of five namespaces', counts(5, 4, 4, 4, 4), counts(5, 4, 4, 4, 4), true],
    ['any number of tokens of four namespaces', counts(500, 500, 500, 500), counts(500, 500, 500, 500), false],
    ['500 tokens of one namespace and four of others', counts(500, 1, 1, 1, 1), counts(500, 40, 40, 40, 40), true],
    ['less than a tenth of all issued tokens', counts(5, 5, 5, 5, 5), counts(...Array.from({ length: 13 }, () => 20)), false],
    [
      'more than a tenth of all issued tokens, of which at most 20 are counted in each namespace',
      counts(5, 5, 5, 5, 5),
      counts(100_000, 20, 20, 20, 20),
      true,
    ],
  ])('returns whether the loss of %s is a mass withdrawal', (_, lost, issued, isMass) => {
    expect(isMassWithdrawal(lost, issued)).toBe(isMass);
  });
});

describe('delayedUntil', () => {
  const first = at('12:00:00');

  it.each([
    ['undefined for 20 tokens', 20, '12:00:15', undefined],
    ['ten minutes after the second refusal for 21 tokens', 21, '12:00:15', at('12:10:15')],
    ['the same time while the namespace stays over its limit', 500, '12:09:00', at('12:10:15')],
    ['undefined once that time has come', 500, '12:10:15', undefined],
    ['undefined when the clock was set back', 21, '11:00:00', undefined],
  ])('returns %s', (_, lost, time, until) => {
    expect(delayedUntil(lost, first, at(time))).toBe(until);
  });
});
