// The commands of docs/operating.md on real clusters, in their order: install, register, renew a credential, uninstall.

import { mkdir, readFile, symlink, writeFile } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it, jest } from '@jest/globals';
import { parse } from 'yaml';
import { blocksOf, documents, stepsOf } from '../docs/documents.ts';
import { type Ran, runSteps, type Shell } from '../docs/shell.ts';
import { newFolder } from '../support/folders.ts';
import { kubeBinaries } from '../support/kube-binaries.ts';
import type { RealCluster } from '../support/real-cluster.ts';
import { type Deployment, DeployWorld, isDeployment, kustomized } from './deploy-world.ts';

jest.setTimeout(300_000);

const REPOSITORY = join(import.meta.dirname, '../..');
const blocks = documents().flatMap(blocksOf);
const [install, register, renew, uninstall] = blocks.filter(({ place }) => place === 'hub');
const orphans = blocks.find(({ place }) => place === 'orphans');
const { kubectl } = kubeBinaries() ?? { kubectl: '' };

let world: DeployWorld;
let shell: Shell;

beforeAll(async () => {
  world = await DeployWorld.bare();
  const folder = await newFolder();
  for (const name of ['deploy', 'crds']) await symlink(join(REPOSITORY, name), join(folder, name));
  const kubeconfig = join(folder, 'kubeconfig');
  await writeFile(kubeconfig, JSON.stringify(await merged({ hub: world.hub, target: world.target })));
  await mkdir(join(folder, 'home'));
  const env = { PATH: `${dirname(kubectl)}:${process.env['PATH']}`, HOME: join(folder, 'home'), KUBECONFIG: kubeconfig };
  shell = { folder, env };
});

afterAll(() => world?.stop());

describe('The manual', () => {
  it('installs Purser', async () => {
    expect(await failures(install)).toEqual([]);
    const deployment = (await kustomized('base')).find(isDeployment) as Deployment;
    await world.startDeployed(deployment);
  });

  it('registers a cluster', async () => {
    expect(await failures(register)).toEqual([]);
  });

  it('renews a credential', async () => {
    const [ran] = await runSteps(renew === undefined ? [] : stepsOf(renew), shell);
    expect(ran).toMatchObject({ code: 0, printed: expect.stringContaining('is valid until') });
    await world.until('cluster.registry.purser.dev', 'target-1', '--for=condition=Authorized');
  });

  it('leaves nothing behind', async () => {
    await world.onTarget('apply', '-f', 'REPO/deploy/target/deployer.yaml');
    await world.kubectl('apply', '-f', 'REPO/deploy/samples/revocable.yaml');
    await world.until('mt', '-n', 'team-c', 'contractor', '--for=condition=Ready');

    expect(await failures(uninstall)).toEqual([]);
    expect(await world.kubectl('get', 'crd,clusterrole,clusterrolebinding,ns', '-o', 'name')).not.toContain('purser');
    expect(await world.kubectl('get', 'secrets', '-n', 'team-c', '-o', 'name')).toBe('');
    expect(await world.onTarget('get', 'secrets,clusterroles,namespaces', '-A', '-o', 'name')).not.toContain('purser');
  });

  it('frees what was left by a Purser that was removed first', async () => {
    await world.stopDeployed();
    await world.kubectl('apply', '-f', 'REPO/crds');
    await world.kubectl('wait', '--for=condition=Established', 'crd', '--all', '--timeout=60s');
    const stuck = {
      apiVersion: 'tokens.purser.dev/v1alpha1',
      kind: 'ManagedToken',
      metadata: { name: 'stuck', namespace: 'default', finalizers: ['tokens.purser.dev/anchor'] },
      spec: { clusterName: 'target-1', serviceAccount: { namespace: 'deploy', name: 'deployer' }, audiences: ['a'] },
    };
    const file = join(shell.folder, 'stuck.json');
    await writeFile(file, JSON.stringify(stuck));
    await world.kubectl('apply', '-f', file);
    await world.onTarget('create', 'secret', 'generic', 'purser-1', '-n', 'deploy');
    await world.onTarget('label', 'secret', 'purser-1', '-n', 'deploy', 'tokens.purser.dev/managed-by=purser');

    expect(await failures(orphans)).toEqual([]);
    await world.kubectl('delete', 'mt', '-n', 'default', 'stuck', '--timeout=30s');
    expect(await world.onTarget('get', 'secrets', '-n', 'deploy', '-o', 'name')).toBe('');
  });
});

/** The commands of a block that failed, with what they printed. */
async function failures(block: Parameters<typeof stepsOf>[0] | undefined): Promise<readonly Ran[]> {
  if (block === undefined) throw new Error('the manual has no such block');
  const strict = stepsOf(block).map(({ command, shown }) => ({ command: `set -eo pipefail\n${command}`, shown }));
  return (await runSteps(strict, shell)).filter(({ code }) => code !== 0);
}

/** One kubeconfig with a context for each cluster. */
async function merged(clusters: Readonly<Record<string, RealCluster>>): Promise<object> {
  const entries = await Promise.all(
    Object.entries(clusters).map(async ([name, cluster]) => {
      const config = parse(await readFile(await cluster.kubeconfig('admin'), 'utf8')) as Config;
      return { name, cluster: config.clusters[0].cluster, user: config.users[0].user };
    }),
  );
  return {
    apiVersion: 'v1',
    kind: 'Config',
    clusters: entries.map(({ name, cluster }) => ({ name, cluster })),
    users: entries.map(({ name, user }) => ({ name, user })),
    contexts: entries.map(({ name }) => ({ name, context: { cluster: name, user: name } })),
    'current-context': 'hub',
  };
}

interface Config {
  readonly clusters: readonly [{ readonly cluster: object }];
  readonly users: readonly [{ readonly user: object }];
}
