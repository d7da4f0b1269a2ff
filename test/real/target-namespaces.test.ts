// Runs Purser with the permissions of `purser print target-rbac --namespaces` on a real target: it issues and revokes tokens there, and
// the Cluster reports the number of namespaces.

import { afterAll, beforeAll, expect, it } from '@jest/globals';
import { type Deployment, DeployWorld, isDeployment, renderKustomization } from './deploy-world.ts';
import { readUse } from './permission-use.ts';

const PURSER = 'system:serviceaccount:purser-system:purser';
const CLUSTER = 'cluster.registry.purser.dev/target-1';
let world: DeployWorld;

beforeAll(async () => {
  world = await DeployWorld.start('base');
  const deployment = (await renderKustomization('base')).find(isDeployment) as Deployment;
  await world.startDeployed(deployment, '--verify-interval=2s', '--access-interval=2s');
  await world.register('target-1', '--namespaces', 'deploy');
});

afterAll(() => world?.stop());

it('permits Purser to issue tokens only in the namespace that --namespaces names', async () => {
  const command = ['auth', 'can-i', 'create', 'serviceaccounts', '--subresource=token', `--as=${PURSER}`];
  const mayIssue = async (namespace: string) => await world.kubectlOnTarget(...command, '-n', namespace).catch(() => 'no');

  expect((await mayIssue('deploy')).trim()).toBe('yes');
  expect(await mayIssue('kube-system')).toBe('no');
});

it('reports a Cluster as Ready that no ManagedToken names yet, if its Secret lists the namespace', async () => {
  const patch = JSON.stringify({ stringData: { namespaces: 'deploy' } });
  await world.kubectl('patch', '-n', 'purser-system', 'secret', 'target-1-credential', '--type=merge', '-p', patch);
  await world.waitFor(CLUSTER, '--for=condition=Ready');
});

it('issues and revokes tokens in the named namespace, and reports Authorized', async () => {
  for (const name of ['ci-deployer', 'revocable']) await world.kubectl('apply', '-f', `REPO/deploy/samples/${name}.yaml`);
  await world.waitFor('mt', '-A', '--all', '--for=condition=Ready');
  await world.waitFor(CLUSTER, '--for=condition=Authorized');
  await world.waitFor(CLUSTER, '--for=condition=Ready');
  await world.kubectl('annotate', '-n', 'team-c', 'mt/contractor', 'tokens.purser.dev/revoke=1');
  await world.waitFor('-n', 'team-c', 'mt/contractor', '--for=jsonpath={.status.lastRevokeRequest}=1');
  await world.waitFor('mt', '-A', '--all', '--for=condition=Ready');
});

it('reports the number of namespaces in the Authorized condition', async () => {
  const message = await world.kubectl('get', CLUSTER, '-o', 'jsonpath={.status.conditions[?(@.type=="Authorized")].message}');
  expect(message).toMatch(/: in 1 namespace\.$/);
});

it('sends no request that the target rejects with 403', async () => {
  expect((await readUse(world.target.auditLog, PURSER)).rejected).toEqual([]);
});
