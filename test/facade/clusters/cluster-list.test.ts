import { describe, expect, it } from '@jest/globals';
import * as fc from 'fast-check';
import type { Cluster } from '../../../src/api/cluster.gen.ts';
import { ClusterColumns } from '../../../src/api/cluster-schema.gen.ts';
import { ClusterReason } from '../../../src/api/reasons.ts';
import { clusterConditions } from '../../../src/clusters/policy/conditions.ts';
import { CLUSTER_COLUMNS, CLUSTER_LIST } from '../../../src/facade/clusters/cluster-list.ts';
import { callerOf, HandHub, Replica, requestOf } from '../listwatch/replica.ts';

const TABLE = 'application/json;as=Table;v=v1;g=meta.k8s.io';

describe('CLUSTER_COLUMNS', () => {
  it('has no column for a field that only the hub shows', () => {
    expect(ClusterColumns.filter((column) => !CLUSTER_COLUMNS.includes(column)).map(({ name }) => name)).toEqual([
      'Endpoint',
      'Last Probe',
    ]);
  });

  it.each([...clusterConditions])('has a column for the condition %s, with its meaning', (type, { meaning }) => {
    expect(CLUSTER_COLUMNS).toContainEqual(
      expect.objectContaining({
        description: `Status of the ${type} condition: ${meaning}.`,
        jsonPath: `.status.conditions[?(@.type=="${type}")].status`,
      }),
    );
  });

  it('returns a row for each cluster, and the columns of a watch once', async () => {
    const hub = new HandHub();
    hub.grant('admin', 'all', { kind: 'User', name: 'admin' });
    hub.putCluster('a');
    const replica = new Replica(hub);
    const admin = callerOf('admin');
    const request = requestOf('', admin);
    const reply = await replica.endpoints.list({ ...request, preferences: { ...request.preferences, accept: TABLE } });
    expect(JSON.parse((reply as { readonly body: string }).body)).toMatchObject({
      kind: 'Table',
      metadata: { resourceVersion: '10300000001' },
      rows: [{ cells: ['a', null, null, null, null, null, null, null, null, null], object: { kind: 'PartialObjectMetadata' } }],
    });
    const stream = await replica.watch('', admin, TABLE);
    hub.putCluster('b');
    await replica.catchUp();
    const tables = stream
      .take()
      .map(({ object }) => object as unknown as { readonly columnDefinitions: unknown; readonly rows: readonly unknown[] });
    expect(tables.map(({ columnDefinitions, rows }) => [Array.isArray(columnDefinitions), rows.length])).toEqual([
      [true, 1],
      [false, 1],
    ]);
  });

  it('ends a watch whose Accept header requests a list, which no event can contain', async () => {
    const hub = new HandHub();
    const stream = await new Replica(hub).watch('', callerOf('admin'), TABLE.replace('Table', 'PartialObjectMetadataList'));
    expect(stream.text).toBe('');
    expect(stream.writableEnded).toBe(true);
  });
});

describe('CLUSTER_LIST.weightOf', () => {
  it('includes the labels and the CA, which tenants can make large', () => {
    const labels = { filler: 'x'.repeat(50_000) };
    const spec = { orchestratorApiEndpoints: { caBundle: 'y'.repeat(50_000), serverEndpoints: [] } };
    expect(CLUSTER_LIST.weightOf({ metadata: { name: 'prod', labels }, spec } as unknown as Cluster)).toBeGreaterThan(100_000);
  });
});

/** Returns the public form of stored conditions. */
function publish(conditions: readonly unknown[]): unknown {
  const cluster = { metadata: { name: 'prod' }, spec: {}, status: { conditions } } as unknown as Cluster;
  return (CLUSTER_LIST.toPublic(cluster)['status'] as { readonly conditions: unknown }).conditions;
}

describe('CLUSTER_LIST.toPublic for the audiences of the API server', () => {
  const publicStatus = (apiAudiences: unknown) =>
    CLUSTER_LIST.toPublic({ metadata: { name: 'prod' }, spec: {}, status: { apiAudiences } } as unknown as Cluster)['status'];

  it('returns a list of strings', () => {
    expect(publicStatus(['https://kubernetes.default.svc'])).toEqual({ apiAudiences: ['https://kubernetes.default.svc'] });
  });

  it('omits audiences that are not a list of strings', () => {
    expect([publicStatus('text'), publicStatus([{ token: 'x' }])]).toEqual([{}, {}]);
  });
});

const TIMES = { lastHeartbeatTime: '2026-03-01T12:00:00Z', lastTransitionTime: '2026-03-01T11:00:00Z' };

describe('CLUSTER_LIST.toPublic for conditions', () => {
  it('replaces the stored message with the sentence of the reason', () => {
    const message = 'The credential is missing: there is no Secret purser-system/prod.';
    expect(publish([{ type: 'Authorized', status: 'False', reason: 'CredentialMissing', message, ...TIMES }])).toEqual([
      {
        type: 'Authorized',
        status: 'False',
        reason: 'CredentialMissing',
        message: `${ClusterReason.CredentialMissing}.`,
        ...TIMES,
      },
    ]);
  });

  it('publishes a reason that Purser does not use as Unknown', () => {
    const generic = {
      reason: 'Unknown',
      message: 'This version of Purser does not recognize the stored reason. Check the condition of the Cluster on the hub.',
    };
    for (const reason of ['Leaked', 'toString', '', undefined, 7]) {
      expect(publish([{ type: 'Ready', status: 'True', reason, message: 'x' }])).toEqual([{ type: 'Ready', status: 'True', ...generic }]);
    }
  });

  it('omits conditions of unknown type or status, and times that are not timestamps', () => {
    expect(
      publish([
        { type: 'Other', status: 'True', reason: 'ClusterReady' },
        { type: 'Ready', status: 'Maybe', reason: 'ClusterReady' },
        'text',
        { type: 'Reachable', status: 'True', reason: 'Responding', lastHeartbeatTime: 'soon', lastTransitionTime: {} },
      ]),
    ).toEqual([{ type: 'Reachable', status: 'True', reason: 'Responding', message: expect.any(String) }]);
  });

  it('publishes a condition that does not depend on the stored message', () => {
    const condition = fc.record({
      type: fc.constantFrom('Ready', 'Reachable', 'Authorized', 'CredentialFresh'),
      status: fc.constantFrom('True', 'False', 'Unknown'),
      reason: fc.oneof(fc.constantFrom(...Object.keys(ClusterReason)), fc.string()),
    });
    fc.assert(
      fc.property(condition, fc.string(), fc.anything(), (stored, one, other) => {
        expect(publish([{ ...stored, message: one }])).toEqual(publish([{ ...stored, message: other }]));
      }),
    );
  });
});
