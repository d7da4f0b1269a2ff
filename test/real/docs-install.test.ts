// Runs the installation commands of the README in order on a real hub and a real target.

import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { describe, expect, it } from '@jest/globals';
import { run } from '../support/run.ts';
import { type Deployment, isDeployment, renderKustomization, waitUntil } from './deploy-world.ts';
import { blocksIn, runBlock, startDocsWorld } from './docs-world.ts';

const [install, register, first, upgrade] = blocksIn('install');
const [outside] = blocksIn('outside');
const [monitoring] = blocksIn('monitoring');

const docs = startDocsWorld();

async function deployedImage(): Promise<string> {
  const image = ['-o', 'jsonpath={.spec.template.spec.containers[0].image}'];
  return await docs.world.kubectl('get', 'deployment', 'purser', '-n', 'purser-system', ...image);
}

describe('commands in README.md', () => {
  it('installs Purser from the pushed image', async () => {
    expect(await runBlock(install, docs.shell)).toEqual([]);
    expect(await deployedImage()).toBe('registry.example.com/purser:0.1.0');
    await docs.world.startDeployed((await renderKustomization('base')).find(isDeployment) as Deployment);
  });

  it('registers a cluster', async () => {
    expect(await runBlock(register, docs.shell)).toEqual([]);
  });

  it('requests the first token', async () => {
    expect(await runBlock(first, docs.shell)).toEqual([]);
  });
});

describe('commands in docs/operating.md', () => {
  it('keeps the image of the registry at an upgrade', async () => {
    expect(await runBlock(upgrade, docs.shell)).toEqual([]);
    expect(await deployedImage()).toBe('registry.example.com/purser:0.1.0');
  });

  it('creates a kubeconfig with the permissions of the pods', async () => {
    expect(await runBlock(outside, docs.shell)).toEqual([]);
    const asPurser = { ...docs.shell.env, KUBECONFIG: join(docs.shell.folder, 'purser.kubeconfig') };
    const { output } = await run('kubectl', ['auth', 'whoami', '-o', 'jsonpath={.status.userInfo.username}'], asPurser);
    expect(output).toBe('system:serviceaccount:purser-system:purser');
    // Other users of the machine can read command lines.
    expect(outside?.text).not.toContain('--token');
    expect(await readFile(asPurser.KUBECONFIG, 'utf8')).toContain('tokenFile: ');
  });

  it('grants Prometheus permission to read the metrics', async () => {
    for (const object of [
      ['namespace', 'monitoring'],
      ['serviceaccount', 'prometheus', '-n', 'monitoring'],
    ])
      await docs.world.kubectl('create', ...object);
    expect(await runBlock(monitoring, docs.shell)).toEqual([]);
    const authorization = `Bearer ${await docs.world.createToken('monitoring', 'prometheus')}`;
    const status = async () => (await docs.world.request(['purser', 'metrics'], 'GET /metrics', { headers: { authorization } })).status;
    // Purser replaces its initial certificate within seconds.
    await waitUntil(async () => (await status().catch(() => 0)) === 200);
  });
});
