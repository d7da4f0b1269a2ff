// Random actions of users, clusters and the hub cause no defect, no change to a foreign Secret and few tokens, and end in convergence.

import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import * as fc from 'fast-check';
import { systemClock } from '../../src/std/clock.ts';
import { startWireWorld, type WireWorld } from '../kube/wire-world.ts';
import { aToken } from '../support/builders.ts';
import { FakeClock } from '../support/clock.ts';
import { scaled } from '../support/scaled.ts';
import type { WireHandler, WireServer } from '../support/wire-server.ts';
import { base64 } from '../targets/registration.ts';
import { errorStatus, grant, startTarget } from '../targets/wire-target.ts';
import { type Fault, failureStatus, ScriptedHub } from './scripted-hub.ts';
import { ScriptedTarget } from './scripted-target.ts';
import { TestReconciler } from './test-reconciler.ts';

const SPACING_MS = 2_000;
const VERIFY_MS = 900_000;
const SUBJECT_UID = 'an-owner-that-is-not-ours';

let clock = new FakeClock(Date.now());
let hub = new ScriptedHub(aToken().build());
let respond: WireHandler;
let cluster = new ScriptedTarget(clock);
let hubWorld: WireWorld;
let target: WireServer;

beforeAll(async () => {
  hubWorld = await startWireWorld((request, reply) => hub.handler(request, reply), systemClock as unknown as FakeClock);
  target = await startTarget((request, reply) => respond(request, reply));
});
afterAll(async () => {
  await hubWorld.close();
  await target.close();
});

type Act = (reconciler: TestReconciler) => unknown;

const anyText = fc.oneof(
  fc.string(),
  fc.constantFrom('', '{}', 'null', 'eyJhbGciOiJub25lIn0.e30.', '2026-13-45T99:99:99Z', '9'.repeat(40)),
);
const ours = [
  'issued-at',
  'expires-at',
  'renew-at',
  'issued-for',
  'token-digest',
  'rotations',
  'template',
  'rotate-request',
  'revoke-request',
];

const passing: fc.Arbitrary<Act> = fc
  .constantFrom(0, 500, 2_100, 11_000, 16_000, 600_000, 2_900_000, 3_700_000)
  .map((ms) => () => clock.advance(ms));

const damage: fc.Arbitrary<Act> = fc
  .record({
    annotations: fc.dictionary(fc.constantFrom(...ours.map((name) => `tokens.purser.dev/${name}`)), anyText),
    data: fc.dictionary(fc.constantFrom('token', 'server', 'ca.crt', 'kubeconfig', 'junk'), anyText.map(base64)),
    immutable: fc.boolean(),
    isUnlabeled: fc.boolean(),
  })
  .map(({ annotations, data, immutable, isUnlabeled }) => () => {
    for (const secret of hub.secrets.values()) {
      if (secret.metadata.ownerReferences?.[0]?.uid === SUBJECT_UID) continue;
      const labels = isUnlabeled ? {} : (secret.metadata.labels ?? {});
      const metadata = { ...secret.metadata, labels, annotations: { ...secret.metadata.annotations, ...annotations } };
      hub.put({ ...secret, metadata, data: { ...secret.data, ...data }, ...(immutable && { immutable }) });
    }
  });

const removal: fc.Arbitrary<Act> = fc.constant(() => hub.secrets.clear());

const foreign: fc.Arbitrary<Act> = fc.boolean().map((isLabeled) => () => {
  const labels = isLabeled ? { 'tokens.purser.dev/managed-by': 'purser' } : {};
  const owner = { apiVersion: 'v1', kind: 'ConfigMap', name: 'theirs', uid: SUBJECT_UID, controller: true };
  const metadata = { namespace: 'team-a', name: 'ci', uid: 'foreign', labels, ownerReferences: [owner] };
  if (!hub.secrets.has('ci')) hub.put({ metadata, type: 'Opaque', data: { theirs: base64('x') } });
});

const wish: fc.Arbitrary<Act> = fc
  .oneof(
    fc.constantFrom(['api'], ['api', 'vault']).map((audiences) => ({ audiences })),
    fc.boolean().map((suspend) => ({ rotation: { renewBefore: '20%', suspend } })),
    anyText.map((renewBefore) => ({ rotation: { renewBefore, suspend: false } })),
    fc.constantFrom('ci', 'renamed').map((name) => ({ secret: { name, outputs: ['Token', 'Kubeconfig'] as const } })),
    fc.constantFrom(0, 599, 600, 86_400).map((expirationSeconds) => ({ expirationSeconds })),
    fc.constantFrom('prod-eu', 'gone').map((clusterName) => ({ clusterName })),
    fc.constantFrom('None' as const, 'BoundSecret' as const).map((revocation) => ({ revocation })),
  )
  .map((spec) => () => hub.change((token) => ({ ...token, spec: { ...token.spec, ...spec } })));

const request: fc.Arbitrary<Act> = fc
  .tuple(fc.constantFrom('tokens.purser.dev/rotate', 'tokens.purser.dev/revoke'), fc.string({ minLength: 1 }))
  .map(([name, value]) => () => {
    hub.change((token) => ({ ...token, metadata: { ...token.metadata, annotations: { ...token.metadata.annotations, [name]: value } } }));
  });

/** Actions of other users on the target. */
const upheaval: fc.Arbitrary<Act> = fc.constantFrom<Act>(
  () => cluster.recreateAccount(),
  () => cluster.anchors.clear(),
);

const permission: fc.Arbitrary<Act> = fc.boolean().map((isAllowed) => () => (hub.isAllowed = isAllowed));

const hubFault: fc.Arbitrary<Fault> = fc.oneof(
  fc.constantFrom(400, 401, 403, 404, 409, 410, 422, 429, 500, 503, 504).map(
    (code): Fault =>
      (_, reply) =>
        reply.json(code, failureStatus(code, code === 409 ? 'Conflict' : '')),
  ),
  fc.constant<Fault>((_, reply) => reply.reset()),
  fc.constant<Fault>((_, reply) => reply.text(200, 'not JSON')),
  fc.constantFrom(null, {}, [], 7, { metadata: null }, { metadata: {} }).map(
    (body): Fault =>
      (_, reply) =>
        reply.json(200, body),
  ),
);
const hubFaults: fc.Arbitrary<Act> = fc.array(hubFault, { maxLength: 4 }).map((faults) => () => void hub.faults.push(...faults));

const responses: fc.Arbitrary<WireHandler> = fc.oneof(
  { arbitrary: fc.constant<WireHandler>((sent, reply) => cluster.handler(sent, reply)), weight: 6 },
  fc.constantFrom(400, 401, 403, 404, 409, 422, 429, 500, 502, 503).map(
    (code): WireHandler =>
      (_, reply) =>
        reply.json(code, errorStatus(code, 'eyJhbGciOiJub25lIn0.e30.c2ln refused')),
  ),
  fc.constant<WireHandler>((_, reply) => reply.reset()),
  fc.constant<WireHandler>((_, reply) => reply.text(201, '{"status": {"token":')),
  fc.json().map(
    (text): WireHandler =>
      (_, reply) =>
        reply.text(201, text),
  ),
  fc.constantFrom({ sub: 'system:serviceaccount:kube-system:admin' }, { aud: ['other'] }, { exp: 1 }, { iat: 9_999_999_999 }).map(
    (claims): WireHandler =>
      (sent, reply) =>
        sent.path.endsWith('/token') ? grant(sent, reply, { claims, now: clock.now() }) : cluster.handler(sent, reply),
  ),
);
const targetResponses: fc.Arbitrary<Act> = responses.map((next) => () => (respond = next));

const reconcile: fc.Arbitrary<Act> = fc.constant((reconciler: TestReconciler) => reconciler.reconcile());
const news: fc.Arbitrary<Act> = fc.constant((reconciler: TestReconciler) => reconciler.sync());

const acts = fc.array(
  fc.oneof(
    { arbitrary: reconcile, weight: 10 },
    { arbitrary: news, weight: 6 },
    { arbitrary: passing, weight: 5 },
    ...[damage, removal, foreign, wish, request, permission, hubFaults, targetResponses, upheaval].map((arbitrary) => ({
      arbitrary,
      weight: 2,
    })),
  ),
  { minLength: 5, maxLength: 60 },
);

/** Removes all faults and conflicts. */
async function converge(reconciler: TestReconciler, revocation: 'None' | 'BoundSecret'): Promise<void> {
  hub.faults.length = 0;
  hub.isAllowed = true;
  respond = cluster.handler;
  for (const [name, { metadata }] of hub.secrets) if (metadata.ownerReferences?.[0]?.uid === SUBJECT_UID) hub.secrets.delete(name);
  const spec = { ...aToken().build().spec, audiences: ['api'], clusterName: 'prod-eu', revocation };
  hub.change((token) => ({ ...token, spec }));
  for (let reconciles = 0; reconciles < 40; reconciles++) {
    reconciler.sync();
    const dueAt = await reconciler.reconcile();
    reconciler.sync();
    if (isWell() && dueAt !== undefined && dueAt > clock.now() + 60_000) return;
    clock.advance(Math.max(1_000, Math.min((dueAt ?? 0) - clock.now(), 60_000)));
  }
}

function isWell(): boolean {
  const { conditions = [], observedGeneration } = hub.token.status ?? {};
  const isReady = conditions.some(({ type, status }) => type === 'Ready' && status === 'True');
  return isReady && observedGeneration === hub.token.metadata.generation && cluster.accepts(storedToken());
}

function storedToken(): string {
  return Buffer.from(hub.secrets.get('ci')?.data?.['token'] ?? '', 'base64').toString();
}

/** Returns the number of remaining anchors and of finalizers; with revocation BoundSecret, one of each. */
function anchors(): readonly unknown[] {
  return [cluster.anchors.size, hub.token.metadata.finalizers?.length ?? 0];
}

/** Deletes the ManagedToken without any fault. */
async function deleteToken(reconciler: TestReconciler): Promise<void> {
  const deletionTimestamp = new Date(clock.now()).toISOString();
  hub.change((token) => ({ ...token, metadata: { ...token.metadata, deletionTimestamp } }));
  for (let reconciles = 0; reconciles < 5; reconciles++) {
    reconciler.sync();
    await reconciler.reconcile();
    clock.advance(60_000);
  }
}

describe('reconcileToken under random faults', () => {
  it('never fails, writes no foreign Secret, issues at most one token in two seconds, converges, and deletes all anchors with the ManagedToken', async () => {
    await fc.assert(
      fc.asyncProperty(acts, fc.constantFrom('None', 'BoundSecret'), async (sequence, revocation) => {
        clock = new FakeClock(Date.now());
        hub = new ScriptedHub(
          aToken()
            .with({ audiences: ['api'] })
            .build(),
        );
        cluster = new ScriptedTarget(clock);
        respond = cluster.handler;
        const reconciler = new TestReconciler({ clock, hub, client: hubWorld.client, server: target.url, verifyIntervalMs: VERIFY_MS });
        try {
          for (const act of sequence) await act(reconciler);
          const gaps = cluster.issuedAt.slice(1).map((at, index) => at - (cluster.issuedAt[index] ?? 0));
          expect(gaps.filter((gap) => gap < SPACING_MS)).toEqual([]);
          await converge(reconciler, revocation);
          expect({ trespasses: hub.trespasses, status: hub.token.status, isWell: isWell() }).toMatchObject({
            trespasses: [],
            isWell: true,
          });
          expect(anchors()).toEqual(revocation === 'BoundSecret' ? [1, 1] : [0, 0]);
          await deleteToken(reconciler);
          expect([anchors(), cluster.accepts(storedToken())]).toEqual([[0, 0], revocation === 'None']);
        } finally {
          await reconciler.close();
        }
      }),
      { numRuns: scaled({ full: 50, quick: 5 }) },
    );
  });
});
