// The conditions of a real cluster that dies, freezes, slows down, returns, and is given other credentials and certificates, by
// the clock of this machine.

import { afterAll, beforeAll, expect, it } from '@jest/globals';
import type { ClusterCondition } from '../../src/api/cluster.gen.ts';
import { Clusters } from '../../src/api/resources.ts';
import { systemClock } from '../../src/std/clock.ts';
import { ClusterWorld } from '../clusters/cluster-world.ts';
import { eventually } from '../contract/eventually.ts';
import { kubernetesVersion } from '../support/kube-binaries.ts';
import { type RealCluster, startRealCluster } from '../support/real-cluster.ts';
import { startSlowProxy } from '../support/slow-proxy.ts';

const LIMIT_MS = 30_000;
let world: ClusterWorld;
let target: RealCluster;

beforeAll(async () => {
  [world, target] = await Promise.all([ClusterWorld.start(), startRealCluster()]);
  world.run(systemClock);
  await world.register('real', [target.url], { token: 'admintoken', ca: target.ca });
}, 120_000);

afterAll(async () => {
  await world.close();
  await target.stop();
}, 60_000);

const shows = (condition: string) => world.shows('real', condition, LIMIT_MS);

it('is ready within seconds, with its version', async () => {
  await shows('Ready=True ClusterReady');
  expect((await world.get('real')).status).toMatchObject({ version: kubernetesVersion(), type: 'Kubernetes', activeEndpoint: target.url });
}, 60_000);

it('F8: is not ready within 30 s of its death, and ready within 30 s of its return', async () => {
  await turns(async () => {
    await target.kill();
    await shows('Ready=False ConnectionRefused');
    expect(await world.conditions('real')).toContain('Authorized=Unknown NoResponse');
    const { lastTransitionTime } = await ready();
    await target.restart('kill');
    await shows('Ready=True ClusterReady');
    expect(Date.parse((await ready()).lastTransitionTime ?? '')).toBeGreaterThan(Date.parse(lastTransitionTime ?? ''));
  }, 'ConnectionRefused');
}, 180_000);

it('F11: is not ready within 30 s of freezing, and ready within 30 s of its return', async () => {
  await turns(async () => {
    target.pause();
    await shows('Ready=False Timeout');
    target.resume();
    await shows('Ready=True ClusterReady');
  }, 'Timeout');
}, 90_000);

it('F9: stays ready behind a slow line, and is not ready behind one that is too slow', async () => {
  const proxy = await startSlowProxy(target.port);
  try {
    await world.register('slow', [`https://127.0.0.1:${proxy.port}`], { token: 'admintoken', ca: target.ca });
    await world.shows('slow', 'Ready=True ClusterReady', LIMIT_MS);
    proxy.delay(1_000);
    await probes('slow', 3);
    proxy.delay(8_000);
    await world.shows('slow', 'Ready=False Timeout', LIMIT_MS);
    proxy.delay(0);
    await world.shows('slow', 'Ready=True ClusterReady', LIMIT_MS);
    expect(world.history('slow')).toEqual(['True ClusterReady', 'False Timeout', 'True ClusterReady']);
  } finally {
    await world.hub.admin.delete(Clusters, { name: 'slow' });
    await proxy.close();
  }
}, 180_000);

it('F17, F18: tells a rejected credential, one without rights, and a good one apart', async () => {
  await world.credential('real', { token: 'no-such-token', server: target.url, 'ca.crt': target.ca });
  await shows('Authorized=False CredentialRejected');
  await world.credential('real', { token: 'alicetoken', server: target.url, 'ca.crt': target.ca });
  await shows('Authorized=False Forbidden');
  await world.credential('real', { token: 'admintoken', server: target.url, 'ca.crt': target.ca });
  await shows('Ready=True ClusterReady');
}, 90_000);

it('F14: has another certificate of the same authority without anybody noticing', async () => {
  await target.rotateCertificate('same authority');
  await shows('Ready=True ClusterReady');
  await probes('real', 2);
  expect(await world.conditions('real')).toContain('Reachable=True Responding');
}, 120_000);

it('F15: is not spoken to under a new authority, and again within 10 s of its bundle', async () => {
  await turns(async () => {
    await target.rotateCertificate('new authority');
    await shows('Reachable=False TLSVerifyFailed');
    const caBundle = Buffer.from(target.ca).toString('base64');
    await world.credential('real', { token: 'admintoken', server: target.url, 'ca.crt': target.ca });
    await world.hub.admin.patch(Clusters, { name: 'real' }, { spec: { orchestratorApiEndpoints: { caBundle } } });
    await world.shows('real', 'Ready=True ClusterReady', 10_000);
  }, 'TLSVerifyFailed');
}, 120_000);

async function ready(): Promise<ClusterCondition> {
  const { status } = await world.get('real');
  return status?.conditions?.[0] ?? { type: 'Ready', status: 'Unknown' };
}

/** Expects that the cluster turns once and back, whatever reasons it gives meanwhile. */
async function turns(work: () => Promise<void>, reason: string): Promise<void> {
  const before = world.history('real').length;
  await work();
  const history = world.history('real').slice(before);
  expect(history).toContain(`False ${reason}`);
  expect(history.map((said) => said.split(' ')[0]).filter((status, index, all) => status !== all[index - 1])).toEqual(['False', 'True']);
}

/** Resolves after this many more probes of a cluster. */
async function probes(name: string, count: number): Promise<void> {
  const done = () => world.outcomes.filter(({ key }) => key === name).length;
  const enough = done() + count;
  await eventually(async () => expect(done()).toBeGreaterThanOrEqual(enough), 60_000);
}
