// Runs the alerts on test series with promtool. alerts.yaml has the expected alerts.

import { spawnSync } from 'node:child_process';
import { copyFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { describe, expect, it } from '@jest/globals';
import { parse, stringify } from 'yaml';
import { newFolder } from '../support/folders.ts';
import { requirePrometheus } from '../support/prometheus.ts';
import { readText } from '../support/repository.ts';

interface PrometheusRule {
  readonly spec: { readonly groups: readonly { readonly rules: readonly { readonly alert: string }[] }[] };
}

interface AlertTests {
  readonly tests: readonly {
    readonly alert_rule_test: readonly { readonly alertname: string; readonly exp_alerts: readonly object[] }[];
  }[];
}

describe('alerts', () => {
  const rule: PrometheusRule = parse(readText('deploy/components/monitoring/alerts.yaml'));

  it('fires exactly the alerts that alerts.yaml expects', async () => {
    requirePrometheus();
    const folder = await newFolder();
    await writeFile(join(folder, 'rules.yaml'), stringify(rule.spec));
    await copyFile(join(import.meta.dirname, 'alerts.yaml'), join(folder, 'alerts.yaml'));
    const { status, stdout, stderr } = spawnSync('promtool', ['test', 'rules', 'alerts.yaml'], { cwd: folder, encoding: 'utf8' });

    expect({ status, output: stdout + stderr }).toEqual({ status: 0, output: expect.stringContaining('SUCCESS') });
  });

  it('fires every alert in at least one test of alerts.yaml', () => {
    const { tests }: AlertTests = parse(readText('test/real/alerts.yaml'));
    const fired = tests.flatMap((test) => test.alert_rule_test).filter((each) => each.exp_alerts.length > 0);

    expect(new Set(fired.map(({ alertname }) => alertname))).toEqual(
      new Set(rule.spec.groups.flatMap(({ rules }) => rules.map(({ alert }) => alert))),
    );
  });
});
