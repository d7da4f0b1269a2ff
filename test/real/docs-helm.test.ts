// Runs the Helm commands of docs/operating.md in order on a real hub: install, upgrade, roll back, uninstall.

import { describe, expect, it, jest } from '@jest/globals';
import { blocksIn, documentedPlace, failures } from './docs-world.ts';

jest.setTimeout(300_000);

const [install, upgrade, back, uninstall] = blocksIn('helm');

const place = documentedPlace();

const definitions = async () => await place.world.kubectl('get', 'crd', '-o', 'name');
const image = async () =>
  await place.world.kubectl('get', 'deployment/purser', '-n', 'purser-system', '-o', 'jsonpath={.spec.template.spec.containers[0].image}');

describe('docs/operating.md with Helm', () => {
  it('installs Purser', async () => {
    expect(await failures(install, place.shell)).toEqual([]);
    expect(await definitions()).toContain('managedtokens.tokens.purser.dev');
    expect(await image()).toBe('registry.example.com/purser:0.1.0');
  });

  it('upgrades Purser and keeps the values', async () => {
    expect(await failures(upgrade, place.shell)).toEqual([]);
    expect(await image()).toBe('registry.example.com/purser:0.1.0');
  });

  it('rolls back Purser and keeps the custom resources', async () => {
    expect(await failures(back, place.shell)).toEqual([]);
    expect(await definitions()).toContain('managedtokens.tokens.purser.dev');
  });

  it('uninstalls Purser without leaving objects behind', async () => {
    expect(await failures(uninstall, place.shell)).toEqual([]);
    expect(
      await place.world.kubectl('get', 'crd,clusterrole,clusterrolebinding,ns,priorityclass,validatingadmissionpolicy', '-o', 'name'),
    ).not.toContain('purser');
  });
});
