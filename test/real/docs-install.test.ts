// The README's installation on a cluster, as somebody does it who has nothing else: on a real hub, for a real target.

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

describe('The README', () => {
  it('installs Purser from the image that was pushed', async () => {
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

  it('has a first token issued', async () => {
    expect(await failures(first, place.shell)).toEqual([]);
  });
});

describe('The manual', () => {
  it('gives whoever runs Purser elsewhere the rights of its pods', async () => {
    expect(await failures(outside, place.shell)).toEqual([]);
    const asPurser = { ...place.shell.env, KUBECONFIG: join(place.shell.folder, 'purser.kubeconfig') };
    const { output } = await run('kubectl', ['auth', 'whoami', '-o', 'jsonpath={.status.userInfo.username}'], asPurser);
    expect(output).toBe('system:serviceaccount:purser-system:purser');
  });

  it('lets Prometheus read the metrics', async () => {
    for (const what of [
      ['namespace', 'monitoring'],
      ['serviceaccount', 'prometheus', '-n', 'monitoring'],
    ])
      await place.world.kubectl('create', ...what);
    expect(await failures(monitoring, place.shell)).toEqual([]);
    const authorization = `Bearer ${await place.world.tokenOf('monitoring', 'prometheus')}`;
    const status = async () => (await place.world.ask(['purser', 'metrics'], 'GET /metrics', { headers: { authorization } })).status;
    // The certificate that it began with, before it knew this one, is replaced in seconds.
    await eventually(async () => (await status().catch(() => 0)) === 200);
  });
});
