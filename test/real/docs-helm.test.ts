// Runs the Helm commands of docs/operating.md in order on a real hub: install, upgrade, roll back, uninstall.

import { describe, expect, it } from '@jest/globals';
import { blocksIn, runBlock, startDocsWorld } from './docs-world.ts';

const [install, upgrade, rollback, uninstall] = blocksIn('helm');

const docs = startDocsWorld();

const listCrds = async () => await docs.world.kubectl('get', 'crd', '-o', 'name');
const getImage = async () =>
  await docs.world.kubectl('get', 'deployment/purser', '-n', 'purser-system', '-o', 'jsonpath={.spec.template.spec.containers[0].image}');

describe('Helm commands in docs/operating.md', () => {
  it('installs Purser', async () => {
    expect(await runBlock(install, docs.shell)).toEqual([]);
    expect(await listCrds()).toContain('managedtokens.tokens.purser.dev');
    expect(await getImage()).toBe('registry.example.com/purser:0.1.0');
  });

  it('upgrades Purser and keeps the values', async () => {
    expect(await runBlock(upgrade, docs.shell)).toEqual([]);
    expect(await getImage()).toBe('registry.example.com/purser:0.1.0');
  });

  it('rolls back Purser and keeps the custom resources', async () => {
    expect(await runBlock(rollback, docs.shell)).toEqual([]);
    expect(await listCrds()).toContain('managedtokens.tokens.purser.dev');
  });

  it('uninstalls Purser without leaving objects behind', async () => {
    expect(await runBlock(uninstall, docs.shell)).toEqual([]);
    expect(
      await docs.world.kubectl('get', 'crd,clusterrole,clusterrolebinding,ns,priorityclass,validatingadmissionpolicy', '-o', 'name'),
    ).not.toContain('purser');
  });
});
