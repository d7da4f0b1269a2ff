// Installs Purser with the commands for Helm, and checks its work, an upgrade under load, and the removal.

import { beforeAll, describe, expect, it } from '@jest/globals';
import type { Shell } from '../docs/shell.ts';
import { blocksIn, runBlock } from '../real/docs-world.ts';
import { startLoad } from './load.ts';
import { NODE_NAME } from './node.ts';
import { kubectl, leftovers, openShells, waitUntilOldPodsAreGone, waitUntilStable, warnings } from './world.ts';

/** Commands for Helm, with the chart of the release. */
const [install, upgrade, , uninstall] = blocksIn('helm').map((block) => ({
  ...block,
  text: block.text.replaceAll('deploy/chart', 'purser-chart-*.tgz'),
}));
const [, register, first] = blocksIn('install');
const removal = blocksIn('hub').find(({ text }) => text.includes('delete -k deploy/base'));
let release: Shell;
let checkout: Shell;

beforeAll(async () => {
  ({ release, checkout } = await openShells());
});

describe('chart', () => {
  it('starts two ready replicas', async () => {
    expect(await runBlock(install, release)).toEqual([]);
    expect(await waitUntilStable()).toHaveLength(2);
  });

  it('registers the target, and issues the first token', async () => {
    expect(await runBlock(register, release)).toEqual([]);
    expect(await runBlock(first, release)).toEqual([]);
  });

  it('replaces the pods under load without a failed request', async () => {
    const load = await startLoad();
    const changed = upgrade && { ...upgrade, text: upgrade.text.replace('values', 'values --set options.log-level=debug --wait') };
    expect(await runBlock(changed, release)).toEqual([]);
    await waitUntilOldPodsAreGone();
    const { responses, failures } = await load.stop();
    expect(failures).toEqual([]);
    expect(responses).toBeGreaterThan(100);
    expect(await kubectl('-n', 'purser-system', 'get', 'deployment', 'purser', '-o', 'yaml')).toContain('--log-level=debug');
  });

  it('records no warning events during operation', async () => {
    expect(await warnings(NODE_NAME)).toEqual([]);
  });

  it('leaves no objects behind after the chart is uninstalled', async () => {
    const text = removal?.text
      .replace(/^.*delete -k deploy\/components\/admission .*\n/m, uninstall?.text ?? '')
      .replace(/^.*delete -k deploy\/base .*\n/m, '');
    expect(await runBlock(removal && { ...removal, text: text ?? '' }, checkout)).toEqual([]);
    expect(await leftovers()).toEqual([]);
  });
});
