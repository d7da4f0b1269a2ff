import { readFileSync } from 'node:fs';
import { describe, expect, it } from '@jest/globals';
import { parse } from 'yaml';
import type { Cluster } from '../../../src/api/cluster.gen.ts';
import { CLUSTER_COLUMNS, clusterWeight } from '../../../src/facade/clusters/cluster-list.ts';
import type { PrinterColumn } from '../../../src/kubernetes/custom-table.ts';
import { callerOf, HandHub, Replica, requestOf } from '../listwatch/replica.ts';

const TABLE = 'application/json;as=Table;v=v1;g=meta.k8s.io';

describe('CLUSTER_COLUMNS', () => {
  it('equals the columns of the CRD without the one for the hub alone', () => {
    const { spec } = parse(readFileSync('crds/clusters.registry.purser.dev.yaml', 'utf8')) as {
      readonly spec: { readonly versions: readonly { readonly additionalPrinterColumns: readonly PrinterColumn[] }[] };
    };
    expect(CLUSTER_COLUMNS).toEqual(spec.versions[0]?.additionalPrinterColumns.filter(({ name }) => name !== 'Endpoint'));
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
      metadata: { resourceVersion: '103' },
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

  it('ends a watch for lists, which no event can contain', async () => {
    const hub = new HandHub();
    const stream = await new Replica(hub).watch('', callerOf('admin'), TABLE.replace('Table', 'PartialObjectMetadataList'));
    expect(stream.text).toBe('');
    expect(stream.writableEnded).toBe(true);
  });
});

describe('clusterWeight', () => {
  it('includes the labels and the CA, which tenants can make large', () => {
    const labels = { filler: 'x'.repeat(50_000) };
    const spec = { orchestratorApiEndpoints: { caBundle: 'y'.repeat(50_000), serverEndpoints: [] } };
    expect(clusterWeight({ metadata: { name: 'prod', labels }, spec } as unknown as Cluster)).toBeGreaterThan(100_000);
  });
});
