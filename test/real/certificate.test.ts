// Certificate of the façade on a real hub, replaced by server-side apply as cert-manager does.

import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { afterAll, beforeAll, expect, it, jest } from '@jest/globals';
import { ConfigMaps, Namespaces, Secrets } from '../../src/api/resources.ts';
import { AUTHORITY_CONFIG_MAP, hubCertificate } from '../../src/facade/certificate-secret.ts';
import { KubeClient } from '../../src/kube/client.ts';
import { loadKubeConfig } from '../../src/kube/kube-config.ts';
import { createTransport } from '../../src/kube/transport.ts';
import { systemClock } from '../../src/std/clock.ts';
import { createAuthority, issueServerCertificate } from '../../src/std/x509/certificates.ts';
import { FakeClock } from '../support/clock.ts';
import { kubeBinaries } from '../support/kube-binaries.ts';
import { type RealCluster, startRealCluster } from '../support/real-cluster.ts';
import { run } from '../support/run.ts';

jest.setTimeout(120_000);

const PLACE = { namespace: 'purser-system', name: 'purser-facade-tls' };
const DAY_MS = 86_400_000;
let cluster: RealCluster;
let hub: KubeClient;

beforeAll(async () => {
  cluster = await startRealCluster();
  const config = await loadKubeConfig(await cluster.kubeconfig('admin'));
  hub = new KubeClient(createTransport(config, { clock: systemClock }), 'purser');
  await hub.create(Namespaces, { metadata: { name: PLACE.namespace } });
});

afterAll(async () => {
  await hub?.transport.close();
  await cluster?.stop();
});

it('uses a certificate that another client applied, and publishes its CA, although our CA key stays in the Secret', async () => {
  const clock = new FakeClock(Date.now());
  const source = () => hubCertificate({ hub, ...PLACE, mayIssue: true, clock })();
  const ours = await source();
  const authority = createAuthority(Date.now());
  const { certificate, key } = issueServerCertificate(authority, ['purser.purser-system.svc'], Date.now());
  const texts = { 'tls.crt': certificate, 'tls.key': key, 'ca.crt': authority.certificate };
  const data = Object.fromEntries(Object.entries(texts).map(([name, text]) => [name, Buffer.from(text).toString('base64')]));
  const file = join(cluster.folder, 'secret.json');
  await writeFile(file, JSON.stringify({ apiVersion: 'v1', kind: 'Secret', type: 'kubernetes.io/tls', metadata: PLACE, data }));
  const flags = ['--server-side', '--force-conflicts', '--field-manager=cert-manager-certificates-issuing'];
  const kubeconfig = ['--kubeconfig', await cluster.kubeconfig('admin')];
  expect(await run(kubeBinaries()?.kubectl ?? 'kubectl', [...kubeconfig, 'apply', ...flags, '-f', file])).toMatchObject({ code: 0 });
  const { data: merged, metadata } = await hub.get(Secrets, PLACE);
  expect(Object.keys(merged ?? {}).sort()).toEqual(['ca.crt', 'ca.key', 'tls.crt', 'tls.key']);

  // Also at the time when our own certificate would be renewed.
  for (const days of [0, 300]) {
    clock.advance(days * DAY_MS);
    expect(await source()).toEqual({ cert: certificate, key });
  }
  expect(ours.cert).not.toBe(certificate);
  expect((await hub.get(Secrets, PLACE)).metadata.resourceVersion).toBe(metadata.resourceVersion);
  const published = await hub.get(ConfigMaps, { namespace: PLACE.namespace, name: AUTHORITY_CONFIG_MAP });
  expect(published.data).toEqual({ 'ca.crt': authority.certificate });
});
