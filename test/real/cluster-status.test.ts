// The conditions of a real cluster that freezes, returns, and is given other credentials, by the clock of this machine.

import { afterAll, beforeAll, expect, it } from '@jest/globals';
import { Clusters } from '../../src/api/resources.ts';
import { systemClock } from '../../src/std/clock.ts';
import { ClusterWorld } from '../controllers/cluster-status/cluster-world.ts';
import { kubernetesVersion } from '../support/kube-binaries.ts';
import { type RealCluster, startRealCluster } from '../support/real-cluster.ts';

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

it('is not ready within 30 s of freezing, and ready within 30 s of its return', async () => {
  target.pause();
  await shows('Ready=False Timeout');
  target.resume();
  await shows('Ready=True ClusterReady');
}, 90_000);

it('tells a rejected credential, one without rights, and a good one apart', async () => {
  await world.credential('real', { token: 'no-such-token', server: target.url });
  await shows('Authorized=False CredentialRejected');
  await world.credential('real', { token: 'alicetoken', server: target.url });
  await shows('Authorized=False Forbidden');
  await world.credential('real', { token: 'admintoken', server: target.url });
  await shows('Ready=True ClusterReady');
}, 90_000);

it('is not spoken to under another authority, and at once again under its own', async () => {
  const bundle = (pem: string) => ({ spec: { orchestratorApiEndpoints: { caBundle: Buffer.from(pem).toString('base64') } } });
  await world.hub.admin.patch(Clusters, { name: 'real' }, bundle(world.hub.ca));
  await shows('Reachable=False TLSVerifyFailed');
  await world.hub.admin.patch(Clusters, { name: 'real' }, bundle(target.ca));
  await shows('Ready=True ClusterReady');
}, 90_000);
