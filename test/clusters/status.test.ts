import { describe, expect, it } from '@jest/globals';
import type { ClusterStatus } from '../../src/api/cluster.gen.ts';
import {
  deriveEvents,
  isDifferentStatus,
  listCredentialTimes,
  resolveAPIAudiences,
  toCredentialEvidence,
} from '../../src/clusters/status.ts';
import type { RegisteredCluster, Registry } from '../../src/targets/registry.ts';
import { aCredential, registered } from '../targets/registration.ts';
import { jwt } from '../targets/wire-target.ts';

function ready(status: 'True' | 'False' | 'Unknown', reason: string): ClusterStatus {
  return { conditions: [{ type: 'Ready', status, reason, message: `${reason}.` }] };
}

describe('deriveEvents', () => {
  it.each([
    ['the cluster becomes ready', {}, ready('True', 'ClusterReady'), ['Normal ClusterReady']],
    ['the cluster fails', ready('True', 'ClusterReady'), ready('False', 'Timeout'), ['Warning Timeout']],
    ['the cluster fails for another reason', ready('False', 'Timeout'), ready('False', 'DNSFailed'), ['Warning DNSFailed']],
    ['the cluster still fails', ready('False', 'Timeout'), ready('False', 'Timeout'), []],
    ['the cluster stays ready', ready('True', 'ClusterReady'), ready('True', 'ClusterReady'), []],
  ])('returns the events when %s', (_, previous, next, expected) => {
    expect(deriveEvents(previous, next).map(({ type, reason }) => `${type} ${reason}`)).toEqual(expected);
  });
});

describe('isDifferentStatus', () => {
  const condition = {
    type: 'Ready',
    status: 'True',
    reason: 'ClusterReady',
    message: 'a',
    lastTransitionTime: '2026-03-01T12:00:00Z',
  } as const;
  const other = { type: 'Reachable', status: 'True' } as const;
  const status = { version: 'v1.36.4', conditions: [condition, other] };

  it.each([
    ['another message', { ...status, conditions: [{ ...condition, message: 'b' }, other] }, false],
    ['another heartbeat', { ...status, conditions: [{ ...condition, lastHeartbeatTime: '2026-03-01T12:00:00Z' }, other] }, false],
    ['another order', { ...status, conditions: [other, condition] }, false],
    ['another reason', { ...status, conditions: [{ ...condition, reason: 'Forged' }, other] }, true],
    ['another status', { ...status, conditions: [{ ...condition, status: 'False' as const }, other] }, true],
    ['another transition time', { ...status, conditions: [{ ...condition, lastTransitionTime: '2020-03-01T12:00:00Z' }, other] }, true],
    ['an additional condition', { ...status, conditions: [condition, other, { type: 'X', status: 'True' as const }] }, true],
    ['a missing condition', { ...status, conditions: [condition] }, true],
    ['a condition of another type', { ...status, conditions: [condition, { ...other, type: 'X' }] }, true],
    ['another probe time', { ...status, lastProbeTime: '2026-03-01T12:00:00Z' }, false],
    ['a credential expiry', { ...status, credentialExpirationTime: '2026-03-01T12:00:00Z' }, true],
    ['a credential renewal time', { ...status, credentialRenewalTime: '2026-03-01T12:00:00Z' }, true],
    ['another version', { ...status, version: 'v1.36.5' }, true],
    ['an audience', { ...status, apiAudiences: ['https://a'] }, true],
    ['an endpoint', { ...status, activeEndpoint: 'https://a' }, true],
  ])('returns whether a status with %s differs', (_, given, expected) => expect(isDifferentStatus(status, given)).toBe(expected));
});

const CLIENTS = { isHub: () => false, hubTokenTimes: () => undefined };
const HUB_TOKEN = { issuedAt: 1_000, renewAt: 2_000, expiresAt: 3_000 };

/** Returns a registry of these Clusters, all of which refer to one key. */
function registryOf(all: readonly RegisteredCluster[]): Registry {
  const registry = { allRegistered: () => all, clustersOfCredential: () => all.map(({ cluster }) => cluster) };
  return registry as unknown as Registry;
}

it('reads the validity of each credential Secret once', () => {
  let reads = 0;
  const { data = {} } = aCredential({ token: 'opaque' });
  const credential = {
    ...aCredential({}),
    get data() {
      reads += 1;
      return data;
    },
  };
  const { cluster } = registered({});
  const registry = registryOf([{ cluster, credential }]);
  const first = toCredentialEvidence({ cluster, credential }, registry, CLIENTS);
  const readsOfFirst = reads;
  expect(toCredentialEvidence({ cluster, credential }, registry, CLIENTS)).toEqual(first);
  expect(reads).toBe(readsOfFirst);
});

it('reads the service account of a credential without a stored token only for a Cluster that the Secret names', () => {
  const credential = aCredential({ serviceAccount: 'federated', cluster: 'prod-eu' });
  const evidenceOf = (name: string) => {
    const cluster = registered({ name, credential });
    return toCredentialEvidence(cluster, registryOf([cluster]), CLIENTS);
  };
  expect(evidenceOf('prod-eu')).toEqual({ type: 'federated', serviceAccount: 'purser-system/federated' });
  expect(evidenceOf('other')).toEqual({ type: 'missing' });
});

it('returns the expiry of credentials that are known to expire and that name the Cluster', () => {
  const exp = Date.parse('2026-12-01T10:00:00Z') / 1_000;
  const expiring = { token: jwt({ exp, sub: 'system:serviceaccount:purser-system:purser' }) };
  const all = [
    registered({ name: 'expiring', credential: aCredential({ ...expiring, cluster: 'expiring' }) }),
    registered({ name: 'opaque', credential: aCredential({ token: 'opaque', cluster: 'opaque' }) }),
    registered({ name: 'not-named', credential: aCredential({ ...expiring, cluster: 'other' }) }),
    registered({ name: 'missing', credential: null }),
  ];
  const times = [...listCredentialTimes(registryOf(all), CLIENTS, false)];
  expect(times).toEqual([{ cluster: 'expiring', issuedAt: undefined, expiresAt: exp * 1_000, renewAt: 0 }]);
});

it.each([
  [
    'the audiences of a service account token',
    { token: jwt({ sub: 'system:serviceaccount:a:b', aud: ['https://a', 'k3s'] }) },
    ['https://a', 'k3s'],
  ],
  ['no audience that is too long for the status', { token: jwt({ sub: 'system:serviceaccount:a:b', aud: ['x'.repeat(257), 'b'] }) }, ['b']],
  ['nothing for the token of another user', { token: jwt({ sub: 'admin', aud: ['oidc-client'] }) }, undefined],
  ['nothing for a token that is not a JWT', { token: 'opaque' }, undefined],
  ['nothing for a service account on the hub', { serviceAccount: 'federated' }, undefined],
  [
    'nothing for a Cluster that the Secret does not name',
    { cluster: 'other', token: jwt({ sub: 'system:serviceaccount:a:b', aud: 'a' }) },
    undefined,
  ],
])('returns %s as audiences of the API server', (_, data, expected) => {
  const credential = aCredential({ cluster: 'prod-eu', ...data });
  expect(resolveAPIAudiences(registered({ name: 'prod-eu', credential }), undefined)).toEqual(expected);
});

it.each([
  ['those of the review', ['b'], ['b']],
  ['those of the status before the first review', undefined, ['a']],
  ['none if the API server states none', [], undefined],
  ['none that the status cannot hold', ['x'.repeat(257)], undefined],
])('returns the audiences of a federated cluster: %s', (_, reviewed, expected) => {
  const { cluster, ...rest } = registered({
    name: 'prod-eu',
    credential: aCredential({ cluster: 'prod-eu', serviceAccount: 'federated' }),
  });
  expect(resolveAPIAudiences({ ...rest, cluster: { ...cluster, status: { apiAudiences: ['a'] } } }, reviewed)).toEqual(expected);
});

it('ignores audiences in the status of a cluster with another credential', () => {
  const { cluster, ...rest } = registered({ name: 'prod-eu', credential: aCredential({ cluster: 'prod-eu', token: 'opaque' }) });
  expect(resolveAPIAudiences({ ...rest, cluster: { ...cluster, status: { apiAudiences: ['a'] } } }, ['b'])).toBeUndefined();
});

it.each([
  ["yields the times of the hub's token that the process probes a federated cluster with", true, [HUB_TOKEN]],
  ['yields no times of tokens issued by the hub in a process that does not probe clusters', false, []],
])('%s', (_, isProbing, expected) => {
  const federated = registered({ name: 'prod-eu', credential: aCredential({ serviceAccount: 'federated', cluster: 'prod-eu' }) });
  const times = listCredentialTimes(registryOf([federated]), { ...CLIENTS, hubTokenTimes: () => HUB_TOKEN }, isProbing);
  expect([...times]).toEqual(expected.map((each) => ({ cluster: 'prod-eu', ...each })));
});
