import { describe, expect, it } from '@jest/globals';
import type { Cluster, ClusterCondition } from '../../../src/api/cluster.gen.ts';
import type { ManagedTokenStatus } from '../../../src/api/managed-token.gen.ts';
import type { Stored } from '../../../src/api/resources.ts';
import { type Fleet, toFleetStatus } from '../../../src/cli/status/fleet.ts';
import { formatFleet } from '../../../src/cli/status/text.ts';
import { formatTimestamp } from '../../../src/std/timestamp.ts';
import { aSet } from '../../sets/set-builder.ts';
import { aCluster, aToken, at, NOON, type TokenBuilder } from '../../support/builders.ts';

const plain = (_: string, text: string) => text;
const statusOf = (tokens: Fleet['tokens'], clusters: Fleet['clusters'], now: number, sets: Fleet['sets'] = []) =>
  toFleetStatus({ tokens, clusters, sets }, now);
const text = (...args: Parameters<typeof statusOf>) => formatFleet(statusOf(...args), NOON, plain);

/** Returns a ManagedToken whose token expires at one o'clock, with these conditions: type, status and reason. */
function token(name: string, ...conditions: readonly (readonly [string, 'True' | 'False', string])[]): TokenBuilder {
  const status: ManagedTokenStatus = {
    expirationTimestamp: formatTimestamp(at('13:00:00')),
    nextRotationTime: formatTimestamp(at('12:30:00')),
    conditions: conditions.map(([type, value, reason]) => ({
      type,
      status: value,
      reason,
      message: `Message of ${reason}.`,
      lastTransitionTime: formatTimestamp(at('11:50:00')),
    })),
  };
  return aToken()
    .withMetadata({ name, creationTimestamp: formatTimestamp(at('11:00:00')) })
    .withStatus(status);
}

const healthy = (name: string) => token(name, ['Ready', 'True', 'Issued'], ['RotationFailing', 'False', 'Issued']).build();

function cluster(name: string, ...conditions: readonly (readonly [string, 'True' | 'False', string])[]): Stored<Cluster> {
  const base = aCluster();
  const times = { lastHeartbeatTime: formatTimestamp(NOON), lastTransitionTime: formatTimestamp(at('09:00:00')) };
  const all = conditions.map(
    ([type, status, reason]): ClusterCondition => ({ type, status, reason, message: `Message of ${reason}.`, ...times }),
  );
  return { ...base, metadata: { ...base.metadata, name }, status: { lastProbeTime: formatTimestamp(NOON - 60_000), conditions: all } };
}

const ready = cluster('prod-eu', ['Ready', 'True', 'ClusterReady'], ['CredentialFresh', 'True', 'CredentialValid']);

describe('toFleetStatus', () => {
  it('reports no problem in a healthy fleet, and the next rotation', () => {
    const status = statusOf([healthy('a'), healthy('b')], [ready], NOON);
    expect(status.clusters?.problems).toEqual([]);
    expect(status.managedTokens).toMatchObject({ total: 2, ready: 2, suspended: 0, problems: [], nextRotation: at('12:30:00') });
  });

  it('lists tokens that are not usable before those that cannot be renewed', () => {
    const failing = token('failing', ['Ready', 'True', 'Issued'], ['RotationFailing', 'True', 'TargetForbidden']).build();
    const denied = token('denied', ['Ready', 'False', 'Forbidden']).build();
    const { problems } = statusOf([failing, healthy('good'), denied], [ready], NOON).managedTokens;
    expect(problems.map(({ name, reason, usable }) => [name, reason, usable])).toEqual([
      ['denied', 'Forbidden', false],
      ['failing', 'TargetForbidden', true],
    ]);
  });

  it('attributes failures to a failing cluster, except those that its tenants caused', () => {
    const down = cluster('prod-eu', ['Ready', 'False', 'Timeout']);
    const failing = token('failing', ['Ready', 'True', 'Issued'], ['RotationFailing', 'True', 'ClusterTimeout']).build();
    const denied = token('denied', ['Ready', 'False', 'Forbidden']).build();
    const { clusters, managedTokens } = statusOf([failing, denied], [down], NOON);
    expect(clusters?.problems).toEqual([expect.objectContaining({ name: 'prod-eu', failingTokens: 1, firstExpiry: at('13:00:00') })]);
    expect(managedTokens.problems.map(({ name, isCausedByCluster }) => [name, isCausedByCluster])).toEqual([
      ['denied', false],
      ['failing', true],
    ]);
  });

  it('reports a ready cluster whose credential expires soon, but not a cluster whose credential Purser is about to renew', () => {
    const expiring = cluster('a', ['Ready', 'True', 'ClusterReady'], ['CredentialFresh', 'False', 'CredentialExpiring']);
    const pending = cluster('b', ['Ready', 'True', 'ClusterReady'], ['CredentialFresh', 'False', 'CredentialRenewalPending']);
    const problems = statusOf([], [expiring, pending], NOON).clusters?.problems;
    expect(problems?.map(({ name, reason }) => [name, reason])).toEqual([['a', 'CredentialExpiring']]);
  });

  it('reports an expired token that Purser has not reported', () => {
    const late = token('late', ['Ready', 'True', 'Issued']).build();
    const { problems } = statusOf([late], undefined, at('13:05:00')).managedTokens;
    expect(problems).toEqual([expect.objectContaining({ reason: 'Expired', usable: false, since: at('13:00:00') })]);
  });

  it('reports a ManagedToken without a condition after a minute', () => {
    const created = (time: string) =>
      aToken()
        .withMetadata({ creationTimestamp: formatTimestamp(at(time)) })
        .build();
    expect(statusOf([created('11:59:30')], [ready], NOON).managedTokens.problems).toEqual([]);
    expect(statusOf([created('11:58:00')], [ready], NOON).managedTokens.problems).toEqual([
      expect.objectContaining({ reason: 'Pending', usable: false }),
    ]);
  });

  it('counts suspended ManagedTokens and reports none of them', () => {
    const suspended = token('off', ['Ready', 'False', 'Suspended']).suspended().build();
    expect(statusOf([suspended], [ready], NOON).managedTokens).toMatchObject({ suspended: 1, problems: [] });
  });

  it('reports that Purser is silent if all probes are old', () => {
    expect(statusOf([], [ready], NOON).silentSince).toBeUndefined();
    expect(statusOf([], [ready], NOON + 720_000).silentSince).toBe(NOON - 60_000);
  });
});

/** Returns a ManagedTokenSet with three clusters and these conditions: type, status and reason. */
function set(name: string, failing: number, ...conditions: readonly (readonly [string, 'True' | 'False', string])[]) {
  const all = conditions.map(([type, status, reason]) => {
    return { type, status, reason, message: `Message of ${reason}.`, lastTransitionTime: formatTimestamp(at('11:55:00')) };
  });
  const base = aSet({ status: { clusters: 3, ready: 3 - failing, failing, conditions: all } });
  return { ...base, metadata: { ...base.metadata, name } };
}

const COMPLETE = ['Progressing', 'False', 'Complete'] as const;
const completeSet = set('complete', 0, ['Ready', 'True', 'AllReady'], COMPLETE);

describe('toFleetStatus with ManagedTokenSets', () => {
  it('reports failing clusters, stopped rollouts, missing requesters and failed ClusterProfiles', () => {
    const sets = [
      set('stopped', 1, ['Ready', 'False', 'NotAllReady'], ['Progressing', 'False', 'RolloutStopped']),
      set('profiles', 0, ['Ready', 'True', 'AllReady'], COMPLETE, ['ClusterProfilesPublished', 'False', 'NameConflict']),
      set('failing', 1, ['Ready', 'False', 'NotAllReady'], COMPLETE),
      set('alone', 0, ['Ready', 'False', 'RequesterNotFound'], COMPLETE),
      completeSet,
    ];
    const { total, ready: count, problems = [] } = statusOf([], [ready], NOON, sets).managedTokenSets ?? {};
    expect([total, count]).toEqual([5, 2]);
    expect(problems.map(({ name, reason, ready: tokens }) => `${name} ${reason} ${tokens}`)).toEqual([
      'alone RequesterNotFound 3',
      'failing NotAllReady 2',
      'profiles NameConflict 3',
      'stopped RolloutStopped 2',
    ]);
  });

  it('reports no problem for a set that is being rolled out', () => {
    const rolling = set(
      'rolling',
      0,
      ['Ready', 'False', 'NotAllReady'],
      ['Progressing', 'True', 'RollingOut'],
      ['ClusterProfilesPublished', 'False', 'Publishing'],
    );
    expect(statusOf([], [ready], NOON, [rolling]).managedTokenSets).toEqual({ total: 1, ready: 0, problems: [] });
  });

  it('omits ManagedTokenSets that the user may not list', () => {
    expect(toFleetStatus({ tokens: [], clusters: [ready], sets: undefined }, NOON)).not.toHaveProperty('managedTokenSets');
  });
});

describe('formatFleet', () => {
  it('prints failing ManagedTokenSets, and the number of ready ManagedTokenSets', () => {
    const failing = set('fleet', 1, ['Ready', 'False', 'NotAllReady'], COMPLETE);
    expect(
      text([], [ready], NOON, [failing, completeSet]),
    ).toBe(`ManagedTokenSet team-a/fleet: NotAllReady, failing for 5m; 2 of 3 clusters ready
  Message of NotAllReady.

Clusters: 1 of 1 ready
ManagedTokens: 0 of 0 ready
ManagedTokenSets: 1 of 2 ready
`);
  });

  it('names the permission that the user needs to list ManagedTokenSets', () => {
    const status = toFleetStatus({ tokens: [], clusters: [ready], sets: undefined }, NOON);
    expect(formatFleet(status, NOON, plain)).toContain(
      'ManagedTokenSets: not checked (needs permission to list managedtokensets.tokens.purser.dev)',
    );
  });

  it('prints causes with remedies before the summary', () => {
    const denied = token('denied', ['Ready', 'False', 'Forbidden']).build();
    const down = cluster('prod-us', ['Ready', 'False', 'Timeout']);
    expect(text([denied, healthy('good')], [ready, down], NOON)).toBe(`Cluster prod-us: Timeout, failing for 3h
  Message of Timeout.

ManagedToken team-a/denied: Forbidden, failing for 10m; no valid token
  Message of Forbidden.

Clusters: 1 of 2 ready
ManagedTokens: 1 of 2 ready, the next rotation is in 30m
`);
  });

  it('counts the ManagedTokens of a failing cluster instead of listing them', () => {
    const down = cluster('prod-eu', ['Ready', 'False', 'Timeout']);
    const failing = ['a', 'b'].map((name) =>
      token(name, ['Ready', 'True', 'Issued'], ['RotationFailing', 'True', 'ClusterTimeout']).build(),
    );
    expect(
      text(failing, [down], NOON),
    ).toBe(`Cluster prod-eu: Timeout, failing for 3h; 2 ManagedTokens affected; the first token expires in 60m
  Message of Timeout.

Clusters: 0 of 1 ready
ManagedTokens: 2 of 2 ready, the next rotation is in 30m
`);
  });

  it('prints no control characters from the objects', () => {
    const down = cluster('prod-eu', ['Ready', 'False', 'Time\u001b[2Jout\nCluster forged: ClusterReady']);
    const printed = text([], [down], NOON);
    expect(printed).toContain('  Message of Time [2Jout Cluster forged: ClusterReady.\n');
    expect(printed).not.toContain('\u001b');
    expect(printed).not.toMatch(/^Cluster forged/m);
  });

  it('names the permission to list Clusters if the user lacks it', () => {
    expect(text([], undefined, NOON)).toContain('Clusters: not checked (needs permission to list clusters.registry.purser.dev)');
  });
});
