import { describe, expect, it } from '@jest/globals';
import * as fc from 'fast-check';
import { AnchorFinalizer, Annotation } from '../../../src/api/names.ts';
import { computeDigest } from '../../../src/std/digest.ts';
import { planToken, type TokenPlan } from '../../../src/tokens/policy/plan.ts';
import { requestOf } from '../../../src/tokens/policy/record.ts';
import { type StoredSecret, toDataDigest, withoutToken } from '../../../src/tokens/policy/secret.ts';
import { evaluateToken, type TokenObservation } from '../../../src/tokens/policy/state.ts';
import { desiredStatus } from '../../../src/tokens/policy/status.ts';
import {
  ACCOUNT_UID,
  aCluster,
  afterWrite,
  aGrant,
  aScene,
  aToken,
  NOON,
  SceneBuilder,
  SECRET_IDENTITY,
  secretOf,
  stored,
  type TokenBuilder,
  writtenSecret,
} from '../../support/builders.ts';
import { scaled } from '../../support/scaled.ts';

const DAY_MS = 86_400_000;

const instants = fc.oneof(
  fc.integer({ min: 0, max: 4e12 }).map((ms) => new Date(ms).toISOString()),
  fc.integer({ min: NOON - DAY_MS, max: NOON + DAY_MS }).map((ms) => `${new Date(ms).toISOString().slice(0, 19)}Z`),
  fc.constantFrom('', 'NaN', '9999-12-31T23:59:59Z', '+275760-09-13T00:00:00Z', '0000-00-00T00:00:00Z', '2026-02-30T25:61:61Z'),
);
const texts = fc.oneof(
  instants,
  fc.string({ unit: 'binary', maxLength: 40 }),
  fc.constantFrom('{}', '[]', 'null', '{"labels":{"a":1}}', '[[[]]]', '9007199254740993', '-1', '1e999', '__proto__'),
);
const numbers = rarely(fc.constantFrom(0, -1, Number.NaN, Infinity, -Infinity, 2 ** 53, 8.64e15, NOON + DAY_MS, undefined), NOON);
const clocks = fc.oneof(
  fc.integer({ min: 0, max: 4e12 }),
  fc.integer({ min: NOON - DAY_MS, max: NOON + DAY_MS }),
  fc.integer({ min: NOON, max: NOON + 3_600_000 }),
);

/** Returns the usual value most of the time. */
function rarely<T, U>(unusual: fc.Arbitrary<T>, usual: U): fc.Arbitrary<T | U> {
  return fc.oneof({ arbitrary: fc.constant(usual), weight: 4 }, { arbitrary: unusual, weight: 1 });
}

const recordKeys = Object.values(Annotation);
const healthy = stored(writtenSecret({ token: aToken().build(), cluster: aCluster(), secret: undefined }, aGrant()));

/** The annotations of a real record, some of them lost or replaced by anything. */
const annotations = fc
  .record({ lost: rarely(fc.subarray(recordKeys), []), changed: rarely(fc.dictionary(fc.constantFrom(...recordKeys, 'note'), texts), {}) })
  .map(({ lost, changed }) => ({
    ...Object.fromEntries(Object.entries(healthy.metadata.annotations ?? {}).filter(([key]) => !lost.some((each) => each === key))),
    ...changed,
  }));

const claims = fc.record({
  issuedAt: numbers,
  notBefore: numbers,
  expiresAt: numbers,
  subject: rarely(texts, 'system:serviceaccount:deploy:deployer'),
  audiences: rarely(fc.array(texts, { maxLength: 3 }), ['https://kubernetes.default.svc']),
  accountUID: rarely(texts, ACCOUNT_UID),
});

const secrets: fc.Arbitrary<StoredSecret> = fc
  .record({
    annotations,
    ownerReferences: rarely(fc.constant([]), healthy.metadata.ownerReferences ?? []),
    type: rarely(fc.constant('kubernetes.io/tls'), 'Opaque'),
    immutable: rarely(fc.constant(true), false),
    tokenDigest: rarely(fc.constantFrom(undefined, computeDigest('another')), healthy.tokenDigest),
    dataDigest: rarely(fc.constant(computeDigest('another')), healthy.dataDigest),
    claims: rarely(fc.option(claims, { nil: undefined }), healthy.claims),
  })
  .map(({ annotations: changed, ownerReferences, tokenDigest, claims: claimed, ...rest }) => ({
    ...rest,
    metadata: { ...healthy.metadata, annotations: changed, ownerReferences },
    ...(tokenDigest !== undefined && { tokenDigest }),
    ...(claimed !== undefined && { claims: claimed as NonNullable<StoredSecret['claims']> }),
  }));

/** ManagedTokens that are neither deleted nor suspended. */
const liveTokens: fc.Arbitrary<TokenBuilder> = fc
  .record({
    renewBefore: fc.oneof(fc.constantFrom('20%', '1%', '90%', '15m', '9999h', '0s', '-5m', ''), texts),
    revocation: rarely(fc.constant('BoundSecret' as const), 'None' as const),
    requests: fc.dictionary(fc.constantFrom(Annotation.rotate, Annotation.revoke), texts),
    finalizers: rarely(fc.subarray([AnchorFinalizer, 'example.com/other']), []),
    issuedAt: texts,
  })
  .map(({ renewBefore, revocation, requests, finalizers, issuedAt }) =>
    aToken()
      .with({ rotation: { renewBefore, suspend: false }, revocation })
      .withMetadata({ annotations: requests, finalizers })
      .withStatus({ issuedAt }),
  );

const tokens: fc.Arbitrary<TokenBuilder> = fc
  .record({
    token: liveTokens,
    suspend: rarely(fc.constant(true), false),
    expirationSeconds: rarely(fc.constantFrom(600, 3607, 2 ** 32, -1, 599, Number.NaN), 3600),
    deletionTimestamp: rarely(texts, undefined),
  })
  .map(({ token, suspend, expirationSeconds, deletionTimestamp }) =>
    (suspend ? token.suspended() : token)
      .with({ expirationSeconds })
      .withMetadata(deletionTimestamp === undefined ? {} : { deletionTimestamp }),
  );

const observations: fc.Arbitrary<TokenObservation> = fc
  .record({
    token: tokens,
    secret: fc.option(secrets, { nil: undefined }),
    former: rarely(fc.array(secrets, { maxLength: 2 }), []),
    cluster: rarely(fc.constantFrom(undefined, aCluster('another')), aCluster()),
    verdict: fc.option(fc.record({ tokenDigest: fc.constant(healthy.tokenDigest ?? ''), accepted: fc.boolean() }), { nil: undefined }),
    verifyAt: fc.option(clocks, { nil: undefined }),
    lastIssuedAt: rarely(clocks, undefined),
  })
  .map(({ token, verdict, verifyAt, lastIssuedAt, ...observed }) =>
    aScene(token)
      .with({
        ...observed,
        ...(verdict && { verdict }),
        ...(verifyAt !== undefined && { verifyAt }),
        ...(lastIssuedAt !== undefined && { lastIssuedAt }),
      })
      .build(),
  );

function planFor(observation: TokenObservation, now: number): TokenPlan {
  return planToken(evaluateToken(observation, now));
}

describe('planToken for any observation', () => {
  it('returns equal plans for equal observations, with the next reconcile within a day', () => {
    fc.assert(
      fc.property(observations, clocks, (observation, now) => {
        const plan = planFor(observation, now);
        expect(planFor(structuredClone(observation), now)).toEqual(plan);
        if (!('until' in plan) || plan.until === undefined) return;
        expect(plan.until).toBeGreaterThan(now);
        expect(plan.until).toBeLessThanOrEqual(now + DAY_MS);
      }),
      { numRuns: scaled({ full: 1000, quick: 100 }) },
    );
  });

  it('writes and removes no foreign Secret', () => {
    fc.assert(
      fc.property(observations, clocks, (observation, now) => {
        fc.pre(observation.secret?.metadata.ownerReferences?.length === 0 && observation.token.metadata.deletionTimestamp === undefined);
        const plan = planFor({ ...observation, former: [] }, now);
        const untouched =
          plan.type === 'revoke' ? { secrets: [] } : { type: 'hold', mustStrip: false, failure: { reason: 'SecretConflict' } };
        expect(plan).toMatchObject(untouched);
      }),
    );
  });

  it('waits right after a token was issued', () => {
    fc.assert(
      fc.property(observations, clocks, fc.integer({ min: 600, max: 2 ** 32 }), (observation, now, seconds) => {
        const plan = planFor(observation, now);
        fc.pre(plan.type === 'issue');
        const next = {
          ...afterIssuance(
            observation,
            plan,
            aGrant()
              .sentAt(now)
              .expiringIn(seconds * 1000),
          ),
          former: [],
        };
        expect(planFor(withoutFinalizers(next), now).type).toBe('wait');
      }),
      { numRuns: scaled({ full: 500, quick: 50 }) },
    );
  });

  it('leads to a status that is computed without an error, and does not change when computed again', () => {
    fc.assert(
      fc.property(observations, clocks, (observation, now) => {
        const status = desiredStatus(evaluateToken(observation, now), {});
        expect(desiredStatus(evaluateToken({ ...observation, token: { ...observation.token, status } }, now), {})).toBe(status);
      }),
    );
  });

  it('issues and rewrites a limited number of times, even after faults', () => {
    const faults = fc.array(
      fc.record({
        afterShare: fc.double({ min: 0, max: 2, noNaN: true }),
        jumpMs: fc.constantFrom(0, 0, 3_600_000, -3_600_000, 60_000, -60_000),
        annotations,
      }),
      { maxLength: 5 },
    );
    fc.assert(
      fc.property(liveTokens, faults, fc.integer({ min: 600, max: 86_400 }), (token, changes, seconds) => {
        const lifetimeMs = seconds * 1000;
        const life = new Life(token, lifetimeMs);
        life.run(5 * lifetimeMs);
        // With renewBefore 90% there are ten issuances per lifetime.
        expect(life.issuances).toBeLessThanOrEqual(1 + 50);
        for (const { afterShare, jumpMs, annotations: damaged } of changes) {
          life.run(afterShare * lifetimeMs);
          life.disturb(jumpMs, damaged);
        }
        life.run(5 * lifetimeMs);
        expect(life.reconciles).toBeLessThanOrEqual(30 + 3 * life.issuances);
      }),
      { numRuns: scaled({ full: 50, quick: 5 }) },
    );
  });
});

function withoutFinalizers(observation: TokenObservation): TokenObservation {
  const { finalizers: _, ...metadata } = observation.token.metadata;
  return { ...observation, token: { ...observation.token, metadata } };
}

/** Returns the observation after the plan was executed. */
function afterIssuance(
  observation: TokenObservation,
  plan: TokenPlan & { type: 'issue' },
  grant: ReturnType<typeof aGrant>,
): TokenObservation {
  const bound = { secret: { uid: 'anchor' } };
  const account = { serviceaccount: { uid: 'account' }, ...(observation.token.spec.revocation === 'BoundSecret' && bound) };
  const existing = plan.write === 'update' ? observation : { ...observation, secret: undefined };
  const { verifyAt: _, ...rest } = observation;
  const revoked = plan.needsNewAnchor ? requestOf(observation.token, Annotation.revoke) : undefined;
  const secret = stored(writtenSecret(existing, grant.claiming({ 'kubernetes.io': account })));
  return { ...rest, ...(revoked && { revoked }), ...afterWrite(observation, secret) };
}

/** A ManagedToken with a target that grants everything, in simulated time. */
class Life {
  issuances = 0;
  reconciles = 0;
  #now = NOON;
  #observation: TokenObservation;
  readonly #lifetimeMs: number;

  constructor(token: TokenBuilder, lifetimeMs: number) {
    this.#observation = new SceneBuilder(token.with({ expirationSeconds: 3600 }), {}).build();
    this.#lifetimeMs = lifetimeMs;
  }

  run(ms: number): void {
    const end = this.#now + ms;
    while (this.#now < end && this.reconciles < 1_000) {
      this.reconciles++;
      const plan = planFor(this.#observation, this.#now);
      if (!this.#act(plan)) {
        this.#now = Math.min(end, 'until' in plan ? (plan.until ?? end) : end);
      }
    }
  }

  disturb(jumpMs: number, damaged: Readonly<Record<string, string>>): void {
    this.#now += jumpMs;
    const { secret } = this.#observation;
    if (secret === undefined) return;
    const annotated = { ...secret.metadata, annotations: { ...secret.metadata.annotations, ...damaged } };
    this.#observation = { ...this.#observation, secret: { ...secret, metadata: annotated } };
  }

  /** Executes a plan; returns true if it did. */
  #act(plan: TokenPlan): boolean {
    const observation = this.#observation;
    const { secret } = observation;
    if (plan.type === 'issue') {
      const grant = aGrant().sentAt(this.#now).expiringIn(this.#lifetimeMs);
      this.issuances++;
      this.#observation = afterIssuance(observation, plan, grant);
      return true;
    }
    if (plan.type === 'rewrite' && secret !== undefined) {
      const { metadata, data = {} } = secretOf(observation, plan.record, '');
      const written: StoredSecret = {
        ...secret,
        metadata: { ...SECRET_IDENTITY, ...metadata },
        dataDigest: toDataDigest(data),
        type: 'Opaque',
        immutable: false,
      };
      this.#observation = { ...observation, ...afterWrite(observation, written) };
      return true;
    }
    if (plan.type === 'revoke') {
      const status = { ...observation.token.status, lastRevokeRequest: plan.request };
      this.#observation = { ...observation, secret: undefined, token: { ...observation.token, status } };
      return true;
    }
    if (plan.type === 'release') {
      this.#observation = withoutFinalizers(observation);
      return true;
    }
    if (plan.type === 'hold' && plan.mustStrip && secret !== undefined) {
      const { tokenDigest: _, claims: __, ...rest } = secret;
      this.#observation = {
        ...observation,
        secret: { ...rest, metadata: { ...SECRET_IDENTITY, ...withoutToken({ metadata: secret.metadata }).metadata } },
      };
      return true;
    }
    return false;
  }
}
