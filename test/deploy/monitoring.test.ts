// Compares the metrics in alerts and dashboard with those that Purser exports.

import { beforeAll, describe, expect, it } from '@jest/globals';
import { parse } from 'yaml';
import { computeHeartbeatMs } from '../../src/clusters/tracked-cluster.ts';
import { Metrics } from '../../src/telemetry/metrics.ts';
import { anchorsOf } from '../docs/documents.ts';
import { readText } from '../support/repository.ts';

interface Link {
  readonly url: string;
}

interface Panel {
  readonly id: number;
  readonly type: string;
  readonly title: string;
  readonly description?: string;
  readonly links?: readonly Link[];
  readonly gridPos: { readonly x: number; readonly y: number; readonly w: number; readonly h: number };
  readonly targets?: readonly { readonly expr: string }[];
}

interface Dashboard {
  readonly links: readonly Link[];
  readonly panels: readonly Panel[];
  readonly templating: { readonly list: readonly { readonly definition?: string }[] };
}

interface PrometheusRule {
  readonly spec: { readonly groups: readonly { readonly rules: readonly Alert[] }[] };
}

interface Alert {
  readonly alert: string;
  readonly expr: string;
  readonly labels: Readonly<Record<string, string>>;
  readonly annotations: Readonly<Record<string, string>>;
}

const dashboard: Dashboard = JSON.parse(readText('deploy/components/monitoring/dashboard.json'));
const rule: PrometheusRule = parse(readText('deploy/components/monitoring/alerts.yaml'));
const alerts = rule.spec.groups.flatMap(({ rules }) => rules);
let exported: ReadonlySet<string>;

beforeAll(async () => {
  const none = { list: () => [], has: () => false };
  const metrics = new Metrics({ build: { version: '0.0.0', node: 'v24' }, tokens: none, sets: none, clusters: none });
  const text = (await Array.fromAsync(metrics.text())).join('');
  const types = [...text.matchAll(/^# TYPE (\S+) (\S+)$/gm)].map(([, name = '', type]) => ({ name, type }));
  exported = new Set(
    types.flatMap(({ name, type }) => (type === 'histogram' ? [`${name}_bucket`, `${name}_sum`, `${name}_count`] : [name])),
  );
});

/** Placeholder for the address of this repository's files. */
const FILES = 'https://git.example.com/purser/blob/main';

/** Returns true if the address names a page of this repository, and a heading of that page if it has a fragment. */
function isExisting(url: string): boolean {
  const [page = '', anchor] = url.split('#');
  const path = page.replace(`${FILES}/`, '');
  if (!path.startsWith('docs/')) return false;
  return anchor === undefined || anchorsOf(readText(path)).includes(anchor);
}

/** Returns the metrics in an expression. */
function metricsIn(expr: string): readonly string[] {
  return expr.match(/\b(purser|process|nodejs)_\w+/g) ?? [];
}

describe('PurserClusterNotProbed', () => {
  it('fires only if a heartbeat is more than five minutes late, for any number of clusters', () => {
    const { expr = '' } = alerts.find(({ alert }) => alert === 'PurserClusterNotProbed') ?? {};
    const [, seconds = '', rate = ''] = />\s*(\d+) \+ .* \/ ([\d.]+)/s.exec(expr) ?? [];
    for (const clusters of [1, 1_000, 5_000, 100_000])
      expect(Number(seconds) + clusters / Number(rate)).toBeGreaterThan(computeHeartbeatMs(clusters) / 1_000 + 300);
  });
});

describe('alerts', () => {
  it('contains no alert with a metric that Purser does not export', () => {
    const queried = alerts.flatMap(({ expr }) => metricsIn(expr));
    expect([queried.length > 10, queried.filter((name) => !exported.has(name))]).toEqual([true, []]);
  });

  it.each(alerts)('has a severity, a summary, a description and a runbook for $alert', ({ alert, labels, annotations }) => {
    expect(['critical', 'warning']).toContain(labels['severity']);
    expect(Object.keys(annotations)).toEqual(['summary', 'description', 'runbook_url']);
    expect(annotations['runbook_url']).toBe(`${FILES}/docs/operating.md#${alert.toLowerCase()}`);
    expect(isExisting(annotations['runbook_url'] ?? '')).toBe(true);
  });

  it('has a critical alert for an expired credential', () => {
    const critical = alerts.filter(({ labels }) => labels['severity'] === 'critical').map(({ alert }) => alert);
    expect(critical).toContain('PurserClusterCredentialExpired');
  });

  it('uses no label named `cluster`, which Prometheus servers often set as an external label', () => {
    expect(alerts.filter(({ expr }) => /[(,{]\s*cluster\b/.test(expr)).map(({ alert }) => alert)).toEqual([]);
  });
});

describe('dashboard', () => {
  it('contains no panel or variable with a metric that Purser does not export', () => {
    const expressions = dashboard.panels.flatMap(({ targets = [] }) => targets.map(({ expr }) => expr));
    const definitions = dashboard.templating.list.map(({ definition = '' }) => definition);
    const queried = [...expressions, ...definitions].flatMap(metricsIn);
    expect([queried.length > 20, queried.filter((name) => !exported.has(name))]).toEqual([true, []]);
  });

  it('shows every metric with the prefix purser_', () => {
    const queried = new Set(dashboard.panels.flatMap(({ targets = [] }) => targets.flatMap(({ expr }) => metricsIn(expr))));
    const families = [...exported].filter((name) => name.startsWith('purser_') && !/_(sum|count)$/.test(name));
    expect(families.filter((name) => !queried.has(name))).toEqual([]);
  });

  it('has a different title for every panel', () => {
    const titles = dashboard.panels.map(({ title }) => title);
    expect(titles.filter((title, index) => titles.indexOf(title) !== index)).toEqual([]);
  });

  it('has a description for every panel', () => {
    const others = dashboard.panels.filter(({ type, description }) => type !== 'row' && !/^[A-Z1].*\.$/.test(description ?? ''));
    expect(others.map(({ title }) => title)).toEqual([]);
  });

  it('shows the days left of every credential', () => {
    const panel = dashboard.panels.find(({ title }) => title === 'Days left of credentials');
    expect(panel?.targets?.[0]?.expr).toMatch(/purser_cluster_credential_expiration_timestamp_seconds.*- time\(\)\) \/ 86400/);
  });

  it('links only to existing sections of the documentation', () => {
    const urls = [dashboard, ...dashboard.panels].flatMap(({ links = [] }) => links.map(({ url }) => url));
    expect(dashboard.links.length).toBeGreaterThan(0);
    expect(urls.filter((url) => !isExisting(url))).toEqual([]);
  });

  it('uses no label named `cluster`, which Prometheus servers often set as an external label', () => {
    const expressions = dashboard.panels.flatMap(({ targets = [] }) => targets.map(({ expr }) => expr));
    const definitions = dashboard.templating.list.map(({ definition = '' }) => definition);
    expect([...expressions, ...definitions].filter((expr) => /[(,{]\s*cluster\b/.test(expr))).toEqual([]);
  });

  it('has no overlapping panels', () => {
    const { panels } = dashboard;
    const covers = ({ gridPos: a }: Panel, { gridPos: b }: Panel) =>
      a.x < b.x + b.w && b.x < a.x + a.w && a.y < b.y + b.h && b.y < a.y + a.h;
    const covered = panels.filter((panel) => panels.some((other) => other !== panel && covers(panel, other)));
    expect([covered.map(({ title }) => title), panels.filter(({ gridPos: { x, w } }) => x + w > 24)]).toEqual([[], []]);
    expect(new Set(panels.map(({ id }) => id)).size).toBe(panels.length);
  });
});
