// Runs Purser with the permissions of `purser print target-rbac --namespaces` on a real target: it issues and revokes tokens there, and
// the Cluster reports the number of namespaces.

import { afterAll, beforeAll, expect, it, jest } from '@jest/globals';
import { type Deployment, DeployWorld, isDeployment, kustomized } from './deploy-world.ts';
import { useOf } from './permission-use.ts';

jest.setTimeout(240_000);

const ACCOUNT = 'system:serviceaccount:purser-system:purser';
const CLUSTER = 'cluster.registry.purser.dev/target-1';
let world: DeployWorld;

beforeAll(async () => {
  world = await DeployWorld.start('base');
  const deployment = (await kustomized('base')).find(isDeployment) as Deployment;
  await world.startDeployed(deployment, '--verify-interval=2s', '--access-interval=2s');
  await world.register('target-1', '--namespaces', 'deploy');
});

afterAll(() => world?.stop());

it('has no permission to issue tokens in other namespaces', async () => {
  const command = ['auth', 'can-i', 'create', 'serviceaccounts', '--subresource=token', `--as=${ACCOUNT}`];
  const mayIssue = async (namespace: string) => await world.onTarget(...command, '-n', namespace).catch(() => 'no');

  expect((await mayIssue('deploy')).trim()).toBe('yes');
  expect(await mayIssue('kube-system')).toBe('no');
});

it('issues and revokes tokens in the namespace, and reports Authorized', async () => {
  for (const name of ['ci-deployer', 'revocable']) await world.kubectl('apply', '-f', `REPO/deploy/samples/${name}.yaml`);
  await world.until('mt', '-A', '--all', '--for=condition=Ready');
  await world.until(CLUSTER, '--for=condition=Authorized');
  await world.until(CLUSTER, '--for=condition=Ready');
  await world.kubectl('annotate', '-n', 'team-c', 'mt/contractor', 'tokens.purser.dev/revoke=1');
  await world.until('-n', 'team-c', 'mt/contractor', '--for=jsonpath={.status.lastRevokeRequest}=1');
  await world.until('mt', '-A', '--all', '--for=condition=Ready');
});

it('reports the number of namespaces in the Authorized condition', async () => {
  const message = await world.kubectl('get', CLUSTER, '-o', 'jsonpath={.status.conditions[?(@.type=="Authorized")].message}');
  expect(message).toMatch(/: in 1 namespace\.$/);
});

it('sends no request that the target rejects with 403', async () => {
  expect((await useOf(world.target.auditLog, ACCOUNT)).rejected).toEqual([]);
});
