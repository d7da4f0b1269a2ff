// Certificate of the façade on a real hub, replaced by server-side apply as cert-manager does.

import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { afterAll, beforeAll, expect, it } from '@jest/globals';
import { FacadeConfigMap } from '../../src/api/names.ts';
import { ConfigMaps, Namespaces, Secrets } from '../../src/api/resources.ts';
import { createHubCertificateSource } from '../../src/facade/certificate-secret.ts';
import { KubeClient } from '../../src/kube/client.ts';
import { loadKubeConfig } from '../../src/kube/kube-config.ts';
import { createTransport } from '../../src/kube/transport.ts';
import { systemClock } from '../../src/std/clock.ts';
import { createAuthority, issueServerCertificate } from '../../src/std/x509/certificates.ts';
import { FakeClock } from '../support/clock.ts';
import { type RealCluster, startRealCluster } from '../support/real-cluster.ts';
import { silentLog } from '../support/silent-log.ts';
import { runKubectl } from './kubectl.ts';

const SECRET = { namespace: 'purser-system', name: 'purser-facade-tls' };
const DAY_MS = 86_400_000;
let cluster: RealCluster;
let hub: KubeClient;

beforeAll(async () => {
  cluster = await startRealCluster();
  const config = await loadKubeConfig(await cluster.kubeconfig('admin'));
  hub = new KubeClient(createTransport(config, { clock: systemClock }), 'purser');
  await hub.create(Namespaces, { metadata: { name: SECRET.namespace } });
});

afterAll(async () => {
  await hub?.transport.close();
  await cluster?.stop();
});

it("uses a certificate that another client applied, and publishes its CA, even if the key of Purser's own CA stays in the Secret", async () => {
  const clock = new FakeClock(Date.now());
  const source = () =>
    createHubCertificateSource({
      hub,
      ...SECRET,
      mayIssue: true,
      access: { path: 'orchestrator', audiences: [] },
      clock,
      log: silentLog,
    })();
  const issued = await source();
  const authority = createAuthority(Date.now());
  const { certificate, key } = issueServerCertificate(authority, ['purser.purser-system.svc'], Date.now());
  const texts = { 'tls.crt': certificate, 'tls.key': key, 'ca.crt': authority.certificate };
  const data = Object.fromEntries(Object.entries(texts).map(([name, text]) => [name, Buffer.from(text).toString('base64')]));
  const file = join(cluster.folder, 'secret.json');
  await writeFile(file, JSON.stringify({ apiVersion: 'v1', kind: 'Secret', type: 'kubernetes.io/tls', metadata: SECRET, data }));
  const flags = ['--server-side', '--force-conflicts', '--field-manager=cert-manager-certificates-issuing'];
  expect(await runKubectl(cluster, ['apply', ...flags, '-f', file])).toMatchObject({ code: 0 });
  const { data: merged, metadata } = await hub.get(Secrets, SECRET);
  expect(Object.keys(merged ?? {}).sort()).toEqual(['ca.crt', 'ca.key', 'tls.crt', 'tls.key']);

  // After 300 days, the certificate of Purser's own CA would be due for renewal.
  for (const days of [0, 300]) {
    clock.advance(days * DAY_MS);
    expect(await source()).toEqual({ cert: certificate, key });
  }
  expect(issued.cert).not.toBe(certificate);
  expect((await hub.get(Secrets, SECRET)).metadata.resourceVersion).toBe(metadata.resourceVersion);
  const published = await hub.get(ConfigMaps, { namespace: SECRET.namespace, name: FacadeConfigMap.name });
  expect(published.data).toEqual({ 'ca.crt': authority.certificate, path: 'orchestrator' });
});
