// Runs the installation commands of the README in order on a real hub and a real target.

import { join } from 'node:path';
import { describe, expect, it, jest } from '@jest/globals';
import { run } from '../support/run.ts';
import { type Deployment, eventually, isDeployment, kustomized } from './deploy-world.ts';
import { blocksIn, documentedPlace, failures } from './docs-world.ts';

jest.setTimeout(300_000);

const [install, register, first] = blocksIn('install');
const [outside] = blocksIn('outside');
const [monitoring] = blocksIn('monitoring');

const place = documentedPlace();

describe('README.md', () => {
  it('installs Purser from the pushed image', async () => {
    expect(await failures(install, place.shell)).toEqual([]);
    const image = ['-o', 'jsonpath={.spec.template.spec.containers[0].image}'];
    expect(await place.world.kubectl('get', 'deployment', 'purser', '-n', 'purser-system', ...image)).toBe(
      'registry.example.com/purser:0.1.0',
    );
    await place.world.startDeployed((await kustomized('base')).find(isDeployment) as Deployment);
  });

  it('registers a cluster', async () => {
    expect(await failures(register, place.shell)).toEqual([]);
  });

  it('requests the first token', async () => {
    expect(await failures(first, place.shell)).toEqual([]);
  });
});

describe('docs/operating.md', () => {
  it('creates a kubeconfig with the permissions of the pods', async () => {
    expect(await failures(outside, place.shell)).toEqual([]);
    const asPurser = { ...place.shell.env, KUBECONFIG: join(place.shell.folder, 'purser.kubeconfig') };
    const { output } = await run('kubectl', ['auth', 'whoami', '-o', 'jsonpath={.status.userInfo.username}'], asPurser);
    expect(output).toBe('system:serviceaccount:purser-system:purser');
  });

  it('allows Prometheus to read the metrics', async () => {
    for (const what of [
      ['namespace', 'monitoring'],
      ['serviceaccount', 'prometheus', '-n', 'monitoring'],
    ])
      await place.world.kubectl('create', ...what);
    expect(await failures(monitoring, place.shell)).toEqual([]);
    const authorization = `Bearer ${await place.world.tokenOf('monitoring', 'prometheus')}`;
    const status = async () => (await place.world.ask(['purser', 'metrics'], 'GET /metrics', { headers: { authorization } })).status;
    // Purser replaces its initial certificate within seconds.
    await eventually(async () => (await status().catch(() => 0)) === 200);
  });
});
