import { describe, expect, it } from '@jest/globals';
import type { ManagedToken } from '../../src/api/managed-token.gen.ts';
import type { Stored } from '../../src/api/resources.ts';
import { type TrackedToken, TrackedTokens } from '../../src/tokens/tracked-token.ts';
import { aToken } from '../support/builders.ts';
import { FakeClock } from '../support/clock.ts';
import { stored } from '../support/stored.ts';

const HOUR = 3_600_000;

const REVIEW_KEY = 'default prod-eu/deploy/deployer';
const allowance = (rbacChanges: number) => ({ name: 'prod-eu', reviewKey: REVIEW_KEY, rbacChanges, isExpected: true, isLasting: true });

describe('TrackedTokens', () => {
  it('does not track a forgotten ManagedToken again when a run in progress records a result', () => {
    const memory = new TrackedTokens();
    memory.keep('a').recordRefusal(1_000);
    memory.forget('a');
    memory.of('a').recordRefusal(2_000);
    memory.of('a').recordAllowedReview(allowance(0), 0);

    expect([memory.size, memory.refused.size, memory.of('a').isConfirmed(REVIEW_KEY, 0)]).toEqual([0, 0, false]);
  });

  it('lists each denied ManagedToken once, until it is allowed, removed or forgotten', () => {
    const memory = new TrackedTokens();
    const counts = [];
    for (const uid of ['a', 'b', 'c', 'a']) memory.keep(uid).recordRefusal(1_000);
    counts.push(memory.refused.size);
    memory.of('a').recordAllowedReview(allowance(0), 0);
    counts.push(memory.refused.size);
    memory.of('b').forgetRefusals();
    counts.push(memory.refused.size);
    memory.forget('c');
    counts.push(memory.refused.size);

    expect(counts).toEqual([3, 2, 1, 0]);
  });

  it('stops tracking a ManagedToken whose run left nothing to remember', () => {
    const memory = new TrackedTokens();
    memory.keep('a').requeueAt = HOUR;
    memory.endRun('a');

    expect(memory.size).toBe(0);
  });

  const remembered: readonly (readonly [string, (tracked: TrackedToken) => unknown])[] = [
    ['a failure', (tracked) => (tracked.failure = { reason: 'Forbidden', message: 'denied' })],
    ['a verification', (tracked) => (tracked.verifiedAt = 1)],
    ['a deferred run', (tracked) => (tracked.deferredAt = 1)],
    ['a trigger by the tenant', (tracked) => (tracked.isTriggeredByTenant = true)],
    ['a requested slot', (tracked) => (tracked.isDialing = true)],
    ['an allowed review', (tracked) => tracked.recordAllowedReview(allowance(0), 0)],
    ['a refusal', (tracked) => tracked.recordRefusal(1)],
    ['an unexpected refusal', (tracked) => tracked.countUnexpectedRefusal()],
    ['a change to RBAC', (tracked) => tracked.recordRbacChange()],
    ['an issuance', (tracked) => tracked.recordIssuance(new FakeClock())],
    ['a repair', (tracked) => tracked.recordRepair(1, 1)],
    ['a write in progress', (tracked) => tracked.beginWrite()],
    ['a version from the watch', (tracked) => tracked.observeToken(aToken().build())],
    ['a deleted anchor', (tracked) => tracked.anchors.deleted.add('prod-eu/deploy/a')],
    ['a reported orphan', (tracked) => tracked.anchors.recordOrphanReport('prod-eu/deploy/a', 'recorded')],
  ];

  it.each(remembered)('tracks a ManagedToken after a run that left %s', (_, record) => {
    const memory = new TrackedTokens();
    record(memory.keep('a'));
    memory.endRun('a');

    expect(memory.size).toBe(1);
  });

  it('drops earlier refusals whose times are in the future', () => {
    const tracked = new TrackedTokens().keep('a');
    tracked.recordRefusal(10 * HOUR);
    tracked.recordRefusal(9 * HOUR);
    tracked.recordRefusal(9 * HOUR + 15_000);

    expect(tracked.refusedAt).toEqual([9 * HOUR, 9 * HOUR + 15_000]);
  });
});

describe('TrackedToken', () => {
  it('trusts reviews that contradict the indexed RBAC rules from 30 seconds after the first such review', () => {
    const tracked = new TrackedTokens().keep('a');
    const unexpected = { ...allowance(0), isExpected: false };
    const reviewedAt = [0];
    for (let at = 0; at < Infinity; at = tracked.reviewAt) {
      tracked.recordAllowedReview(unexpected, at);
      reviewedAt.push(tracked.reviewAt);
    }
    expect(reviewedAt).toEqual([0, 1_000, 3_000, 7_000, 15_000, 31_000, Infinity]);
    expect(tracked.isConfirmed(REVIEW_KEY, HOUR)).toBe(true);
  });

  it('repeats a review that is not lasting after growing delays of at most 30 seconds', () => {
    const tracked = new TrackedTokens().keep('a');
    const until = [0, 1_000, 3_000, 7_000, 15_000, 31_000, 61_000, 91_000].map((at) => {
      tracked.recordAllowedReview({ ...allowance(0), isExpected: false, isLasting: false }, at);
      return tracked.reviewAt;
    });
    expect(until).toEqual([1_000, 3_000, 7_000, 15_000, 31_000, 61_000, 91_000, 121_000]);
  });

  it('does not confirm a permission with a review that began before RBAC changed', () => {
    const tracked = new TrackedTokens().keep('a');
    const { rbacChanges } = tracked;
    tracked.recordRbacChange();
    tracked.recordAllowedReview(allowance(rbacChanges), 0);
    expect(tracked.isConfirmed(REVIEW_KEY, 0)).toBe(false);
    tracked.recordAllowedReview(allowance(tracked.rbacChanges), 0);
    expect(tracked.isConfirmed(REVIEW_KEY, HOUR)).toBe(true);
  });

  const written = (resourceVersion: string, status = {}) =>
    ({ metadata: { uid: 'a', resourceVersion, managedFields: [{ manager: 'purser' }] }, status }) as unknown as Stored<ManagedToken>;

  it('keeps a written ManagedToken without managedFields', () => {
    const after = new TrackedTokens().keep('a').recordTokenWrite(written('2'), written('1'), 0);
    expect(after.metadata).toEqual({ uid: 'a', resourceVersion: '2' });
  });

  it('keeps a stub of a written ManagedToken if the informer keeps a stub', () => {
    const whole = aToken()
      .writing({ name: 'ci', annotations: { note: 'x' } })
      .build();
    const after = new TrackedTokens().keep('a').recordTokenWrite(stored(whole), { ...whole, isOverBudget: true }, 0);
    expect(after).toMatchObject({ isOverBudget: true, spec: { secret: expect.not.objectContaining({ annotations: expect.anything() }) } });
  });

  it('keeps the copy of the informer once the watch delivers the write', () => {
    const tracked = new TrackedTokens().keep('a');
    const informed = written('2', { rotations: 1 });
    tracked.status = { rotations: 1 };
    tracked.recordTokenWrite(written('2', { rotations: 1 }), written('1'), 0);
    tracked.observeToken(informed);
    expect(tracked.status).toBe(informed.status);
    expect(tracked.latestToken(informed, 1)).toBe(informed);
  });
});

describe('TrackedToken.limitVerifiedAt', () => {
  it.each([
    ['a verification in the future', 9, 1, 5],
    ['a verification in the past', 3, 1, 3],
    ['a start in the future', undefined, 9, 5],
    ['a start in the past', undefined, 1, undefined],
  ])(
    'sets the time of the last verification to now at the latest, so that not all tokens are due immediately: %s',
    (_case, verifiedAt, startedAt, expected) => {
      const tracked = new TrackedTokens().keep('a');
      tracked.verifiedAt = verifiedAt;
      tracked.limitVerifiedAt(startedAt, 5);
      expect(tracked.verifiedAt).toBe(expected);
    },
  );
});

describe('TrackedToken.issuing', () => {
  it.each([
    ['back', -HOUR],
    ['ahead', HOUR],
  ])('pauses for the same time when the clock is set %s', (_, jumpMs) => {
    const clock = new FakeClock();
    const tracked = new TrackedTokens().keep('a');
    const { issuing } = tracked;
    tracked.recordIssuance(clock);
    clock.set(clock.now() + jumpMs);
    clock.advance(4_000);
    expect(issuing.remainingMs(clock.monotonic())).toBe(6_000);
    clock.advance(6_000);
    expect(issuing.remainingMs(clock.monotonic())).toBe(0);
  });
});
