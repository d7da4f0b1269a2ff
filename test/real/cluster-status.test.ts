// Conditions of a real cluster that crashes, freezes, slows down and recovers, and whose credential and certificate change.

import { afterAll, beforeAll, expect, it } from '@jest/globals';
import type { ClusterCondition } from '../../src/api/cluster.gen.ts';
import { Clusters } from '../../src/api/resources.ts';
import { systemClock } from '../../src/std/clock.ts';
import { ClusterWorld } from '../clusters/cluster-world.ts';
import { eventually } from '../contract/eventually.ts';
import { kubernetesVersion } from '../support/kube-binaries.ts';
import { type RealCluster, startRealCluster } from '../support/real-cluster.ts';
import { startSlowProxy } from '../support/slow-proxy.ts';

let world: ClusterWorld;
let target: RealCluster;

beforeAll(async () => {
  [world, target] = await Promise.all([ClusterWorld.start(), startRealCluster()]);
  world.run(systemClock);
  await world.register('real', [target.url], { token: 'admintoken', ca: target.ca });
});

afterAll(async () => {
  await world.close();
  await target.stop();
});

const shows = (condition: string, name = 'real') => eventually(async () => expect(await world.conditions(name)).toContain(condition));

it('reports Ready and the version of a reachable cluster', async () => {
  await shows('Ready=True ClusterReady');
  expect((await world.get('real')).status).toMatchObject({ version: kubernetesVersion(), type: 'Kubernetes', activeEndpoint: target.url });
});

it('reports a crashed cluster as not ready, and as ready after its restart', async () => {
  await expectOneOutage(async () => {
    await target.kill();
    await shows('Ready=False ConnectionRefused');
    expect(await world.conditions('real')).toContain('Authorized=Unknown NoResponse');
    const { lastTransitionTime } = await getReady();
    await target.restart('kill');
    await shows('Ready=True ClusterReady');
    expect(Date.parse((await getReady()).lastTransitionTime ?? '')).toBeGreaterThan(Date.parse(lastTransitionTime ?? ''));
  }, 'ConnectionRefused');
});

it('reports a frozen cluster as not ready, and as ready after it resumes', async () => {
  await expectOneOutage(async () => {
    target.pause();
    await shows('Ready=False Timeout');
    target.resume();
    await shows('Ready=True ClusterReady');
  }, 'Timeout');
});

it('reports a cluster with 1 s of latency as ready, and with 8 s as not ready', async () => {
  const proxy = await startSlowProxy(target.port);
  try {
    await world.register('slow', [`https://127.0.0.1:${proxy.port}`], { token: 'admintoken', ca: target.ca });
    await shows('Ready=True ClusterReady', 'slow');
    proxy.delay(1_000);
    await waitForProbes('slow', 3);
    proxy.delay(8_000);
    await shows('Ready=False Timeout', 'slow');
    proxy.delay(0);
    await shows('Ready=True ClusterReady', 'slow');
    expect(world.history('slow')).toEqual(['True ClusterReady', 'False Timeout', 'True ClusterReady']);
  } finally {
    await world.hub.admin.delete(Clusters, { name: 'slow' });
    await proxy.close();
  }
});

it('distinguishes a rejected credential, a credential without permissions and a valid one', async () => {
  await world.credential('real', { token: 'no-such-token', server: target.url, 'ca.crt': target.ca });
  await shows('Authorized=False CredentialRejected');
  await world.credential('real', { token: 'alicetoken', server: target.url, 'ca.crt': target.ca });
  await shows('Authorized=False Forbidden');
  await world.credential('real', { token: 'admintoken', server: target.url, 'ca.crt': target.ca });
  await shows('Ready=True ClusterReady');
});

it('stays ready when the server certificate is rotated under the same CA', async () => {
  await target.rotateCertificate('same authority');
  await shows('Ready=True ClusterReady');
  await waitForProbes('real', 2);
  expect(await world.conditions('real')).toContain('Reachable=True Responding');
});

it('rejects a server certificate of a new CA, and reports Ready after caBundle is updated', async () => {
  await expectOneOutage(async () => {
    await target.rotateCertificate('new authority');
    await shows('Reachable=False TLSVerifyFailed');
    const caBundle = Buffer.from(target.ca).toString('base64');
    await world.credential('real', { token: 'admintoken', server: target.url, 'ca.crt': target.ca });
    await world.hub.admin.patch(Clusters, { name: 'real' }, { spec: { orchestratorApiEndpoints: { caBundle } } });
    await shows('Ready=True ClusterReady');
  }, 'TLSVerifyFailed');
});

async function getReady(): Promise<ClusterCondition> {
  const { status } = await world.get('real');
  return status?.conditions?.[0] ?? { type: 'Ready', status: 'Unknown' };
}

/** Runs `work`, and expects that Ready becomes False once, with this reason among others, and then True. */
async function expectOneOutage(work: () => Promise<void>, reason: string): Promise<void> {
  const before = world.history('real').length;
  await work();
  const history = world.history('real').slice(before);
  expect(history).toContain(`False ${reason}`);
  expect(history.map((line) => line.split(' ')[0]).filter((status, index, all) => status !== all[index - 1])).toEqual(['False', 'True']);
}

/** Waits for `count` more probes of a cluster. */
async function waitForProbes(name: string, count: number): Promise<void> {
  const done = () => world.outcomes.filter(({ key }) => key === name).length;
  const expected = done() + count;
  await eventually(async () => expect(done()).toBeGreaterThanOrEqual(expected), 60_000);
}
