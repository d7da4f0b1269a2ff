import { describe, expect, it } from '@jest/globals';
import * as fc from 'fast-check';
import {
  isSettled,
  type Member,
  planSet,
  type Rollout,
  readyConditionOf,
  resolveRollout,
  toMemberState,
} from '../../../src/sets/policy/plan.ts';
import { digestTemplate } from '../../../src/sets/policy/template.ts';
import { formatTimestamp } from '../../../src/std/timestamp.ts';
import { NOON } from '../../support/builders.ts';
import { aMember, aSet } from '../set-builder.ts';

const before = aSet();
const set = aSet({ expirationSeconds: 7200 });
const rollout: Rollout = { templateDigest: digestTemplate(set.spec.template), startTime: formatTimestamp(NOON) };
const numbered = (count: number, from = 0) => Array.from({ length: count }, (_, index) => `c${String(from + index).padStart(3, '0')}`);

const plan = (members: readonly Member[], of = set) => planSet({ set: of, members, surplus: [] }, rollout, NOON + 60_000);
const clustersOf = (writes: readonly { readonly clusterName: string }[]) => writes.map(({ clusterName }) => clusterName);

describe('toMemberState', () => {
  it.each([
    ['missing', aMember(set, 'a', undefined)],
    ['outdated', aMember(set, 'a', before, { ready: 'True' })],
    ['current', aMember(set, 'a', set)],
    ['conflict', aMember(set, 'a', set, { controllerUid: 'another' })],
    ['invalid', { ...aMember(set, 'a', set), rendering: { problem: 'x' } }],
    ['denied', { ...aMember(set, 'a', before), rendering: { missing: 'issue x' } }],
  ])('returns the state %s', (state, member) => {
    expect(toMemberState(set, member)).toBe(state);
  });

  it('returns drifted for a changed spec, and terminating for a ManagedToken that is being deleted', () => {
    const member = aMember(set, 'a', set);
    const token = member.token!;
    const changed = { ...token, spec: { ...token.spec, audiences: ['x'] } };
    const going = { ...token, metadata: { ...token.metadata, deletionTimestamp: formatTimestamp(NOON) } };
    expect(
      [changed, going, { ...changed, isTooLarge: true as const }].map((each) => toMemberState(set, { ...member, token: each })),
    ).toEqual(['drifted', 'terminating', 'current']);
  });
});

describe('resolveRollout', () => {
  it('keeps the start of the rollout until the template changes', () => {
    const known = aSet({ expirationSeconds: 7200, status: { rollout } });
    expect(resolveRollout(known, 'now')).toEqual(rollout);
    expect(resolveRollout(aSet({ expirationSeconds: 600, status: { rollout } }), 'now').startTime).toBe('now');
  });
});

describe('planSet', () => {
  it('creates all missing ManagedTokens at once', () => {
    const members = numbered(100).map((name) => aMember(set, name, undefined));
    expect(plan(members).creations).toHaveLength(100);
  });

  it('limits the ManagedTokens without a result, and changes ready ManagedTokens first', () => {
    const failing = aMember(set, 'a', before, { ready: 'False' });
    const members = [failing, ...numbered(4).map((name) => aMember(set, name, before, { ready: 'True' }))];
    const changing = aMember(set, 'x', set, { ready: 'True', generation: 2, observedGeneration: 1 });
    const small = aSet({ expirationSeconds: 7200, maxConcurrent: 3 });
    const { changes, waiting, unsettled } = plan([...members, changing], small);
    expect([clustersOf(changes), waiting, unsettled]).toEqual([['c000', 'c001'], 3, 1]);
    expect(clustersOf(plan([...members.slice(0, 2), changing], small).changes)).toEqual(['c000', 'a']);
  });

  it('stops the rollout when a third of a wave failed after its start, and names the failed clusters', () => {
    const outdated = numbered(20).map((name) => aMember(set, name, before, { ready: 'True' }));
    const failed = (count: number, since: number) =>
      numbered(count, 50).map((name) => aMember(set, name, set, { ready: 'False', generation: 2, since }));
    expect(plan([...outdated, ...failed(3, NOON)]).stoppedBy).toEqual([]);
    expect(plan([...outdated, ...failed(4, NOON)]).stoppedBy).toEqual(numbered(4, 50));
    expect(plan([...outdated, ...failed(4, NOON)]).changes).toEqual([]);
    expect(plan([...outdated, ...failed(10, NOON - 1_000)]).stoppedBy).toEqual([]);
    expect(plan(failed(4, NOON)).stoppedBy).toEqual([]);
  });

  it('stops the rollout when the requester may not issue the tokens of a third of a wave', () => {
    const outdated = numbered(20).map((name) => aMember(set, name, before, { ready: 'True' }));
    const denied = (count: number) =>
      numbered(count, 50).map((name) => ({ ...aMember(set, name, before, { ready: 'True' }), rendering: { missing: 'issue x' } }));
    expect(plan([...outdated, ...denied(3)])).toMatchObject({ stoppedBy: [], waiting: 13 });
    expect(plan([...outdated, ...denied(4)])).toMatchObject({ stoppedBy: numbered(4, 50), changes: [], waiting: 24 });
    expect(plan(denied(1))).toMatchObject({ stoppedBy: numbered(1, 50), changes: [], waiting: 1 });
  });

  it('does not count failing new ManagedTokens as failures of the rollout', () => {
    const created = numbered(9, 50).map((name) => aMember(set, name, set, { ready: 'False', since: NOON }));
    expect(plan([aMember(set, 'a', before, { ready: 'True' }), ...created]).stoppedBy).toEqual([]);
  });

  it('counts a pending ManagedToken as a failure only after five seconds', () => {
    const pending = aMember(set, 'a', set, { ready: 'False', reason: 'Pending', generation: 2, since: NOON });
    const members = [pending, aMember(set, 'b', before, { ready: 'True' })];
    expect(planSet({ set, members, surplus: [] }, rollout, NOON + 4_000).stoppedBy).toEqual([]);
    expect(planSet({ set, members, surplus: [] }, rollout, NOON + 5_000).stoppedBy).toEqual(['a']);
  });

  it('does not write members that conflict or whose last write failed', () => {
    const members = [{ ...aMember(set, 'b', undefined), writeFailure: 'quota' }, aMember(set, 'c', before, { controllerUid: 'another' })];
    expect(plan(members)).toMatchObject({ creations: [], changes: [] });
  });

  it('converges without exceeding the limit or writing current ManagedTokens', () => {
    const members = fc.array(
      fc.record({
        from: fc.constantFrom(before, set, undefined),
        ready: fc.constantFrom('True' as const, 'False' as const),
        generation: fc.integer({ min: 1, max: 3 }),
        observedGeneration: fc.integer({ min: 1, max: 3 }),
        since: fc.integer({ min: -2, max: 2 }).map((seconds) => NOON + seconds * 1_000),
      }),
      { maxLength: 40 },
    );
    fc.assert(
      fc.property(members, fc.integer({ min: 1, max: 12 }), (options, maxConcurrent) => {
        const limited = aSet({ expirationSeconds: 7200, maxConcurrent });
        let state = options.map(({ from, ...rest }, index) => aMember(limited, numbered(40)[index]!, from, rest));
        for (let round = 0; round < 60; round++) {
          const { creations, changes, unsettled, stoppedBy } = plan(state, limited);
          const waved = changes.filter(({ token }) => token !== undefined);
          expect(unsettled + waved.length).toBeLessThanOrEqual(Math.max(maxConcurrent, unsettled));
          expect(
            changes.every(
              ({ clusterName }) => toMemberState(limited, state.find((each) => each.clusterName === clusterName)!) === 'outdated',
            ),
          ).toBe(true);
          if (stoppedBy.length > 0) return expect(waved).toEqual([]);
          const written = new Set(clustersOf([...creations, ...changes]));
          if (written.size === 0 && unsettled === 0) break;
          // Every write succeeds, and every ManagedToken gets its token.
          state = state.map((each) =>
            written.has(each.clusterName) || (each.token !== undefined && !isSettled(each.token, NOON + 60_000))
              ? aMember(limited, each.clusterName, limited, { ready: 'True', generation: 2 })
              : each,
          );
        }
        expect(state.every((each) => toMemberState(limited, each) === 'current')).toBe(true);
        expect(state.every(({ token }) => token !== undefined && readyConditionOf(token) !== undefined)).toBe(true);
      }),
    );
  });
});
