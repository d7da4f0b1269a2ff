import { describe, expect, it } from '@jest/globals';
import type { Cluster, ClusterCondition } from '../../../src/api/cluster.gen.ts';
import type { ClusterProfile } from '../../../src/api/cluster-profile.ts';
import type { Stored } from '../../../src/api/resources.ts';
import {
  digestDesiredProfile,
  digestStoredProfile,
  toDesiredProfile,
  toProfileCleanupPatch,
  toProfilesAspect,
} from '../../../src/sets/policy/cluster-profile.ts';

const ACCESS = { secretName: 'fleet-a', server: 'https://a.test', authority: 'UEVN' };
const READY: ClusterCondition = {
  type: 'Ready',
  status: 'False',
  reason: 'Timeout',
  message: 'No response from https://10.0.0.1.',
  lastTransitionTime: '2026-01-01T00:00:00Z',
  lastHeartbeatTime: '2026-01-01T00:05:00Z',
};

function aCluster(conditions: readonly ClusterCondition[] = [READY], version: string | undefined = 'v1.36.4'): Stored<Cluster> {
  return {
    apiVersion: 'registry.purser.dev/v1alpha1',
    kind: 'Cluster',
    metadata: { name: 'a', uid: 'uid', resourceVersion: '1', creationTimestamp: '2025-01-01T00:00:00Z' },
    spec: { orchestratorApiEndpoints: { serverEndpoints: [{ clientCIDR: '0.0.0.0/0', serverAddress: 'https://a.test' }] } },
    status: { ...(version && { version }), conditions },
  };
}

function aProfile(overrides: Partial<ClusterProfile> = {}): ClusterProfile {
  const { labels, spec, status } = toDesiredProfile(aCluster(), ACCESS);
  return { metadata: { name: 'fleet-a', namespace: 'team-a', labels }, spec, status, ...overrides };
}

describe('toDesiredProfile', () => {
  it('derives health from the Ready condition, without the heartbeat and the message of the Cluster', () => {
    expect(toDesiredProfile(aCluster(), ACCESS).status.conditions).toEqual([
      {
        type: 'ControlPlaneHealthy',
        status: 'False',
        reason: 'Timeout',
        message: 'The cluster does not respond in time.',
        lastTransitionTime: '2026-01-01T00:00:00Z',
      },
    ]);
  });

  it('replaces a reason that Purser does not define', () => {
    const [condition] = toDesiredProfile(aCluster([{ ...READY, reason: 'toString' }]), ACCESS).status.conditions ?? [];
    expect(condition).toMatchObject({ reason: 'ReasonUnknown', message: '' });
  });

  it('omits health and version of a Cluster that was not probed', () => {
    const { status } = toDesiredProfile(aCluster([], ''), ACCESS);
    expect([status.conditions, status.version]).toEqual([[], undefined]);
  });

  it('omits certificates for public CAs', () => {
    const { status } = toDesiredProfile(aCluster(), { ...ACCESS, authority: undefined });
    expect(Object.keys(status.accessProviders?.[0]?.cluster ?? {})).toEqual(['server', 'extensions']);
  });
});

describe('digestStoredProfile', () => {
  const desired = digestDesiredProfile(toDesiredProfile(aCluster(), ACCESS));

  it('returns the digests of the ClusterProfile that Purser wrote', () => {
    expect(digestStoredProfile(aProfile())).toEqual(desired);
  });

  it('ignores labels, conditions, properties and access providers of other managers', () => {
    const { metadata, status = {} } = aProfile();
    const joined = { type: 'Joined', status: 'True', reason: 'Joined', message: '', lastTransitionTime: '' } as const;
    const profile = aProfile({
      metadata: { ...metadata, labels: { ...metadata.labels, other: 'x' } },
      status: {
        ...status,
        conditions: [joined, ...(status.conditions ?? [])],
        accessProviders: [{ name: 'other' }, ...(status.accessProviders ?? [])],
      },
    });
    expect(digestStoredProfile(profile)).toEqual(desired);
  });

  it('detects a changed label, name or status', () => {
    const { metadata, spec, status } = aProfile();
    expect(digestStoredProfile(aProfile({ metadata: { ...metadata, labels: {} } })).main).not.toBe(desired.main);
    expect(digestStoredProfile(aProfile({ spec: { ...spec, displayName: 'b' } })).main).not.toBe(desired.main);
    expect(digestStoredProfile(aProfile({ status: { ...status, version: { kubernetes: 'v1' } } })).status).not.toBe(desired.status);
    expect(digestStoredProfile(aProfile({ status: {} })).status).not.toBe(desired.status);
  });
});

describe('toProfileCleanupPatch', () => {
  const { status: desired } = toDesiredProfile(aCluster(), ACCESS);
  const [condition] = desired.conditions ?? [];
  const [provider] = desired.accessProviders ?? [];

  it("returns undefined for a status without fields of other managers in Purser's parts", () => {
    expect(
      toProfileCleanupPatch({ ...desired, accessProviders: [{ name: 'other' }, ...(desired.accessProviders ?? [])] }, desired),
    ).toBeUndefined();
  });

  it('removes fields that another manager added to the access provider and the condition, and keeps other entries', () => {
    const cluster = { server: '', ...provider?.cluster, 'insecure-skip-tls-verify': true, 'proxy-url': 'https://attacker.test' };
    const joined = { type: 'Joined', status: 'True', reason: 'Joined', message: '', lastTransitionTime: '' } as const;
    const status = {
      ...desired,
      conditions: [joined, ...(condition ? [{ ...condition, observedGeneration: 7 }] : [])],
      accessProviders: [{ name: 'secretreader', cluster }, { name: 'other' }],
    };
    expect(toProfileCleanupPatch(status, desired)).toEqual({
      version: { kubernetes: 'v1.36.4' },
      conditions: [joined, condition],
      accessProviders: [{ name: 'other' }, provider],
    });
  });

  it('removes version and health that Purser does not report', () => {
    const { status: unprobed } = toDesiredProfile(aCluster([], ''), ACCESS);
    expect(toProfileCleanupPatch(desired, unprobed)).toEqual({ version: null, conditions: [], accessProviders: unprobed.accessProviders });
  });
});

describe('toProfilesAspect', () => {
  it('returns True only for the reason Published', () => {
    expect(toProfilesAspect('Published').status).toBe('True');
    expect(toProfilesAspect('Forbidden', { detail: 'detail' })).toEqual({
      status: 'False',
      reason: 'Forbidden',
      message: 'The hub forbids Purser to list or write ClusterProfiles: detail.',
    });
  });
});
