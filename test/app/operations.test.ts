// /readyz of a process that is starting.

import { expect, it } from '@jest/globals';
import { CustomResourceDefinitions, Namespaces, Secrets } from '../../src/api/resources.ts';
import { type App, startApp } from '../../src/app/app.ts';
import { createFixedConfig } from '../../src/kube/kube-config.ts';
import { applyAll, readManifests } from '../../src/kube/manifests.ts';
import { systemClock } from '../../src/std/clock.ts';
import { eventually } from '../contract/eventually.ts';
import { appSettings } from '../support/app-settings.ts';
import { freePorts } from '../support/ports.ts';
import { silentLog } from '../support/silent-log.ts';
import { base64, CREDENTIALS, TestServer } from '../tokens/token-world.ts';

const CERTIFICATE = 'facade-tls';

it('reports missing custom resources, then a missing certificate, then readiness', async () => {
  const server = await TestServer.start();
  await server.admin.create(Namespaces, { metadata: { name: CREDENTIALS } });
  const certificate = { metadata: { namespace: CREDENTIALS, name: CERTIFICATE }, type: 'Opaque', data: { 'tls.crt': base64('not yet') } };
  await server.admin.create(Secrets, certificate);
  const [metricsPort = 0] = await freePorts(1);
  const app = startTestApp(server, metricsPort);
  const readyz = async () => (await fetch(`http://127.0.0.1:${metricsPort}/readyz?verbose`)).text();
  const expectLines = (...lines: readonly string[]) => eventually(async () => expect((await readyz()).split('\n')).toEqual(lines));
  await expectLines(
    '[+]ping ok',
    '[-]custom-resources failed: reason withheld',
    '[-]informer-sync failed: reason withheld',
    '[-]certificate failed: reason withheld',
    '[-]facade failed: reason withheld',
    '[+]shutdown ok',
    'readyz check failed',
    '',
  );

  await applyAll(
    server.admin,
    (await readManifests('crds')).filter(({ kind }) => kind === CustomResourceDefinitions.kind),
  );
  await expectLines(
    '[+]ping ok',
    '[+]custom-resources ok',
    '[+]informer-sync ok',
    '[-]certificate failed: reason withheld',
    '[-]facade failed: reason withheld',
    '[+]shutdown ok',
    'readyz check failed',
    '',
  );

  await server.admin.delete(Secrets, { namespace: CREDENTIALS, name: CERTIFICATE });
  await app.ready;
  expect(await readyz()).toBe(
    '[+]ping ok\n[+]custom-resources ok\n[+]informer-sync ok\n[+]certificate ok\n[+]facade ok\n[+]shutdown ok\nreadyz check passed\n',
  );
  await app.stop();
  await server.admin.transport.close();
  await server.stop();
});

function startTestApp(server: TestServer, metricsPort: number): App {
  const cluster = { name: 'hub', server: server.url, caData: base64(server.ca), skipTLSVerify: false };
  const settings = appSettings({ namespace: CREDENTIALS, facadeTlsSecret: CERTIFICATE, metricsPort, drainMs: 1_000 });
  const hub = createFixedConfig(cluster, { name: 'purser', token: 'admintoken' });
  return startApp({ hub, clock: systemClock, random: Math.random, log: silentLog, settings });
}
