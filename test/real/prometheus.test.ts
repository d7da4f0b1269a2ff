// A real Prometheus beside a local run: it scrapes Purser, evaluates the alerts and answers what the dashboard asks.

import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import { afterAll, beforeAll, describe, expect, it, jest } from '@jest/globals';
import { parse, stringify } from 'yaml';
import { type LocalRun, startLocalRun } from '../e2e/local-run.ts';
import { newFolder } from '../support/folders.ts';
import { type Prometheus, requirePrometheus, type Sample, startPrometheus } from '../support/prometheus.ts';
import { readText } from '../support/repository.ts';

jest.setTimeout(120_000);

interface Dashboard {
  readonly panels: readonly { readonly title: string; readonly targets?: readonly { readonly expr: string }[] }[];
}

interface RuleGroups {
  readonly groups: readonly { readonly rules: readonly { readonly name: string; readonly health: string; readonly state: string }[] }[];
}

let purser: LocalRun;
let prometheus: Prometheus;

describe('a Prometheus beside Purser', () => {
  beforeAll(async () => {
    requirePrometheus();
    const folder = await newFolder();
    purser = await startLocalRun(folder, '--probe-interval=1s');
    const { spec } = parse(readText('deploy/components/monitoring/alerts.yaml')) as { spec: object };
    await writeFile(join(folder, 'rules.yaml'), stringify(spec));
    prometheus = await startPrometheus(folder, {
      global: { scrape_interval: '1s', scrape_timeout: '1s', evaluation_interval: '1s' },
      rule_files: ['rules.yaml'],
      scrape_configs: [{ job_name: 'purser', honor_labels: true, static_configs: [{ targets: [new URL(purser.ready.metrics).host] }] }],
    });
    await until('up == 1');
  });

  afterAll(async () => {
    await prometheus?.stop();
    await purser?.end('SIGTERM');
  });

  it('learns of every token of the samples, in the namespace that it is in', async () => {
    await until('count(purser_token_ready == 1) == 4');
    const tokens = await prometheus.query('purser_token_expiration_timestamp_seconds - time() > 0');
    expect(new Set(tokens.map(({ metric }) => `${metric['namespace']}/${metric['name']}`))).toEqual(
      new Set(['gitops/argo-cd-target-1', 'team-a/ci-deployer', 'team-b/flux-target-1', 'team-c/contractor']),
    );
  });

  it('learns of the cluster, of issuances and of the leader', async () => {
    await until('purser_cluster_condition{cluster="target-1", type="Ready", status="True"} == 1');
    await until('sum(purser_token_issuances_total{cluster="target-1", result="success"}) >= 4');
    await until('purser_leader == 1');
  });

  it('evaluates every alert, and raises none', async () => {
    const rules = async () => (await prometheus.get<RuleGroups>('rules')).groups.flatMap((group) => group.rules);
    while ((await rules()).some(({ health }) => health === 'unknown')) await delay(200);
    expect((await rules()).filter(({ health, state }) => health !== 'ok' || state === 'firing')).toEqual([]);
  });

  it('answers everything that the dashboard asks', async () => {
    const { panels } = JSON.parse(readText('deploy/components/monitoring/dashboard.json')) as Dashboard;
    const answers = new Map<string, readonly Sample[]>();
    for (const { title, targets = [] } of panels) {
      for (const { expr } of targets) answers.set(`${title}: ${expr}`, await prometheus.query(filledIn(expr)));
    }
    const empty = [...answers].filter(([, samples]) => samples.length === 0).map(([asked]) => asked.replace(/:.*/, ''));

    expect(empty.filter((title) => ALWAYS_SHOWN.has(title))).toEqual([]);
  });
});

/** Of the rest there may be nothing to show while all is well and nobody calls. */
const ALWAYS_SHOWN = new Set([
  'ManagedTokens',
  'Next expiry in',
  'The next twenty to expire',
  'Clusters',
  'Oldest heartbeat',
  'Ready',
  'Watches',
  'Leader',
  'Due and waiting',
  'Memory',
  'Event loop, 99 %',
  'Builds',
]);

/** With everything selected, as Grafana asks at first. */
function filledIn(expr: string): string {
  return expr.replaceAll(/\$(namespace|cluster)/g, '.*').replaceAll('$__rate_interval', '1m');
}

async function until(expr: string): Promise<void> {
  const end = performance.now() + 60_000;
  while ((await prometheus.query(expr)).length === 0) {
    if (performance.now() > end) throw new Error(`it does not come true: ${expr}`);
    await delay(200);
  }
}
