import { describe, expect, it } from '@jest/globals';
import * as fc from 'fast-check';
import type { Cluster } from '../../src/api/cluster.gen.ts';
import type { ManagedToken } from '../../src/api/managed-token.gen.ts';
import type { ManagedTokenSet } from '../../src/api/managed-token-set.gen.ts';
import type { Stored } from '../../src/api/resources.ts';
import { Metrics } from '../../src/telemetry/metrics.ts';
import { aCluster, aToken } from '../support/builders.ts';
import { labelsKey, type Metric, parseExposition } from '../support/exposition.ts';
import { stored } from '../support/stored.ts';

interface Initial {
  readonly tokens?: readonly ManagedToken[];
  readonly sets?: readonly ManagedTokenSet[];
  readonly clusters?: readonly Cluster[];
}

class Objects<T extends { readonly metadata: { readonly name?: string } }> {
  objects: readonly T[];
  constructor(objects: readonly T[]) {
    this.objects = objects;
  }
  list(): readonly Stored<T>[] {
    return this.objects.map(stored);
  }
  has(wanted: string): boolean {
    return this.objects.some(({ metadata }) => metadata.name === wanted);
  }
}

function world({ tokens = [], sets = [], clusters = [] }: Initial = {}) {
  const stores = { tokens: new Objects(tokens), sets: new Objects(sets), clusters: new Objects(clusters) };
  return { ...stores, metrics: new Metrics({ build: { version: '1.2.3', node: 'v24' }, ...stores }) };
}

async function textOf(metrics: Metrics): Promise<string> {
  return (await Array.fromAsync(metrics.text())).join('');
}

async function scrape(metrics: Metrics): Promise<ReadonlyMap<string, Metric>> {
  return parseExposition(await textOf(metrics));
}

function valueOf(scraped: ReadonlyMap<string, Metric>, name: string, labels: Record<string, string>): number | undefined {
  return scraped.get(name)?.samples.get(labelsKey(labels));
}

const READY = { type: 'Ready', status: 'True', lastTransitionTime: '2026-03-01T12:00:00Z', reason: 'Issued', message: '' } as const;

function issuedToken(name: string, namespace = 'team-a'): ManagedToken {
  return aToken()
    .withMetadata({ name, namespace })
    .withStatus({
      conditions: [READY],
      expirationTimestamp: '2026-03-01T13:00:00Z',
      nextRotationTime: '2026-03-01T12:45:00Z',
    })
    .build();
}

function set(name: string, status?: ManagedTokenSet['status']): ManagedTokenSet {
  return {
    apiVersion: 'tokens.purser.dev/v1alpha1',
    kind: 'ManagedTokenSet',
    metadata: { namespace: 'team-a', name },
    spec: {} as ManagedTokenSet['spec'],
    ...(status && { status }),
  };
}

describe('Metrics', () => {
  it('exports the names, types and labels that rules and dashboards use', async () => {
    const publishing = { ...set('fleet'), spec: { clusterProfiles: true } as ManagedTokenSet['spec'] };
    const { metrics } = world({ tokens: [issuedToken('ci')], sets: [publishing], clusters: [probedCluster('prod-eu', 'True')] });
    metrics.recordRun({ controller: 'managed-token', outcome: 'reconciled', latenessMs: 5 });
    metrics.observeQueue('managed-token', () => 3);
    metrics.recordIssuance({ cluster: 'prod-eu', result: 'success', reason: 'RotationDue', durationMs: 20, latenessMs: 500 });
    metrics.recordProbe(10);
    metrics.recordOrphan({ cluster: 'prod-eu', namespace: 'deploy', name: 'purser-x' });
    metrics.recordRequest({ route: '/auth/v1/clusters', code: 200, durationMs: 1 });
    metrics.recordHeldRemoval('global');
    metrics.observeBudgets('managed-token', () => [['team-a', 'reviews']]);
    metrics.observeProfiles(() => [{ namespace: 'team-a', name: 'fleet', published: 1, rejected: 0, conflicting: 0 }]);
    metrics.observeCredentials(() => [{ cluster: 'prod-eu', issuedAt: 0, expiresAt: 0, renewAt: 0 }]);

    const scraped = await scrape(metrics);
    const ours = [...scraped].filter(([name]) => name.startsWith('purser_'));
    const shapes = ours.map(([name, { type, samples }]) => `${type} ${name}{${labelNames([...samples.keys()][0] ?? '[]')}}`);

    expect(shapes.toSorted()).toEqual(
      [
        'gauge purser_build_info{node,version}',
        'gauge purser_cluster_condition{status,target_cluster,type}',
        'gauge purser_cluster_credential_expiration_timestamp_seconds{target_cluster}',
        'gauge purser_cluster_credential_lifetime_seconds{target_cluster}',
        'gauge purser_cluster_credential_renewal_timestamp_seconds{target_cluster}',
        'gauge purser_cluster_heartbeat_timestamp_seconds{target_cluster}',
        'gauge purser_clusterprofiles{name,namespace,state}',
        'gauge purser_leader{}',
        'gauge purser_managedtokenset_clusters{name,namespace,state}',
        'gauge purser_managedtokenset_profiles{name,namespace,reason}',
        'gauge purser_managedtokensets{name,namespace,reason}',
        'gauge purser_namespace_over_budget{budget,namespace}',
        'gauge purser_removal_paused{}',
        'gauge purser_token_expiration_timestamp_seconds{name,namespace,target_cluster}',
        'gauge purser_token_ready{name,namespace,target_cluster}',
        'gauge purser_token_renewal_timestamp_seconds{name,namespace,target_cluster}',
        'gauge purser_token_verification_interval_seconds{}',
        'gauge purser_watchers{}',
        'gauge purser_workqueue_depth{controller}',
        'counter purser_http_requests_total{code,route}',
        'counter purser_orphaned_anchors_total{name,namespace,target_cluster}',
        'counter purser_reconcile_total{controller,outcome}',
        'counter purser_token_issuances_total{reason,result,target_cluster}',
        'counter purser_held_removals_total{limit}',
        'histogram purser_cluster_probe_duration_seconds{le}',
        'histogram purser_http_request_duration_seconds{le,route}',
        'histogram purser_token_issue_duration_seconds{le}',
        'histogram purser_token_renewal_lateness_seconds{le}',
        'histogram purser_workqueue_lateness_seconds{controller,le}',
      ].toSorted(),
    );
    expect([...scraped.keys()]).toEqual(expect.arrayContaining(['process_cpu_seconds_total', 'process_resident_memory_bytes']));
  });

  it('exports expiry, renewal and readiness of a token', async () => {
    const { metrics } = world({
      tokens: [issuedToken('ci'), aToken().withMetadata({ name: 'new' }).build()],
      clusters: [cluster('prod-eu')],
    });
    const scraped = await scrape(metrics);
    const ci = { namespace: 'team-a', name: 'ci', target_cluster: 'prod-eu' };

    expect(valueOf(scraped, 'purser_token_expiration_timestamp_seconds', ci)).toBe(Date.parse('2026-03-01T13:00:00Z') / 1_000);
    expect(valueOf(scraped, 'purser_token_renewal_timestamp_seconds', ci)).toBe(Date.parse('2026-03-01T12:45:00Z') / 1_000);
    expect(valueOf(scraped, 'purser_token_ready', ci)).toBe(1);
    expect(valueOf(scraped, 'purser_token_ready', { ...ci, name: 'new' })).toBe(0);
    expect(valueOf(scraped, 'purser_token_expiration_timestamp_seconds', { ...ci, name: 'new' })).toBeUndefined();
  });

  it('exports the clusters of ManagedTokenSets by state, and replaces an unknown or missing reason with Unknown', async () => {
    const conditions = (reason: string) => [{ type: 'Progressing', status: 'False', reason, message: '', lastTransitionTime: '' } as const];
    const counts = { clusters: 5, ready: 3, updated: 2, failing: 1 };
    const sets = [
      set('a', { ...counts, conditions: conditions('RolloutStopped') }),
      set('b', { conditions: conditions('Invented') }),
      set('c'),
    ];
    const scraped = await scrape(world({ sets }).metrics);
    const labels = { namespace: 'team-a', name: 'a' };
    const states = ['selected', 'ready', 'updated', 'failing'];
    expect(states.map((state) => valueOf(scraped, 'purser_managedtokenset_clusters', { ...labels, state }))).toEqual([5, 3, 2, 1]);
    expect(valueOf(scraped, 'purser_managedtokensets', { ...labels, reason: 'RolloutStopped' })).toBe(1);
    expect(valueOf(scraped, 'purser_managedtokensets', { namespace: 'team-a', name: 'b', reason: 'Unknown' })).toBe(1);
    expect(valueOf(scraped, 'purser_managedtokensets', { namespace: 'team-a', name: 'c', reason: 'Unknown' })).toBe(1);
  });

  it('exports the current objects of the stores', async () => {
    const expiries = fc.dictionary(
      fc.constantFrom('a', 'b', 'c"\\\n'),
      fc.constantFrom('2026-03-01T13:00:00Z', '2026-03-02T00:00:00Z', 'nonsense'),
    );
    await fc.assert(
      fc.asyncProperty(fc.array(expiries, { minLength: 1, maxLength: 4 }), async (states) => {
        const { metrics, tokens } = world({ clusters: [cluster('prod-eu')] });
        for (const state of states) {
          tokens.objects = Object.entries(state).map(([name, expirationTimestamp]) =>
            aToken()
              .withMetadata({ name })
              .withStatus({ conditions: [READY], expirationTimestamp })
              .build(),
          );
          const scraped = await scrape(metrics);
          const labels = (name: string) => labelsKey({ namespace: 'team-a', name, target_cluster: 'prod-eu' });
          const expected = Object.entries(state).map(([name, text]) => [labels(name), Date.parse(text) / 1_000] as const);

          expect([...(scraped.get('purser_token_ready')?.samples ?? [])]).toEqual(expected.map(([key]) => [key, 1]));
          expect([...(scraped.get('purser_token_expiration_timestamp_seconds')?.samples ?? [])]).toEqual(
            expected.filter(([, seconds]) => !Number.isNaN(seconds)),
          );
        }
      }),
      { numRuns: 30 },
    );
  });

  it("exports every status of Purser's conditions, with Unknown for missing conditions", async () => {
    const { spec, ...listed } = cluster('only-listed');
    const onlyListed = { ...listed, spec: { ...spec, authInfo: {} } };
    const { metrics } = world({ clusters: [probedCluster('prod-eu', 'True'), cluster('new'), onlyListed] });
    const scraped = await scrape(metrics);
    const known = new Map([['prod-eu/Ready', 'True']]);
    const expected = ['prod-eu', 'new'].flatMap((name) =>
      ['Ready', 'Reachable', 'Authorized', 'CredentialFresh'].flatMap((type) =>
        ['True', 'False', 'Unknown'].map((status) => [
          labelsKey({ target_cluster: name, type, status }),
          status === (known.get(`${name}/${type}`) ?? 'Unknown') ? 1 : 0,
        ]),
      ),
    );

    expect([...(scraped.get('purser_cluster_condition')?.samples ?? [])]).toEqual(expected);
    expect(valueOf(scraped, 'purser_cluster_heartbeat_timestamp_seconds', { target_cluster: 'prod-eu' })).toBe(
      Date.parse('2026-03-01T12:00:00Z') / 1_000,
    );
  });

  it('counts issuances by cluster, with one label for unregistered clusters', async () => {
    const { metrics, clusters } = world({ clusters: [probedCluster('prod-eu', 'True')] });
    const failure = { result: 'failure', reason: 'ClusterNotFound', durationMs: 1 } as const;
    metrics.recordIssuance({ cluster: 'prod-eu', result: 'success', reason: 'RotationDue', durationMs: 20 });
    metrics.recordIssuance({ cluster: 'nowhere', ...failure });
    metrics.recordIssuance({ cluster: 'anywhere', ...failure });
    const before = await scrape(metrics);
    clusters.objects = [];
    const after = await scrape(metrics);

    const success = { target_cluster: 'prod-eu', result: 'success', reason: 'RotationDue' };
    expect(valueOf(before, 'purser_token_issuances_total', success)).toBe(1);
    expect(
      valueOf(before, 'purser_token_issuances_total', { target_cluster: 'unregistered', result: 'failure', reason: 'ClusterNotFound' }),
    ).toBe(2);
    expect(valueOf(after, 'purser_token_issuances_total', success)).toBeUndefined();
    expect(valueOf(before, 'purser_token_issue_duration_seconds', { __name__: 'purser_token_issue_duration_seconds_count' })).toBe(1);
  });

  it('names at most a hundred orphaned anchors and no unregistered cluster', async () => {
    const { metrics } = world();
    for (let index = 0; index < 1_100; index++) metrics.recordOrphan({ cluster: `c-${index}`, namespace: 'n', name: `purser-${index}` });
    const orphans = (await scrape(metrics)).get('purser_orphaned_anchors_total')?.samples;

    expect(orphans?.size).toBe(101);
    expect(orphans?.get(labelsKey({ target_cluster: 'unregistered', namespace: 'other', name: 'other' }))).toBe(1_000);
  });

  it('exports expiry, renewal and lifetime of each credential in seconds, and omits unknown times', async () => {
    const { metrics } = world();
    const expiresAt = Date.parse('2026-12-01T10:00:00Z');
    metrics.observeCredentials(() => [
      { cluster: 'prod-eu', issuedAt: expiresAt - 3_600_000, expiresAt, renewAt: expiresAt - 1_800_000 },
      { cluster: 'manual', issuedAt: undefined, expiresAt, renewAt: undefined },
    ]);
    const scraped = await scrape(metrics);
    const values = (name: string) =>
      ['expiration_timestamp', 'renewal_timestamp', 'lifetime'].map((time) =>
        valueOf(scraped, `purser_cluster_credential_${time}_seconds`, { target_cluster: name }),
      );
    expect(values('prod-eu')).toEqual([expiresAt / 1_000, expiresAt / 1_000 - 1_800, 3_600]);
    expect(values('manual')).toEqual([expiresAt / 1_000, undefined, undefined]);
  });

  it('uses no label named `cluster`, which Prometheus servers often set as an external label', async () => {
    const { metrics } = world({ tokens: [issuedToken('ci')], clusters: [probedCluster('prod-eu', 'True')] });
    metrics.recordIssuance({ cluster: 'prod-eu', result: 'success', reason: 'RotationDue' });
    metrics.recordOrphan({ cluster: 'prod-eu', namespace: 'deploy', name: 'purser-x' });
    const keys = [...(await scrape(metrics)).values()].flatMap(({ samples }) => [...samples.keys()]);
    expect(keys.filter((key) => key.includes('["target_cluster",')).length).toBeGreaterThan(0);
    expect(keys.filter((key) => key.includes('["cluster",'))).toEqual([]);
  });

  it('names twenty namespaces that exceed their budget, and exports the others as "other"', async () => {
    const { metrics } = world();
    metrics.observeBudgets('managed-token', () => [
      ['team-a', 'slots'],
      ...Array.from({ length: 50 }, (_, index) => [`crowd-${index}`, 'reviews'] as const),
    ]);
    const samples = (await scrape(metrics)).get('purser_namespace_over_budget')?.samples;

    expect(samples?.size).toBe(22);
    expect(samples?.get(labelsKey({ namespace: 'team-a', budget: 'slots' }))).toBe(1);
    expect(samples?.get(labelsKey({ namespace: 'other', budget: 'reviews' }))).toBe(1);
  });

  it('exports one sample for a namespace that exceeds the same budget of two controllers', async () => {
    const { metrics } = world();
    metrics.observeBudgets('managed-token', () => [['team-a', 'runs']]);
    metrics.observeBudgets('managed-token-set', () => [
      ['team-a', 'runs'],
      ['team-b', 'bytes'],
    ]);
    const lines = (await Array.fromAsync(metrics.text())).join('').split('\n');
    expect(lines.filter((line) => line.startsWith('purser_namespace_over_budget{'))).toEqual([
      'purser_namespace_over_budget{namespace="team-a",budget="runs"} 1',
      'purser_namespace_over_budget{namespace="team-b",budget="bytes"} 1',
    ]);
  });

  it('exports the reason of ClusterProfilesPublished of each set that publishes ClusterProfiles', async () => {
    const publishing = (name: string, reason: string): ManagedTokenSet => ({
      ...set(name, { conditions: [{ type: 'ClusterProfilesPublished', status: 'False', reason, message: '', lastTransitionTime: '' }] }),
      spec: { clusterProfiles: true } as ManagedTokenSet['spec'],
    });
    const { metrics } = world({ sets: [publishing('a', 'Forbidden'), publishing('b', 'Invented'), set('c')] });
    const { samples } = (await scrape(metrics)).get('purser_managedtokenset_profiles') ?? {};
    const expected = { a: 'Forbidden', b: 'Unknown' };
    expect([...(samples?.keys() ?? [])]).toEqual(
      Object.entries(expected).map(([name, reason]) => labelsKey({ namespace: 'team-a', name, reason })),
    );
  });

  it('names the cluster of a token only while the Cluster exists', async () => {
    const { metrics, clusters } = world({ tokens: [issuedToken('ci')], clusters: [probedCluster('prod-eu', 'True')] });
    const ready = async () => [...((await scrape(metrics)).get('purser_token_ready')?.samples.keys() ?? [])];
    const [before] = await ready();
    clusters.objects = [];
    const [after] = await ready();

    expect([before, after]).toEqual(
      ['prod-eu', 'unregistered'].map((label) => labelsKey({ namespace: 'team-a', name: 'ci', target_cluster: label })),
    );
  });

  it('exports ten thousand tokens in small pieces', async () => {
    const tokens = Array.from({ length: 10_000 }, (_, index) => issuedToken(`token-${index}`, `team-${index % 100}`));
    const { metrics } = world({ tokens });
    let turns = 0;
    const others = setInterval(() => (turns += 1), 0);
    const pieces = await Array.fromAsync(metrics.text());
    clearInterval(others);
    const sizes = pieces.map((piece) => piece.length);

    expect(parseExposition(pieces.join('')).get('purser_token_ready')?.samples.size).toBe(10_000);
    expect(Math.max(...sizes)).toBeLessThan(100_000);
    expect(turns).toBeGreaterThan(10);
  });
});

function labelNames(key: string): string {
  return (JSON.parse(key) as [string][])
    .map(([name]) => name)
    .filter((name) => name !== '__name__')
    .join(',');
}

function probedCluster(name: string, status: 'True' | 'Unknown'): Cluster {
  const condition = { type: 'Ready', status, lastHeartbeatTime: '2026-03-01T12:00:00Z' } as const;
  return { ...cluster(name), status: { conditions: [condition, { ...condition, type: 'Invented' }] } };
}

function cluster(name: string): Cluster {
  const { metadata, spec, ...rest } = aCluster();
  const controller = { kind: 'Secret', namespace: 'purser-system', name } as const;
  return { ...rest, metadata: { ...metadata, name }, spec: { ...spec, authInfo: { controller } } };
}
