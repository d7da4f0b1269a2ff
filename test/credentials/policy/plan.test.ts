import { describe, expect, it } from '@jest/globals';
import * as fc from 'fast-check';
import {
  type CredentialObservation,
  type CredentialPlan,
  computeRetryDelayMs,
  planCredential,
} from '../../../src/credentials/policy/plan.ts';
import { computeRenewalSlotAt, type TokenInUse } from '../../../src/targets/policy/renewal.ts';
import type { RenewalRecord } from '../../../src/targets/policy/renewed-secret.ts';
import { NOON } from '../../support/builders.ts';

const HOUR_MS = 3_600_000;
const ANCHOR = { namespace: 'purser-system', name: 'purser-credential-1', uid: 'a-1', replacedAt: NOON };
const SUPPLIED: TokenInUse = { digest: 'supplied', isSupplied: true, issuedAt: NOON, expiresAt: NOON + HOUR_MS };
const OWN: TokenInUse = { digest: 'own', isSupplied: false, issuedAt: NOON, expiresAt: NOON + HOUR_MS };
const RECORD: RenewalRecord = {
  registeredDigest: 'supplied',
  tokenDigest: 'own',
  renewedAt: NOON,
  expiresAt: NOON + HOUR_MS,
  anchor: { ...ANCHOR, uid: 'a-2' },
  replaced: [ANCHOR],
};

interface Change extends Omit<Partial<CredentialObservation>, 'history' | 'terms'> {
  readonly history?: Partial<CredentialObservation['history']>;
  readonly terms?: Partial<CredentialObservation['terms']>;
}

function observation({ history, terms, ...change }: Change = {}): CredentialObservation {
  return {
    uid: 'uid',
    terms: { isAutomatic: true, lifetimeMs: HOUR_MS, overlapMs: 60_000, ...terms },
    token: OWN,
    record: undefined,
    isRenewed: change.record !== undefined,
    renewRequest: undefined,
    revokeRequest: undefined,
    isLost: false,
    isRejected: false,
    probeIntervalMs: 10_000,
    startedAt: NOON - HOUR_MS,
    ...change,
    history: {
      renewedDigest: '',
      foreignDigest: '',
      deletedAnchors: new Set(),
      renewNotBefore: -Infinity,
      deleteNotBefore: -Infinity,
      restoreNotBefore: -Infinity,
      ...history,
    },
  };
}

/** Returns anchors of tokens that were replaced one second apart, the latest first. */
function replacedTokens(count: number): RenewalRecord['replaced'] {
  return Array.from({ length: count }, (_, index) => ({ ...ANCHOR, uid: `a-${index}`, replacedAt: NOON + index * 1_000 })).reverse();
}

const dueAt = computeRenewalSlotAt(OWN, 'uid') ?? 0;

describe('planCredential', () => {
  it.each<[string, Change, number, CredentialPlan]>([
    ['renews a supplied token immediately', { token: SUPPLIED }, NOON, { type: 'renew' }],
    ['renews a supplied token of unknown validity immediately', { token: { digest: 'x', isSupplied: true } }, NOON, { type: 'renew' }],
    ['waits until half-life of a token that Purser obtained', {}, NOON, { type: 'wait', until: dueAt }],
    ['renews a token that Purser obtained at half-life', {}, dueAt, { type: 'renew' }],
    [
      'waits until half-life of a supplied token that Purser has renewed before',
      { token: SUPPLIED, history: { renewedDigest: 'supplied' } },
      NOON,
      { type: 'wait', until: dueAt },
    ],
    [
      'renews a second supplied token immediately',
      { token: { ...SUPPLIED, digest: 'second' }, history: { renewedDigest: 'supplied' } },
      NOON,
      { type: 'renew' },
    ],
    ['does not renew a Manual credential', { token: SUPPLIED, terms: { isAutomatic: false } }, NOON, { type: 'wait', until: undefined }],
    ['does not renew a client certificate', { token: undefined }, NOON, { type: 'wait', until: undefined }],
    [
      'does not renew a token of a user that is not a service account',
      { token: SUPPLIED, history: { foreignDigest: 'supplied' } },
      NOON,
      { type: 'wait', until: undefined },
    ],
    [
      'waits after a failed renewal',
      { token: SUPPLIED, history: { renewNotBefore: NOON + 10_000 } },
      NOON,
      { type: 'wait', until: NOON + 10_000 },
    ],
    [
      'renews a token that was obtained before the clock was set back',
      { token: { ...OWN, issuedAt: NOON + HOUR_MS, expiresAt: NOON + 2 * HOUR_MS } },
      NOON,
      { type: 'renew' },
    ],
    [
      'deletes the anchor of a replaced token after the overlap',
      { record: RECORD },
      NOON + 60_000,
      { type: 'deleteAnchors', anchors: [ANCHOR] },
    ],
    [
      'keeps the anchor of a replaced token for one probe interval if the overlap is shorter',
      { record: RECORD, terms: { overlapMs: 0 } },
      NOON + 9_999,
      { type: 'wait', until: NOON + 10_000 },
    ],
    [
      'keeps the anchor of a replaced token for at most half of the granted lifetime',
      { record: RECORD, history: { foreignDigest: 'own' }, terms: { overlapMs: 24 * HOUR_MS } },
      NOON,
      { type: 'wait', until: NOON + HOUR_MS / 2 },
    ],
    [
      'deletes each anchor after its own overlap',
      { record: { ...RECORD, replaced: [{ ...ANCHOR, uid: 'a-3', replacedAt: NOON + 30_000 }, ANCHOR] } },
      NOON + 60_000,
      { type: 'deleteAnchors', anchors: [ANCHOR] },
    ],
    [
      'deletes the oldest anchor early if the record is full',
      { record: { ...RECORD, replaced: replacedTokens(8) } },
      NOON + 8_000,
      { type: 'deleteAnchors', anchors: [{ ...ANCHOR, uid: 'a-0' }] },
    ],
    [
      'deletes the anchors of a record that is not in use',
      { record: RECORD, isRenewed: false, token: { ...SUPPLIED, digest: 'other' } },
      NOON + 60_000,
      { type: 'deleteAnchors', anchors: [ANCHOR] },
    ],
    [
      'deletes an anchor immediately if it was replaced before the clock was set back',
      { record: { ...RECORD, replaced: [{ ...ANCHOR, replacedAt: NOON + HOUR_MS }] } },
      NOON,
      { type: 'deleteAnchors', anchors: [{ ...ANCHOR, replacedAt: NOON + HOUR_MS }] },
    ],
    [
      'deletes no anchor twice in one term',
      { record: RECORD, history: { deletedAnchors: new Set([ANCHOR.uid]) } },
      NOON + 60_000,
      { type: 'wait', until: dueAt },
    ],
    [
      'recovers with the registered token if the cluster rejects the renewed one',
      { record: RECORD, isRejected: true },
      NOON,
      { type: 'recover' },
    ],
    [
      'waits until half-life of a supplied token that the cluster rejects, because there is no other token',
      { token: SUPPLIED, isRejected: true, history: { renewedDigest: 'supplied' } },
      NOON,
      { type: 'wait', until: dueAt },
    ],
    [
      'waits after a failed recovery',
      { record: { ...RECORD, replaced: [] }, isRejected: true, history: { renewNotBefore: NOON + 10_000 } },
      NOON,
      { type: 'wait', until: NOON + 10_000 },
    ],
    ['restores a Secret that the hub has lost', { record: RECORD, isLost: true }, NOON, { type: 'restore' }],
    [
      'waits before it restores a Secret that Purser has just written',
      { isLost: true, history: { restoreNotBefore: NOON + 10_000 } },
      NOON,
      { type: 'wait', until: NOON + 10_000 },
    ],
    [
      'recovers with the registered token after the renewed one expired, before the cluster was probed',
      { record: { ...RECORD, replaced: [] } },
      NOON + HOUR_MS,
      { type: 'recover' },
    ],
    [
      'switches back to the registered token of a Manual credential',
      { record: RECORD, terms: { isAutomatic: false } },
      NOON,
      { type: 'retire' },
    ],
    ['returns to a client certificate', { record: RECORD, isRenewed: false, token: undefined }, NOON, { type: 'retire' }],
    [
      'waits after a failed switch back to the registered token',
      { record: { ...RECORD, replaced: [] }, terms: { isAutomatic: false }, history: { renewNotBefore: NOON + 10_000 } },
      NOON,
      { type: 'wait', until: NOON + 10_000 },
    ],
    [
      'keeps the record of a retired token until its anchors are deleted',
      { record: { ...RECORD, retiredAt: NOON, anchor: undefined }, isRenewed: false, terms: { isAutomatic: false } },
      NOON,
      { type: 'wait', until: NOON + 60_000 },
    ],
    [
      'removes the record of a retired token after its anchors',
      {
        record: { ...RECORD, retiredAt: NOON, anchor: undefined },
        isRenewed: false,
        terms: { isAutomatic: false },
        history: { deletedAnchors: new Set([ANCHOR.uid]) },
      },
      NOON,
      { type: 'removeRecord' },
    ],
    ['renews immediately on request', { record: { ...RECORD, replaced: [] }, renewRequest: 'now' }, NOON, { type: 'renew' }],
    [
      'renews once for each request',
      { record: { ...RECORD, replaced: [], renewRequest: 'now' }, renewRequest: 'now' },
      NOON,
      { type: 'wait', until: dueAt },
    ],
    ['renews immediately for a revocation', { record: { ...RECORD, replaced: [] }, revokeRequest: 'now' }, NOON, { type: 'renew' }],
    [
      'revokes earlier tokens after the renewal for a revocation',
      { record: { ...RECORD, revokeRequest: 'now' }, revokeRequest: 'now' },
      NOON,
      { type: 'revoke' },
    ],
    [
      'waits after a failed revocation',
      { record: { ...RECORD, revokeRequest: 'now' }, revokeRequest: 'now', history: { deleteNotBefore: NOON + 10_000 } },
      NOON,
      { type: 'wait', until: NOON + 10_000 },
    ],
    [
      'repeats no revocation that is complete',
      { record: { ...RECORD, replaced: [], revokeRequest: 'now', revoked: 'now' }, revokeRequest: 'now' },
      NOON,
      { type: 'wait', until: dueAt },
    ],
    ['restores nothing for a Manual credential', { isLost: true, terms: { isAutomatic: false } }, NOON, { type: 'wait', until: undefined }],
  ])('%s', (_, change, now, plan) => {
    expect(planCredential(observation(change), now)).toEqual(plan);
  });

  it('spreads deletions that an earlier term has probably completed over ten minutes', () => {
    const times = Array.from({ length: 100 }, (_, index) => {
      const plan = planCredential(
        observation({ uid: `u-${index}`, record: RECORD, history: { foreignDigest: 'own' }, startedAt: dueAt }),
        dueAt,
      );
      return plan.type === 'wait' ? (plan.until ?? 0) - dueAt : 0;
    });
    expect(new Set(times).size).toBeGreaterThan(90);
    expect(Math.max(...times)).toBeLessThanOrEqual(600_000);
  });

  it('does not renew a token twice within ten seconds, regardless of the granted lifetimes', () => {
    fc.assert(
      fc.property(fc.uuid(), fc.array(fc.integer({ min: 1, max: 7_200 }), { minLength: 5, maxLength: 20 }), (uid, lifetimes) => {
        let token = SUPPLIED;
        let now = NOON;
        const times: number[] = [];
        for (const seconds of lifetimes) {
          const plan = planCredential(observation({ uid, token }), now);
          if (plan.type === 'wait') now = plan.until ?? now;
          expect(planCredential(observation({ uid, token }), now)).toEqual({ type: 'renew' });
          times.push(now);
          token = { digest: `own-${now}`, isSupplied: false, issuedAt: now, expiresAt: now + seconds * 1_000 };
        }
        for (const [index, at] of times.entries()) if (index > 0) expect(at - (times[index - 1] ?? 0)).toBeGreaterThanOrEqual(10_000);
      }),
    );
  });
});

describe('computeRetryDelayMs', () => {
  it('returns a delay that grows to ten minutes, within a fifth of the remaining validity, and never shorter than ten seconds', () => {
    fc.assert(
      fc.property(fc.integer({ min: 1, max: 60 }), fc.integer({ min: -HOUR_MS, max: 720 * HOUR_MS }), (failures, remainingMs) => {
        const delayMs = computeRetryDelayMs(failures, remainingMs);
        expect(delayMs).toBeGreaterThanOrEqual(10_000);
        expect(delayMs).toBeLessThanOrEqual(600_000);
        if (remainingMs > 0) expect(delayMs).toBeLessThanOrEqual(Math.max(remainingMs / 5, 10_000));
      }),
    );
  });

  it('doubles the delay for an expired credential', () => {
    expect([1, 2, 3, 10].map((failures) => computeRetryDelayMs(failures, -1))).toEqual([10_000, 20_000, 40_000, 600_000]);
  });
});
