import { type ChannelListener, subscribe, unsubscribe } from 'node:diagnostics_channel';
import { expect, it } from '@jest/globals';
import { Leases, Secrets } from '../../src/api/resources.ts';
import { startApp } from '../../src/app/app.ts';
import { createFixedConfig } from '../../src/kube/kube-config.ts';
import { systemClock } from '../../src/std/clock.ts';
import { createLogger } from '../../src/telemetry/logger.ts';
import { ClusterWorld, healthy } from '../clusters/cluster-world.ts';
import { appSettings } from '../support/app-settings.ts';
import { base64, CREDENTIALS } from '../tokens/token-world.ts';

const SETTINGS = appSettings({ namespace: CREDENTIALS, components: ['controller'] });

it('renews the Lease on a separate connection', async () => {
  const world = await ClusterWorld.start();
  const sent = new Map<unknown, Set<string>>();
  const listener: ChannelListener = (message) => {
    const { request, socket } = message as { request: { origin: string; path: string }; socket: unknown };
    if (request.origin === world.hub.url) sent.set(socket, (sent.get(socket) ?? new Set()).add(kindOf(request.path)));
  };
  subscribe('undici:client:sendHeaders', listener);
  const cluster = { name: 'hub', server: world.hub.url, caData: base64(world.hub.ca), skipTLSVerify: false };
  const log = createLogger({ level: 'silent', readable: false, write: () => {} });
  const hub = createFixedConfig(cluster, { name: 'purser', token: 'admintoken' });
  const app = startApp({ hub, clock: systemClock, random: Math.random, log, settings: SETTINGS });
  await app.ready;
  const { url } = await world.serve(healthy());
  await world.register('well', [url]);
  await world.shows('well', 'Ready=True ClusterReady');
  await app.stop();
  unsubscribe('undici:client:sendHeaders', listener);
  const ways = [...sent.values()].map((kinds) => [...kinds]);
  expect(ways).toContainEqual(['leases']);
  expect(ways.filter((kinds) => kinds.includes('leases') && kinds.length > 1)).toEqual([]);
  expect((await world.hub.admin.get(Leases, { namespace: CREDENTIALS, name: 'purser' })).spec?.holderIdentity ?? '').toBe('');
  await world.close();
});

it('runs the controllers while the façade waits for its certificate', async () => {
  const world = await ClusterWorld.start();
  const unusable = { metadata: { namespace: CREDENTIALS, name: 'facade-tls' }, type: 'Opaque', data: { 'tls.crt': base64('not yet') } };
  await world.hub.admin.create(Secrets, unusable);
  const cluster = { name: 'hub', server: world.hub.url, caData: base64(world.hub.ca), skipTLSVerify: false };
  const log = createLogger({ level: 'silent', readable: false, write: () => {} });
  const hub = createFixedConfig(cluster, { name: 'purser', token: 'admintoken' });
  const settings = { ...SETTINGS, components: ['controller', 'facade'] as const, facadeTlsSecret: 'facade-tls' };
  const app = startApp({ hub, clock: systemClock, random: Math.random, log, settings });
  const { url } = await world.serve(healthy());
  await world.register('well', [url]);
  await world.shows('well', 'Ready=True ClusterReady');
  await app.stop();
  await expect(app.ready).rejects.toBeDefined();
  await world.close();
});

function kindOf(path: string): string {
  return /\/leases(\/|$|\?)/.test(path) ? 'leases' : 'others';
}
