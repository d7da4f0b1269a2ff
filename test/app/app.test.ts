// A process without controllers, whose façade watches Clusters itself.

import { Agent } from 'node:https';
import { afterEach, expect, it } from '@jest/globals';
import { Subject } from 'rxjs';
import type { Cluster } from '../../src/api/cluster.gen.ts';
import { Clusters } from '../../src/api/resources.ts';
import { createConnectionCloser, startApp } from '../../src/app/app.ts';
import { createFixedConfig } from '../../src/kube/kube-config.ts';
import type { Change } from '../../src/kube/store.ts';
import { systemClock } from '../../src/std/clock.ts';
import { ClusterWorld } from '../clusters/cluster-world.ts';
import { eventually } from '../kube/eventually.ts';
import { sendRequest } from '../support/api-request.ts';
import { appSettings } from '../support/app-settings.ts';
import { silentLog } from '../support/silent-log.ts';
import { stored } from '../support/stored.ts';
import type { WireReply } from '../support/wire-server.ts';
import { IssuerWorld } from '../targets/issuer-world.ts';
import { registered } from '../targets/registration.ts';
import { authority, grants, withIdentity } from '../targets/wire-target.ts';
import { base64, CREDENTIALS } from '../tokens/token-world.ts';

const SETTINGS = appSettings({ namespace: CREDENTIALS, components: ['facade'] });

const closing: (() => Promise<unknown>)[] = [];
afterEach(async () => {
  for (const close of closing.reverse()) await close();
});

it('drops the connections and credential of a deleted Cluster, even without a controller', async () => {
  const world = await ClusterWorld.start();
  closing.push(() => world.close());
  const held: WireReply[] = [];
  const { url } = await world.serve(withIdentity((_request, reply) => void held.push(reply)));
  await world.register('prod-eu', [url]);
  const cluster = { name: 'hub', server: world.hub.url, caData: base64(world.hub.ca), skipTLSVerify: false };
  const hub = createFixedConfig(cluster, { name: 'purser', token: 'admintoken' });
  const app = startApp({ hub, clock: systemClock, random: Math.random, log: silentLog, settings: SETTINGS });
  closing.push(() => app.stop());
  const { facade = '' } = await app.ready;
  const agent = new Agent({ rejectUnauthorized: false });
  closing.push(async () => agent.destroy());
  const post = () =>
    sendRequest({ url: facade, agent }, 'POST', '/orchestrator/prod-eu/api/v1/namespaces/deploy/serviceaccounts/deployer/token', {
      headers: { authorization: 'Bearer admintoken', 'content-type': 'application/json' },
      body: JSON.stringify({ apiVersion: 'authentication.k8s.io/v1', kind: 'TokenRequest', spec: { audiences: ['api'] } }),
    });
  const response = post();
  await eventually(() => expect(held).toHaveLength(1));
  await world.hub.admin.delete(Clusters, { name: 'prod-eu' });
  await eventually(() => expect(held[0]?.isOpen).toBe(false));
  expect((await response).status).toBe(503);
  expect((await post()).status).toBe(404);
});

it('reconnects to a Cluster that a list omitted by mistake', async () => {
  const world = new IssuerWorld({});
  closing.push(() => world.close());
  const { url } = await world.serve(grants());
  const prod = registered({ servers: [url], ca: authority.certificate });
  const changes$ = new Subject<Change<Cluster>>();
  const targets = createConnectionCloser(world.issuer, { changes$ });
  await targets.start(AbortSignal.any([]));
  closing.push(() => targets.stop(AbortSignal.any([])));
  await world.issue(prod);
  changes$.next({ type: 'deleted', key: 'prod-eu', object: stored(prod.cluster) });
  await expect(world.issue(prod)).rejects.toMatchObject({ reason: 'ClusterNotFound' });
  changes$.next({ type: 'added', key: 'prod-eu', object: stored(prod.cluster) });
  await world.issue(prod);
});
