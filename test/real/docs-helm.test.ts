// The commands for Helm in docs/operating.md, in their order, on a real hub: install, upgrade, back, uninstall.

import { describe, expect, it, jest } from '@jest/globals';
import { blocksIn, documentedPlace, failures } from './docs-world.ts';

jest.setTimeout(300_000);

const [install, upgrade, back, uninstall] = blocksIn('helm');

const place = documentedPlace();

const definitions = async () => await place.world.kubectl('get', 'crd', '-o', 'name');
const image = async () =>
  await place.world.kubectl('get', 'deployment/purser', '-n', 'purser-system', '-o', 'jsonpath={.spec.template.spec.containers[0].image}');

describe('The manual for Helm', () => {
  it('installs Purser', async () => {
    expect(await failures(install, place.shell)).toEqual([]);
    expect(await definitions()).toContain('managedtokens.tokens.purser.dev');
    expect(await image()).toBe('registry.example.com/purser:0.1.0');
  });

  it('upgrades it, with the values that were set', async () => {
    expect(await failures(upgrade, place.shell)).toEqual([]);
    expect(await image()).toBe('registry.example.com/purser:0.1.0');
  });

  it('goes back and keeps the custom resources', async () => {
    expect(await failures(back, place.shell)).toEqual([]);
    expect(await definitions()).toContain('managedtokens.tokens.purser.dev');
  });

  it('leaves nothing behind', async () => {
    expect(await failures(uninstall, place.shell)).toEqual([]);
    expect(
      await place.world.kubectl('get', 'crd,clusterrole,clusterrolebinding,ns,priorityclass,validatingadmissionpolicy', '-o', 'name'),
    ).not.toContain('purser');
  });
});
