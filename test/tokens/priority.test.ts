import { describe, expect, it } from '@jest/globals';
import { AnchorFinalizer, Annotation } from '../../src/api/names.ts';
import type { RegisteredCluster } from '../../src/targets/registry.ts';
import type { HubView } from '../../src/tokens/informers.ts';
import type { StoredToken } from '../../src/tokens/policy/spec.ts';
import { laneOf, priorityOf } from '../../src/tokens/priority.ts';
import { TrackedTokens } from '../../src/tokens/tracked-token.ts';
import { aToken } from '../support/builders.ts';
import { FakeClock } from '../support/clock.ts';
import { aCredential, registered } from '../targets/registration.ts';

const NOW = Date.parse('2026-03-01T12:00:00Z');
/** Key of the credential Secret of every registered cluster here. */
const LANE = 'purser-system/credential';
const [MINUTE, HOUR, YEAR] = [60_000, 3_600_000, 31_536_000_000];

interface Case {
  readonly expiresInMs?: number;
  readonly renewInMs?: number;
  readonly needsReview?: boolean;
  readonly metadata?: object;
  readonly observedGeneration?: number;
  /** Value of the last `revoke` request in the status. */
  readonly lastRevokeRequest?: string;
  readonly crowd?: number;
  /** Value of the last `revoke` and `rotate` requests in the record. */
  readonly recorded?: string;
}

/** Returns the deadline of a ManagedToken in milliseconds from now. Without `expiresInMs` it has no token. */
function deadline({
  expiresInMs,
  renewInMs = HOUR,
  needsReview = false,
  metadata = {},
  observedGeneration = 1,
  lastRevokeRequest,
  crowd = 1,
  recorded,
}: Case): number {
  const at = (ms: number) => new Date(NOW + ms).toISOString();
  const token = {
    metadata: { name: 'ci', namespace: 'team', generation: 1, ...metadata },
    spec: { clusterName: 'one', secret: { name: 'ci' } },
    status: { observedGeneration, lastRevokeRequest },
  };
  const issuedFor = {
    v: 1,
    cluster: 'one',
    clusterUID: 'u',
    credential: '',
    requester: 'default',
    subject: 's',
    audiences: [],
    accountUID: '',
    boundTo: '',
  };
  const annotations = {
    [Annotation.issuedAt]: at(-HOUR),
    [Annotation.expiresAt]: at(expiresInMs ?? 0),
    [Annotation.renewAt]: at(renewInMs),
    [Annotation.issuedFor]: JSON.stringify(issuedFor),
    ...(recorded && { [Annotation.revokeRequest]: recorded, [Annotation.rotateRequest]: recorded }),
  };
  const secret = expiresInMs === undefined ? undefined : { metadata: { annotations }, tokenDigest: 'a digest' };
  const { cluster, credential } = registered({ servers: ['https://one.example.com'] });
  const view = {
    tokens: { get: () => token },
    secrets: { get: () => secret },
    countInNamespace: () => crowd,
    registry: { registered: () => ({ cluster, credential }) },
  };
  const deps = { view, clock: new FakeClock(NOW), authorizer: { needsReview: () => needsReview }, memory: new TrackedTokens() };
  const { lane, tenant, deadlineAt } = priorityOf('team/ci', deps as unknown as Parameters<typeof priorityOf>[1]);
  expect([lane, tenant]).toEqual([needsReview ? '' : LANE, 'team']);
  return deadlineAt - NOW;
}

function laneWith(token: StoredToken, ...clusters: readonly RegisteredCluster[]): string {
  const view = { registry: { registered: (name: string) => clusters.find(({ cluster }) => cluster.metadata.name === name) } };
  return laneOf(token, view as unknown as HubView);
}

describe('laneOf', () => {
  const server = 'https://one.example.com';

  it('returns the same lane for all Clusters that share a credential Secret', () => {
    const credential = aCredential({ token: 't', server: `${server}\nhttps://two.example.com` });
    const clusters = ['a', 'b'].map((name) => registered({ name, servers: [server], credential }));
    const lanes = ['a', 'b'].map((clusterName) => laneWith(aToken().with({ clusterName }).build(), ...clusters));
    expect(lanes).toEqual([LANE, LANE]);
  });

  it('returns the shared lane for ManagedTokens that dial no server, or also another cluster than the one in their spec', () => {
    const one = registered({ name: 'one', servers: [server] });
    const bare = registered({ name: 'bare', controller: null, credential: null });
    const madeUp = Array.from({ length: 500 }, (_, index) =>
      aToken()
        .with({ clusterName: `made-up-${index}` })
        .build(),
    );
    const bound = aToken()
      .with({ clusterName: 'one', revocation: 'BoundSecret' })
      .withMetadata({ finalizers: [AnchorFinalizer] })
      .build();
    const moved = {
      ...bound,
      status: { anchors: [{ cluster: 'elsewhere', namespace: 'deploy', serviceAccount: 'deployer', clusterUID: '', credential: '' }] },
    };
    const lanes = [...madeUp, aToken().with({ clusterName: 'bare' }).build(), moved].map((token) => laneWith(token, one, bare));
    expect([new Set(lanes).size, lanes.includes(LANE)]).toEqual([1, false]);
  });
});

describe('priorityOf', () => {
  it.each<[string, Case, number]>([
    ['a permission in doubt', { expiresInMs: YEAR, needsReview: true }, 0],
    ['a requested revocation', { expiresInMs: YEAR, metadata: { annotations: { [Annotation.revoke]: 'now' } } }, 0],
    [
      'a handled request to revoke a token that cannot be revoked',
      { expiresInMs: YEAR, lastRevokeRequest: 'now', metadata: { annotations: { [Annotation.revoke]: 'now' } } },
      10 * MINUTE,
    ],
    ['a reconcile after the annotations of handled requests were removed', { expiresInMs: YEAR, recorded: 'now' }, 10 * MINUTE],
    ['a deletion', { expiresInMs: YEAR, metadata: { deletionTimestamp: '2026-03-01T11:00:00Z' } }, 0],
    ['a renewal shortly before the expiry', { expiresInMs: 5_000, renewInMs: -MINUTE }, 5_000],
    ['a token that has expired', { expiresInMs: -5_000, renewInMs: -MINUTE }, -5_000],
    ['a renewal of a long-lived token', { expiresInMs: YEAR, renewInMs: -1 }, MINUTE],
    ['a new spec', { expiresInMs: YEAR, observedGeneration: 0 }, MINUTE],
    ['a requested rotation', { expiresInMs: YEAR, metadata: { annotations: { [Annotation.rotate]: 'now' } } }, MINUTE],
    ['a first token', {}, MINUTE],
    ['a first token of a crowded namespace', { crowd: 1_000 }, 10 * MINUTE],
    ['a reconcile without a known cause', { expiresInMs: YEAR }, 10 * MINUTE],
    // The reconcile may wait until the renewal is due, and becomes the renewal then.
    ['a reconcile without a known cause shortly before a renewal', { expiresInMs: YEAR, renewInMs: 2 * MINUTE }, 3 * MINUTE],
    ['a reconcile without a known cause shortly before the expiry', { expiresInMs: 2 * MINUTE, renewInMs: 1.5 * MINUTE }, 2 * MINUTE],
  ])('returns the deadline of %s', (_, given, expected) => {
    expect(deadline(given)).toBe(expected);
  });
});
