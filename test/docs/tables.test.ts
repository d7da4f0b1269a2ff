// Compares tables of the documentation with the code: reasons, metrics, alerts, keys of log lines.

import { globSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from '@jest/globals';
import { parse } from 'yaml';
import { AlertReason, ClusterReason, FailureReason, IssueReason, ProfileReason, ReadyReason, SetReason } from '../../src/api/reasons.ts';
import { clusterConditions } from '../../src/clusters/policy/conditions.ts';
import { Metrics } from '../../src/telemetry/metrics.ts';
import { readText } from '../support/repository.ts';

const manual = readText('docs/operating.md');
const help = readText('docs/troubleshooting.md');

describe('docs/troubleshooting.md', () => {
  it.each([
    ['Ready condition of a ManagedToken', ReadyReason],
    ['Issuance of a token', IssueReason],
    ['Failed issuance of a token', FailureReason],
    ['ManagedTokenSet', SetReason],
    ['ClusterProfiles of a ManagedTokenSet', ProfileReason],
    ['Reasons of Cluster conditions', ClusterReason],
    ['Warnings for operators', AlertReason],
  ])('lists the reasons under "%s" with their sentences and remedies', (heading, reasons) => {
    const rows = rowsUnder(help, heading);
    expect(rows.map(([reason = '', when = '']) => [reason.replaceAll('`', ''), when])).toEqual(Object.entries<string>(reasons));
    expect(rows.filter(([, , advice = '']) => advice === '')).toEqual([]);
  });

  it('lists the conditions of a Cluster with their meanings and events', () => {
    const events = { all: 'all transitions', failures: 'transitions from and to False', none: 'none' };
    expect(rowsUnder(help, 'Conditions of a Cluster')).toEqual(
      [...clusterConditions].map(([type, row]) => [`\`${type}\``, row.meaning, events[row.events]]),
    );
  });
});

describe('crds/clusters.registry.purser.dev.yaml', () => {
  it('describes every condition of a Cluster', () => {
    const meanings = [...clusterConditions].map(([type, { meaning }]) => `${type}: ${meaning}.`).join(' ');
    const text = readText('crds/clusters.registry.purser.dev.yaml').replaceAll(/\s+/g, ' ');
    expect(text).toContain(`Health of the cluster. ${meanings} Treat a condition as Unknown`);
  });
});

describe('docs/operating.md', () => {
  it('shows the sizes of the last benchmark (copy the expected rows if this fails)', () => {
    const runs = JSON.parse(readText('docs/bench/bench.json')) as readonly BenchRun[];
    const measured = runs.flatMap((run) => sizeRow(run));
    const rows = rowsUnder(manual, 'Sizing').map(([what = '', text = '']) => `${what}: ${text}`);
    expect(measured.map((row) => row.split(':')[0])).toEqual([
      '2,000 ManagedTokens',
      '10,000 ManagedTokens',
      '100,000 ManagedTokens',
      '1,000 healthy Clusters',
    ]);
    expect(rows).toEqual(measured);
  });

  it('lists every metric', async () => {
    const none = { list: () => [], has: () => false };
    const metrics = new Metrics({ build: { version: '', node: '' }, tokens: none, sets: none, clusters: none });
    let text = '';
    for await (const piece of metrics.text()) text += piece;
    const names = [...text.matchAll(/^# TYPE (purser_\w+)/gm)].map(([, name]) => name);

    expect(new Set(rowsUnder(manual, 'Metrics').map(([name = '']) => name.replaceAll('`', '')))).toEqual(new Set(names));
  });

  it('lists every alert with its severity', () => {
    const { spec } = parse(readText('deploy/components/monitoring/alerts.yaml')) as Alerts;
    const alerts = spec.groups.flatMap(({ rules }) => rules).map(({ alert, labels }) => [alert, labels.severity]);
    expect(rowsUnder(manual, 'Alerts').map(([alert, severity]) => [alert, severity])).toEqual(
      alerts.map(([alert = '', severity]) => [`[${alert}](#${alert.toLowerCase()})`, severity]),
    );
  });

  it('lists only keys of log lines that the code writes', () => {
    const files = globSync('src/{app,clusters,credentials,sets,tokens,facade,runtime,telemetry}/**/*.ts', {
      cwd: join(import.meta.dirname, '../..'),
    });
    const sources = ['src/operator.ts', 'src/access/issue-permission.ts', ...files].map(readText).join('\n');
    const keys = rowsUnder(manual, 'Logs').flatMap(([cell = '']) => [...cell.matchAll(/`(\w+)`/g)].map(([, key = '']) => key));
    expect(keys.filter((key) => !new RegExp(`\\b${key}\\b`).test(sources))).toEqual([]);
  });
});

interface BenchRun {
  readonly name: string;
  readonly measured: {
    readonly count: number;
    readonly issued: { readonly cpuMsPerToken: number; readonly rssMegabytes: number };
    readonly restarted: { readonly rssMegabytes: number };
    readonly rotated: { readonly cpuMsPerRotation: number };
    readonly clusters: number;
    readonly rssMegabytes: number;
    readonly cpuPercent: number;
  };
}

/** Returns the row of a run, with rounded numbers; empty for a run that does not measure size. */
function sizeRow({ name, measured }: BenchRun): readonly string[] {
  const megabytes = (value: number) => `${value.toFixed(0)} MB`;
  const ms = (value: number) => `${value.toFixed(1)} ms`;
  const number = (value: number) => value.toLocaleString('en-US');
  if (name === 'idle-clusters') {
    const { clusters, rssMegabytes, cpuPercent } = measured;
    return [`${number(clusters)} healthy Clusters: ${megabytes(rssMegabytes)}; ${cpuPercent.toFixed(0)}% of a core`];
  }
  if (!['some-tokens', 'many-tokens', 'restart'].includes(name)) return [];
  const { count, issued, restarted, rotated } = measured;
  const memory = `${megabytes(restarted.rssMegabytes)} after a restart, ${megabytes(issued.rssMegabytes)} after issuing all tokens`;
  const cpu = `CPU: ${ms(issued.cpuMsPerToken)} per first token, ${ms(rotated.cpuMsPerRotation)} per rotation`;
  return [`${number(count)} ManagedTokens: ${memory}; ${cpu}`];
}

interface Alerts {
  readonly spec: {
    readonly groups: readonly { readonly rules: readonly { readonly alert: string; readonly labels: { readonly severity: string } }[] }[];
  };
}

/** Returns the cells of the first table below a heading, without the header row. */
function rowsUnder(text: string, heading: string): readonly (readonly string[])[] {
  const [, below = ''] = text.split(`# ${heading}\n`);
  const [section = ''] = below.split(/^#/m);
  const lines = section.split('\n').filter((line) => line.startsWith('|'));
  return lines.slice(2).map((line) =>
    line
      .slice(1, -1)
      .split(/(?<!\\)\|/)
      .map((cell) => cell.trim()),
  );
}
