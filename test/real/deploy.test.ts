// The manifests on a real hub: it takes all of them, and Purser does its work with what they grant, and uses all of that.

import { mkdtemp, readFile, writeFile } from 'node:fs/promises';
import { Agent } from 'node:https';
import { join } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import { afterAll, beforeAll, describe, expect, it, jest } from '@jest/globals';
import { type ApiAnswer, type ApiRequest, sendRequest } from '../support/api-request.ts';
import type { Program } from '../support/processes.ts';
import { type RealCluster, startRealCluster } from '../support/real-cluster.ts';
import { run } from '../support/run.ts';
import { type DeployedObject, type Deployment, kubectl, kubectlDone, kustomized, startDeployed } from './deploy-world.ts';
import { type AccountUse, grantedBy, type Rule, useOf } from './granted.ts';

jest.setTimeout(240_000);

let hub: RealCluster;
let target: RealCluster;
let purser: Program;

beforeAll(async () => {
  [hub, target] = await Promise.all([
    startRealCluster({ audit: true, controllers: true }),
    startRealCluster({ audit: true, controllers: true }),
  ]);
  await kubectlDone(hub, 'apply', '--server-side', '-k', 'REPO/deploy/base');
  await kubectlDone(hub, 'wait', '--for=condition=Established', 'crd', '--all', '--timeout=60s');
});

afterAll(async () => {
  await purser?.stop();
  await Promise.all([hub?.stop(), target?.stop()]);
});

/** Kinds that other projects define. */
const FOREIGN = new Set(['Certificate', 'Issuer', 'PrometheusRule', 'ServiceMonitor']);

describe('the manifests', () => {
  it.each(['base', 'overlays/apart', 'overlays/namespaces', 'components/monitoring'])(
    'of %s are taken by the server without a warning',
    async (path) => {
      const objects = (await kustomized(path)).filter(({ kind }) => !FOREIGN.has(kind));
      await kubectlDone(hub, 'create', 'namespace', 'team-a').catch(ignoreExisting);
      const file = await written(objects);

      expect(await kubectl(hub, 'apply', '--server-side', '--force-conflicts', '--dry-run=server', '-f', file)).toMatchObject({
        code: 0,
        complaints: '',
      });
    },
  );

  it.each(['base', 'overlays/apart'])('of %s make pods that restricted pod security lets pass', async (path) => {
    const deployments = (await kustomized(path)).filter(isDeployment);
    const pods = deployments.map(({ metadata, spec }) => ({ apiVersion: 'v1', kind: 'Pod', metadata, spec: spec.template.spec }));
    expect(await kubectl(hub, 'create', '--dry-run=server', '-f', await written(pods))).toMatchObject({ code: 0, complaints: '' });

    const lax = pods.map((pod) => ({ ...pod, spec: { ...pod.spec, hostNetwork: true } }));
    expect((await kubectl(hub, 'create', '--dry-run=server', '-f', await written(lax))).complaints).toContain(
      'violates PodSecurity "restricted:latest"',
    );
  });
});

describe('with what the manifests grant, Purser', () => {
  beforeAll(async () => {
    await kubectlDone(target, 'apply', '-f', await printed('target-rbac'), '-f', 'REPO/deploy/target/deployer.yaml');
    const deployment = (await kustomized('base')).find(isDeployment);
    purser = await startDeployed(
      hub,
      deployment as Deployment,
      '--allow-loopback',
      '--verify-interval=2s',
      '--bind-address=127.0.0.1',
      `--ready-file=${readyFile()}`,
    );
    await register('target-1');
  });

  it('issues the tokens of all samples', async () => {
    for (const name of ['ci-deployer', 'flux', 'argo-cd', 'revocable'])
      await kubectlDone(hub, 'apply', '-f', `REPO/deploy/samples/${name}.yaml`);
    await until('mt', '-A', '--all', '--for=condition=Ready');
    await until('cluster.registry.purser.dev', 'target-1', '--for=condition=Ready');
  });

  it('rotates, repairs, moves and gives way', async () => {
    for (const round of [1, 2, 3]) {
      await kubectlDone(hub, 'annotate', '-n', 'team-a', 'mt/ci-deployer', `tokens.purser.dev/rotate=${round}`, '--overwrite');
      await until('-n', 'team-a', 'mt/ci-deployer', `--for=jsonpath={.status.lastRotateRequest}=${round}`);
    }
    await kubectlDone(hub, 'delete', '-n', 'team-b', 'secret', 'target-1-kubeconfig');
    await until('-n', 'team-b', 'secret/target-1-kubeconfig', '--for=create');
    await kubectlDone(hub, 'create', '-n', 'team-a', 'secret', 'generic', 'taken');
    await kubectlDone(hub, 'patch', '-n', 'team-a', 'mt/ci-deployer', '--type=merge', '-p', '{"spec":{"secret":{"name":"taken"}}}');
    await until('-n', 'team-a', 'mt/ci-deployer', '--for=jsonpath={.status.conditions[0].reason}=SecretConflict');
    await kubectlDone(hub, 'patch', '-n', 'team-a', 'mt/ci-deployer', '--type=merge', '-p', '{"spec":{"secret":{"name":"free"}}}');
    await until('-n', 'team-a', 'mt/ci-deployer', '--for=condition=Ready');
    await until('-n', 'team-a', 'secret/ci-deployer', '--for=delete');
  });

  it('revokes, and lets go', async () => {
    await kubectlDone(hub, 'annotate', '-n', 'team-c', 'mt/contractor', 'tokens.purser.dev/revoke=1');
    await until('-n', 'team-c', 'mt/contractor', '--for=jsonpath={.status.lastRevokeRequest}=1');
    await kubectlDone(hub, 'delete', '-n', 'team-c', 'mt/contractor', '--timeout=60s');
    const left = await kubectlDone(target, 'get', 'secrets', '-n', 'deploy', '-o', 'name');
    expect(left).toBe('');
  });

  it('shows a certificate that everybody can check, and tells its metrics to whoever may read them', async () => {
    await kubectlDone(hub, 'create', 'serviceaccount', 'prometheus', '-n', 'default');
    const token = await tokenOf('default', 'prometheus');
    const status = async (authorization: string) => (await ask('metrics', 'GET', '/metrics', { headers: { authorization } })).status;

    // The certificate that it began with, before it knew this one, is replaced in seconds.
    await eventually(async () => (await status('').catch(() => 0)) === 401);
    expect(await status(`Bearer ${token}`)).toBe(403);
    await kubectlDone(
      hub,
      'create',
      'clusterrolebinding',
      'scrape',
      '--clusterrole=purser-metrics-reader',
      '--serviceaccount=default:prometheus',
    );
    await eventually(async () => (await status(`Bearer ${token}`)) === 200);
  });

  it('issues tokens to callers, tries out what they ask, and lists what they may see', async () => {
    const headers = { authorization: `Bearer ${await tokenOf('team-a', 'ci')}`, 'content-type': 'application/json' };
    const path = '/orchestrator/target-1/api/v1/namespaces/deploy/serviceaccounts/deployer/token';
    const request = (spec: object) => ({
      headers,
      body: JSON.stringify({ apiVersion: 'authentication.k8s.io/v1', kind: 'TokenRequest', spec }),
    });
    const boundObjectRef = { apiVersion: 'v1', kind: 'Pod', name: 'ghost', uid: '00000000-0000-0000-0000-000000000000' };
    const issued = await ask('facade', 'POST', path, request({ audiences: ['https://target.test'] }));
    const rehearsed = await ask('facade', 'POST', `${path}?dryRun=All`, request({ audiences: ['https://target.test'], boundObjectRef }));
    const listed = await ask('facade', 'GET', '/auth/v1/clusters', { headers });

    expect([issued.status, rehearsed.status, listed.status]).toEqual([201, 404, 200]);
    expect(JSON.parse(listed.body)).toMatchObject({ items: [{ metadata: { name: 'target-1' } }] });
  });

  it('is refused nothing on the hub, and has nothing that it does not use', async () => {
    const use = await useOf(hub.auditLog, 'system:serviceaccount:purser-system:purser');
    const granted = grantedBy(rulesOf((await kustomized('base')).filter(({ metadata }) => OWN_ROLES.has(metadata.name))));
    expect(use.refused).toEqual([]);
    expect(unused(granted, use)).toEqual(HUB_UNUSED);
  });

  it('is refused nothing on the target, and has nothing there that it does not use', async () => {
    const use = await useOf(target.auditLog, 'system:serviceaccount:purser-system:purser');
    const { rules } = JSON.parse(await kubectlDone(target, 'get', 'clusterrole', 'purser', '-o', 'json')) as { rules: readonly Rule[] };
    expect(use.refused).toEqual([]);
    expect(unused(grantedBy(rules), use)).toEqual([]);
  });
});

/** The roles that are Purser's own, not for people. */
const OWN_ROLES: ReadonlySet<string> = new Set(['purser-controller', 'purser-controller-tokens', 'purser-facade', 'purser-credentials']);

/** What the hub grants for cases that do not come up here. */
const HUB_UNUSED: readonly string[] = [
  // Hubs that do not stream lists in watches (before 1.34), and all hubs when such a watch is refused.
  'list clusterrolebindings',
  'list clusterroles',
  'list clusters',
  'list managedtokens',
  'list secrets',
  'list serviceaccounts',
  // An event that comes again within minutes.
  'patch events',
  // A certificate that was made nine months ago, and the authority of one that was made nine years ago.
  'update configmaps',
];

function unused(granted: ReadonlySet<string>, { used }: AccountUse): readonly string[] {
  return [...granted].filter((each) => !used.has(each)).sort();
}

function rulesOf(objects: readonly DeployedObject[]): readonly Rule[] {
  return objects.flatMap((object) => ('rules' in object ? (object.rules as readonly Rule[]) : []));
}

function isDeployment(object: DeployedObject): object is Deployment {
  return object.kind === 'Deployment';
}

/** A file with what `purser print` prints. */
async function printed(what: string): Promise<string> {
  const file = join(hub.folder, `${what}.yaml`);
  const { output } = await run(process.execPath, [join(import.meta.dirname, '../../src/start.mjs'), 'print', what], { NODE_OPTIONS: '' });
  await writeFile(file, output);
  return file;
}

async function register(name: string): Promise<void> {
  const token = (await kubectlDone(target, 'create', 'token', 'purser', '-n', 'purser-system', '--duration=1h')).trim();
  const credential = { namespace: 'purser-system', name: `${name}-credential` };
  const orchestratorApiEndpoints = {
    caBundle: Buffer.from(target.ca).toString('base64'),
    serverEndpoints: [{ clientCIDR: '0.0.0.0/0', serverAddress: target.url }],
  };
  const objects = [
    { apiVersion: 'v1', kind: 'Secret', metadata: credential, stringData: { token, server: target.url } },
    {
      apiVersion: 'registry.purser.dev/v1alpha1',
      kind: 'Cluster',
      metadata: { name },
      spec: { orchestratorApiEndpoints, authInfo: { controller: { kind: 'Secret', ...credential } } },
    },
  ];
  await kubectlDone(hub, 'apply', '-f', await written(objects));
}

/** Waits as `kubectl wait` does, and tells what Purser said when it waits in vain. */
async function until(...args: readonly string[]): Promise<void> {
  const { code, complaints } = await kubectl(hub, 'wait', ...args, '--timeout=60s');
  if (code !== 0) throw new Error(`${complaints}\n${(await purser.output()).split('\n').slice(-20).join('\n')}`);
}

async function tokenOf(namespace: string, account: string): Promise<string> {
  return (await kubectlDone(hub, 'create', 'token', account, '-n', namespace)).trim();
}

/** Asks Purser, by the authority that is published for that, as the Service that it is behind. */
async function ask(part: 'facade' | 'metrics', method: string, path: string, request: ApiRequest): Promise<ApiAnswer> {
  const places = JSON.parse(await readFile(readyFile(), 'utf8')) as Readonly<Record<string, string>>;
  const ca = await kubectlDone(hub, 'get', 'configmap', 'purser-facade-ca', '-n', 'purser-system', '-o', 'jsonpath={.data.ca\\.crt}');
  const agent = new Agent({ ca, servername: 'purser.purser-system.svc' });
  try {
    return await sendRequest({ url: places[part] ?? '', agent }, method, path, request);
  } finally {
    agent.destroy();
  }
}

function readyFile(): string {
  return join(hub.folder, 'ready.json');
}

/** An answer about rights is kept for ten seconds, and a certificate is looked for as often. */
async function eventually(isSo: () => Promise<boolean>): Promise<void> {
  const end = performance.now() + 30_000;
  while (!(await isSo())) {
    if (performance.now() > end) throw new Error('it did not happen');
    await delay(100);
  }
}

async function written(objects: readonly object[]): Promise<string> {
  const file = join(await mkdtemp(join(hub.folder, 'objects-')), 'list.json');
  await writeFile(file, JSON.stringify({ apiVersion: 'v1', kind: 'List', items: objects }));
  return file;
}

function ignoreExisting(error: unknown): void {
  if (!String(error).includes('already exists')) throw error;
}
