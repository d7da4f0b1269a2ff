// The sample of a whole platform, on a real hub with the admission policies, with Purser as the manifests deploy it.

import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import type { Secret } from '../../src/api/resources.ts';
import { readManifests } from '../../src/kube/manifests.ts';
import { type Deployment, DeployWorld, isDeployment, renderKustomization, waitUntil } from './deploy-world.ts';

let world: DeployWorld;

beforeAll(async () => {
  world = await DeployWorld.start('base');
  await world.enforcePolicies();
  await world.startDeployed((await renderKustomization('base')).find(isDeployment) as Deployment);
  const objects = await readManifests('deploy/samples/platform.yaml');
  for (const { kind, metadata } of objects.filter((each) => each.kind === 'Cluster')) {
    // Addresses and credentials in the sample are examples.
    await world.register(metadata.name ?? '');
    const labels = Object.entries(metadata.labels ?? {}).map(([name, value]) => `${name}=${value}`);
    await world.kubectl('label', '--overwrite', `${kind}/${metadata.name}`, ...labels);
  }
  await world.apply(objects.filter(({ kind }) => kind !== 'Cluster' && kind !== 'Secret'));
});

afterAll(() => world?.stop());

async function secrets(namespace: string): Promise<readonly Secret[]> {
  const list = JSON.parse(await world.kubectl('get', 'secrets', '-n', namespace, '-o', 'json')) as { readonly items: readonly Secret[] };
  return list.items;
}

const namesIn = async (namespace: string) => (await secrets(namespace)).map(({ metadata }) => metadata.name);

async function waitForSecrets(namespace: string, ...names: readonly string[]): Promise<void> {
  await waitUntil(async () => String(await namesIn(namespace)) === String(names));
}

describe('platform sample', () => {
  it('gives each consumer the Secrets of its clusters', async () => {
    await waitForSecrets('argocd', 'cluster-dev-1', 'cluster-eu-1', 'cluster-us-1');
    await waitForSecrets('flux-system', 'eu-1-kubeconfig', 'us-1-kubeconfig');
    await waitForSecrets('ci', 'dev-1-deployer');
    const [dev] = await secrets('argocd');
    expect(dev?.metadata.labels).toMatchObject({ 'argocd.argoproj.io/secret-type': 'cluster', env: 'dev', region: 'eu' });
  });

  it('moves the Secrets of a cluster that becomes a production cluster', async () => {
    await world.kubectl('label', '--overwrite', 'cluster.registry.purser.dev/dev-1', 'env=prod', 'registry.purser.dev/set=prod');
    await waitForSecrets('flux-system', 'dev-1-kubeconfig', 'eu-1-kubeconfig', 'us-1-kubeconfig');
    await waitForSecrets('ci');
    expect(await namesIn('argocd')).toEqual(['cluster-dev-1', 'cluster-eu-1', 'cluster-us-1']);
  });
});
