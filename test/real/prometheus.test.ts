// Runs a real Prometheus with a local run of Purser: it scrapes Purser, evaluates the alerts, and runs the queries of the dashboard.

import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { parse, stringify } from 'yaml';
import { type LocalRun, startLocalRun } from '../e2e/local-run.ts';
import { newFolder } from '../support/folders.ts';
import { type Prometheus, requirePrometheus, type Sample, startPrometheus } from '../support/prometheus.ts';
import { readText } from '../support/repository.ts';

interface Dashboard {
  readonly panels: readonly { readonly title: string; readonly targets?: readonly { readonly expr: string }[] }[];
}

interface RuleGroups {
  readonly groups: readonly { readonly rules: readonly { readonly name: string; readonly health: string; readonly state: string }[] }[];
}

let purser: LocalRun;
let prometheus: Prometheus;

describe('Prometheus with a local run', () => {
  beforeAll(async () => {
    requirePrometheus();
    const folder = await newFolder();
    purser = await startLocalRun(folder, '--probe-interval=1s');
    const { spec } = parse(readText('deploy/components/monitoring/alerts.yaml')) as { spec: object };
    await writeFile(join(folder, 'rules.yaml'), stringify(spec));
    prometheus = await startPrometheus(folder, {
      // A scrape that a busy machine delays beyond its timeout would make all series stale.
      global: { scrape_interval: '5s', scrape_timeout: '5s', evaluation_interval: '1s' },
      rule_files: ['rules.yaml'],
      scrape_configs: [{ job_name: 'purser', honor_labels: true, static_configs: [{ targets: [new URL(purser.ready.metrics).host] }] }],
    });
    await waitForSamples('up == 1');
  });

  afterAll(async () => {
    await prometheus?.stop();
    await purser?.end('SIGTERM');
  });

  it('scrapes the expiry of every sample token with its namespace', async () => {
    await waitForSamples('count(purser_token_ready == 1) == 4');
    const tokens = await prometheus.query('purser_token_expiration_timestamp_seconds - time() > 0');
    expect(new Set(tokens.map(({ metric }) => `${metric['namespace']}/${metric['name']}`))).toEqual(
      new Set(['gitops/argo-cd-target-1', 'team-a/ci-deployer', 'team-b/flux-target-1', 'team-c/contractor']),
    );
  });

  it('scrapes metrics of the cluster, of issuances and of the leader', async () => {
    await waitForSamples('purser_cluster_condition{target_cluster="target-1", type="Ready", status="True"} == 1');
    await waitForSamples('sum(purser_token_issuances_total{target_cluster="target-1", result="success"}) >= 4');
    await waitForSamples('purser_cluster_credential_expiration_timestamp_seconds{target_cluster="target-1"} > time()');
    await waitForSamples('purser_leader == 1');
  });

  it('evaluates every alert without firing any', async () => {
    const rules = async () => (await prometheus.get<RuleGroups>('rules')).groups.flatMap((group) => group.rules);
    while ((await rules()).some(({ health }) => health === 'unknown')) await delay(200);
    expect((await rules()).filter(({ health, state }) => health !== 'ok' || state === 'firing')).toEqual([]);
  });

  it('returns samples for the panels of the dashboard that always have data', async () => {
    const { panels } = JSON.parse(readText('deploy/components/monitoring/dashboard.json')) as Dashboard;
    const results = new Map<string, readonly Sample[]>();
    for (const { title, targets = [] } of panels) {
      for (const { expr } of targets) results.set(`${title}: ${expr}`, await prometheus.query(fillVariables(expr)));
    }
    const empty = [...results].filter(([, samples]) => samples.length === 0).map(([query]) => query.replace(/:.*/, ''));

    expect(panels.map(({ title }) => title)).toEqual(expect.arrayContaining([...ALWAYS_SHOWN]));
    expect(empty.filter((title) => ALWAYS_SHOWN.has(title))).toEqual([]);
  });
});

/** Titles of panels that have data without failures and without callers. */
const ALWAYS_SHOWN = new Set([
  'ManagedTokens',
  'Time to next expiry',
  'Next 20 tokens to expire',
  'Registered clusters',
  'Oldest heartbeat',
  'Cluster readiness',
  'Days left of credentials',
  'Watches',
  'Leader',
  'Queue depth',
  'Memory',
  'Event loop delay, 99th percentile',
  'Builds',
]);

/** Replaces the variables of Grafana with their defaults, which select everything. */
function fillVariables(expr: string): string {
  return expr.replaceAll(/\$(namespace|target_cluster)/g, '.*').replaceAll('$__rate_interval', '1m');
}

async function waitForSamples(expr: string): Promise<void> {
  const end = performance.now() + 60_000;
  while ((await prometheus.query(expr)).length === 0) {
    if (performance.now() > end) throw new Error(`the query returned no samples within 60 s: ${expr}`);
    await delay(200);
  }
}
