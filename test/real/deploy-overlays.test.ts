// The overlays on a real hub: parts that run apart, and a Purser that serves named namespaces, each with less than all rights.

import { afterEach, describe, expect, it, jest } from '@jest/globals';
import { DeployWorld, eventually, isDeployment, kustomized } from './deploy-world.ts';
import { type AccountUse, grantedBy, rulesOf, unused, useOf } from './granted.ts';

jest.setTimeout(240_000);

let world: DeployWorld;

afterEach(() => world?.stop());

const account = (name: string) => `system:serviceaccount:purser-system:${name}`;

/** Purser started as an overlay says, with a target registered. */
async function deployed(path: string): Promise<void> {
  world = await DeployWorld.start(path);
  await world.register('target-1');
  for (const deployment of (await kustomized(path)).filter(isDeployment)) await world.startDeployed(deployment);
}

describe('the overlay', () => {
  it('apart: the façade issues what it may, the controller keeps the rest, and neither is refused anything', async () => {
    await deployed('overlays/apart');
    await world.kubectl('apply', '-f', 'REPO/deploy/samples/ci-deployer.yaml');
    await world.until('-n', 'team-a', 'mt/ci-deployer', '--for=condition=Ready');
    const headers = { authorization: `Bearer ${await world.tokenOf('team-a', 'ci')}` };
    const list = async () => (await world.ask(['purser-facade', 'facade'], 'GET /auth/v1/clusters', { headers })).status;
    await eventually(async () => (await list().catch(() => 0)) === 200);
    const [controller, facade] = await Promise.all(
      ['controller', 'facade'].map((name) => useOf(world.hub.auditLog, account(`purser-${name}`))),
    );

    expect([controller?.refused, facade?.refused]).toEqual([[], []]);
    const granted = grantedBy(rulesOf(await kustomized('overlays/apart'), ['purser-facade', 'purser-credentials']));
    // For hubs that do not stream lists in watches.
    const lists = ['list clusterrolebindings', 'list clusterroles', 'list clusters', 'list secrets'];
    expect(unused(granted, facade as AccountUse)).toEqual(lists);
  });

  it('namespaces: tokens of those that are named are kept, the others are not even seen', async () => {
    await deployed('overlays/namespaces');
    for (const name of ['ci-deployer', 'flux']) await world.kubectl('apply', '-f', `REPO/deploy/samples/${name}.yaml`);
    await world.until('-n', 'team-a', 'mt/ci-deployer', '--for=condition=Ready');
    const { refused } = await useOf(world.hub.auditLog, account('purser'));

    expect(refused).toEqual([]);
    expect(await world.kubectl('get', '-n', 'team-b', 'mt/flux-target-1', '-o', 'jsonpath={.status}')).toBe('');
    const canRead = (namespace: string) => world.kubectl('auth', 'can-i', 'get', 'secrets', '-n', namespace, `--as=${account('purser')}`);
    expect(await canRead('team-a')).toBe('yes\n');
    await expect(canRead('team-b')).rejects.toThrow('can-i');
  });
});
