// The commands for Helm in docs/operating.md, in their order, on a real hub: install, upgrade, back, uninstall.

import { afterAll, beforeAll, describe, expect, it, jest } from '@jest/globals';
import type { Shell } from '../docs/shell.ts';
import { DeployWorld } from './deploy-world.ts';
import { blocksIn, failures, shellOf } from './docs-world.ts';

jest.setTimeout(300_000);

const [install, upgrade, back, uninstall] = blocksIn('helm');

let world: DeployWorld;
let shell: Shell;

beforeAll(async () => {
  world = await DeployWorld.bare();
  shell = await shellOf(world);
});

afterAll(() => world?.stop());

const definitions = async () => await world.kubectl('get', 'crd', '-o', 'name');
const image = async () =>
  await world.kubectl('get', 'deployment/purser', '-n', 'purser-system', '-o', 'jsonpath={.spec.template.spec.containers[0].image}');

describe('The manual for Helm', () => {
  it('installs Purser', async () => {
    expect(await failures(install, shell)).toEqual([]);
    expect(await definitions()).toContain('managedtokens.tokens.purser.dev');
    expect(await image()).toBe('registry.example.com/purser:0.1.0');
  });

  it('upgrades it, with the values that were set', async () => {
    expect(await failures(upgrade, shell)).toEqual([]);
    expect(await image()).toBe('registry.example.com/purser:0.1.0');
  });

  it('goes back and keeps the custom resources', async () => {
    expect(await failures(back, shell)).toEqual([]);
    expect(await definitions()).toContain('managedtokens.tokens.purser.dev');
  });

  it('leaves nothing behind', async () => {
    expect(await failures(uninstall, shell)).toEqual([]);
    expect(await world.kubectl('get', 'crd,clusterrole,clusterrolebinding,ns,priorityclass', '-o', 'name')).not.toContain('purser');
  });
});
