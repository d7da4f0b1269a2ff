// Scrapes a deployed Purser with a real Prometheus, configured from the fields of the ServiceMonitor.

import { readFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { afterAll, beforeAll, expect, it } from '@jest/globals';
import { newFolder } from '../support/folders.ts';
import { type Prometheus, requirePrometheus, startPrometheus } from '../support/prometheus.ts';
import { type DeployedObject, type Deployment, DeployWorld, isDeployment, renderKustomization, waitUntil } from './deploy-world.ts';

interface ServiceMonitor extends DeployedObject {
  readonly spec: { readonly endpoints: readonly Endpoint[] };
}

interface Endpoint {
  readonly port: string;
  readonly scheme: string;
  readonly tlsConfig: { readonly serverName: string; readonly ca: { readonly configMap: { readonly name: string; readonly key: string } } };
  readonly honorLabels: boolean;
  readonly bearerTokenFile: string;
}

let world: DeployWorld;
let prometheus: Prometheus | undefined;

beforeAll(async () => {
  requirePrometheus();
  world = await DeployWorld.start('base');
  const objects = await renderKustomization('components/monitoring');
  const folder = await newFolder();
  const binding = objects.find(({ kind }) => kind === 'ClusterRoleBinding');
  await writeFile(join(folder, 'binding.json'), JSON.stringify(binding));
  await world.kubectl('apply', '-f', join(folder, 'binding.json'));
  await world.kubectl('create', 'namespace', 'monitoring');
  await world.kubectl('create', 'serviceaccount', 'prometheus', '-n', 'monitoring');
  await world.startDeployed((await renderKustomization('base')).find(isDeployment) as Deployment);
  await world.waitFor('-n', 'purser-system', 'configmap/purser-facade-ca', '--for=create');
  await waitUntil(async () => (await metricsAddress()) !== '');
  const [endpoint] = (objects.find(({ kind }) => kind === 'ServiceMonitor') as ServiceMonitor).spec.endpoints;
  prometheus = await startPrometheus(folder, await toPrometheusConfig(endpoint as Endpoint, folder));
});

afterAll(async () => {
  await prometheus?.stop();
  await world?.stop();
});

/** Returns the address of the metrics; empty before the process is ready. */
async function metricsAddress(): Promise<string> {
  const text = await readFile(join(world.hub.folder, 'purser.ready.json'), 'utf8').catch(() => '{"metrics":""}');
  const { metrics } = JSON.parse(text) as { metrics: string };
  return metrics === '' ? '' : new URL(metrics).host;
}

/** Returns the Prometheus configuration that the Prometheus Operator generates from an endpoint. */
async function toPrometheusConfig(
  { port, scheme, tlsConfig, honorLabels, bearerTokenFile, ...others }: Endpoint,
  folder: string,
): Promise<object> {
  expect([port, bearerTokenFile, others]).toEqual(['metrics', '/var/run/secrets/kubernetes.io/serviceaccount/token', {}]);
  const { serverName, ca, ...moreTls } = tlsConfig;
  expect([Object.keys(ca), moreTls]).toEqual([['configMap'], {}]);
  const { name, key } = ca.configMap;
  const published = await world.kubectl(
    'get',
    'configmap',
    name,
    '-n',
    'purser-system',
    '-o',
    `jsonpath={.data.${key.replace('.', '\\.')}}`,
  );
  await writeFile(join(folder, 'ca.crt'), published);
  await writeFile(join(folder, 'token'), await world.createToken('monitoring', 'prometheus'));
  const job = {
    job_name: 'purser',
    scheme,
    honor_labels: honorLabels,
    tls_config: { server_name: serverName, ca_file: join(folder, 'ca.crt') },
    authorization: { credentials_file: join(folder, 'token') },
    static_configs: [{ targets: [await metricsAddress()] }],
  };
  return { global: { scrape_interval: '1s', scrape_timeout: '1s' }, scrape_configs: [job] };
}

it('scrapes Purser with the permission and CA of the monitoring component', async () => {
  const query = async (expr: string) => (await prometheus?.query(expr)) ?? [];
  await waitUntil(async () => (await query('up{job="purser"} == 1')).length === 1);
  await waitUntil(async () => (await query('purser_leader == 1')).length === 1);
});
