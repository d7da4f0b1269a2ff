// A ManagedTokenSet for 200 registered Clusters, which all refer to two real servers, with Purser as the manifests deploy it.

import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { Clusters, Leases, ManagedTokenSets, ManagedTokens, Secrets } from '../../src/api/resources.ts';
import { KubeClient } from '../../src/kube/client.ts';
import { loadKubeConfig } from '../../src/kube/kube-config.ts';
import { createTransport } from '../../src/kube/transport.ts';
import { systemClock } from '../../src/std/clock.ts';
import { type RealCluster, startRealCluster } from '../support/real-cluster.ts';
import { AuditLog } from './audit-log.ts';
import { type Deployment, DeployWorld, isDeployment, renderKustomization, waitUntil } from './deploy-world.ts';
import { kubectlOutput } from './kubectl.ts';

const SIZE = 200;
const PURSER = 'system:serviceaccount:purser-system:purser';
const AUDIENCE = 'https://kubernetes.default.svc';
const NAMESPACE = 'team-a';
const SET = { namespace: NAMESPACE, name: 'fleet' };
/** Renewals of the Lease, about one per second: more than the 15 s of checks before a removal. */
const RENEWALS = 16;

const NAMES = Array.from({ length: SIZE }, (_, index) => `c${String(index).padStart(3, '0')}`);
/** Clusters that stay in the set, and Clusters that leave it; each half has names of both servers. */
const [STAYING, LEAVING] = [NAMES.slice(0, SIZE / 2), NAMES.slice(SIZE / 2)];

let world: DeployWorld;
/** Server of every other Cluster. */
let second: RealCluster;
let admin: KubeClient;
let audit: AuditLog;

beforeAll(async () => {
  [world, second] = await Promise.all([DeployWorld.start('base'), startRealCluster({ controllers: true, issuer: AUDIENCE })]);
  admin = new KubeClient(createTransport(await loadKubeConfig(await world.hub.kubeconfig('admin')), { clock: systemClock }), 'tests');
  audit = new AuditLog(world.hub.auditLog, PURSER);
  for (const [index, server] of [world.target, second].entries()) {
    await registerAll(
      server,
      NAMES.filter((_, each) => each % 2 === index),
    );
  }
  await allowAll();
  await world.startDeployed((await renderKustomization('base')).find(isDeployment) as Deployment);
  await world.apply([
    {
      apiVersion: 'tokens.purser.dev/v1alpha1',
      kind: 'ManagedTokenSet',
      metadata: SET,
      spec: {
        clusterSelector: { matchLabels: { env: 'prod' } },
        template: {
          spec: {
            serviceAccount: { namespace: 'deploy', name: 'deployer' },
            audiences: [AUDIENCE],
            secret: { name: '{{cluster}}-deployer' },
          },
        },
        rollout: { maxConcurrent: 50 },
      },
    },
  ]);
});

afterAll(async () => {
  await admin?.transport.close();
  await world?.stop();
  await second?.stop();
});

/** Registers Clusters that share one server and one credential. */
async function registerAll(server: RealCluster, names: readonly string[]): Promise<void> {
  for (const file of ['REPO/deploy/target/deployer.yaml', await world.print('target-rbac')])
    await kubectlOutput(server, ['apply', '-f', file]);
  const token = (await kubectlOutput(server, ['create', 'token', 'purser', '-n', 'purser-system', '--duration=1h'])).trim();
  const credential = { namespace: 'purser-system', name: `server-${server.port}` };
  const keys = { token, server: server.url, 'ca.crt': server.ca, cluster: names.join('\n') };
  const data = Object.fromEntries(Object.entries(keys).map(([key, text]) => [key, Buffer.from(text).toString('base64')]));
  await admin.create(Secrets, { metadata: credential, type: 'Opaque', data });
  const orchestratorApiEndpoints = {
    caBundle: Buffer.from(server.ca).toString('base64'),
    serverEndpoints: [{ clientCIDR: '0.0.0.0/0', serverAddress: server.url }],
  };
  const spec = { orchestratorApiEndpoints, authInfo: { controller: { kind: 'Secret' as const, ...credential } } };
  const type = { apiVersion: 'registry.purser.dev/v1alpha1', kind: 'Cluster' } as const;
  const labels = { env: 'prod', 'registry.purser.dev/set': 'prod' };
  await Promise.all(names.map((name) => admin.create(Clusters, { ...type, metadata: { name, labels }, spec })));
}

/** Lets the requester issue for the Clusters of the set prod. */
async function allowAll(): Promise<void> {
  const rule = ['--verb=issue', '--resource=clusters.registry.purser.dev/token', '--resource-name=set:prod'];
  await world.kubectl('create', 'clusterrole', 'fleet', ...rule);
  await world.kubectl('create', 'clusterrolebinding', 'fleet', '--clusterrole=fleet', `--serviceaccount=${NAMESPACE}:default`);
}

/** Returns the counts and conditions of the set for the current spec; empty until Purser has seen it. */
async function summary(): Promise<string> {
  const { metadata, status = {} } = await admin.get(ManagedTokenSets, SET);
  if (status.observedGeneration !== metadata.generation) return '';
  const reasons = status.conditions?.map(({ reason }) => reason) ?? [];
  return [status.clusters, status.ready, status.updated, status.failing, ...reasons].join(' ');
}

async function waitForSet(expected: string): Promise<void> {
  await waitUntil(async () => (await summary()) === expected);
}

const getTokens = () => admin.listAll(ManagedTokens, { namespace: NAMESPACE });
const getSecrets = () => admin.listAll(Secrets, { namespace: NAMESPACE, labelSelector: 'tokens.purser.dev/managed-by=purser' });
const namesOf = (objects: readonly { readonly metadata: { readonly name: string } }[]) =>
  objects.map(({ metadata }) => metadata.name).sort();

/** Returns the resource versions of all ManagedTokens and Secrets. */
async function versions(): Promise<readonly string[]> {
  return [...(await getTokens()), ...(await getSecrets())].map(({ metadata }) => `${metadata.name} ${metadata.resourceVersion}`);
}

/** Returns Purser's writes of sets and ManagedTokens, and its access reviews, while the leader renews its Lease several times. */
async function writesAtRest(): Promise<readonly string[]> {
  await audit.skip();
  const renewals = new Set<string>();
  await waitUntil(async () => {
    const { spec } = await admin.get(Leases, { namespace: 'purser-system', name: 'purser' });
    renewals.add(spec?.renewTime ?? '');
    return renewals.size > RENEWALS;
  });
  // Heartbeats of Clusters, and the renewal of the two credentials, may occur during the test.
  return (await audit.writes()).filter((request) => /managedtoken|subjectaccessreview/.test(request));
}

describe('ManagedTokenSet for 200 Clusters on real servers', () => {
  it('becomes ready with a ManagedToken and a Secret for each Cluster', async () => {
    await waitForSet(`${SIZE} ${SIZE} ${SIZE} 0 AllReady Complete`);
    expect(namesOf(await getTokens())).toEqual(NAMES.map((name) => `fleet-${name}`));
    const secrets = await getSecrets();
    expect(namesOf(secrets)).toEqual(NAMES.map((name) => `${name}-deployer`));
    const servers = secrets.map(({ data }) => Buffer.from(data?.['server'] ?? '', 'base64').toString());
    expect(new Set(servers)).toEqual(new Set([world.target.url, second.url]));
  });

  it('changes each ManagedToken with one write after a change to the template', async () => {
    const before = new Map((await getTokens()).map(({ metadata }) => [metadata.uid, metadata.generation]));
    await audit.skip();
    await admin.patch(ManagedTokenSets, SET, { spec: { template: { spec: { secret: { labels: { cluster: '{{cluster}}' } } } } } });
    await waitForSet(`${SIZE} ${SIZE} ${SIZE} 0 AllReady Complete`);
    const writes = (await audit.writes()).filter((request) => request.endsWith(' managedtokens'));
    expect(writes).toEqual(NAMES.map(() => 'patch managedtokens'));
    expect(new Map((await getTokens()).map(({ metadata }) => [metadata.uid, (metadata.generation ?? 0) - 1]))).toEqual(before);
    expect((await getSecrets()).map(({ metadata }) => metadata.labels?.['cluster'])).toEqual(NAMES);
  });

  it('pauses the removal of half of the ManagedTokens, and writes nothing while the removal is paused', async () => {
    const before = await versions();
    const leave = (name: string) => admin.patch(Clusters, { name }, { metadata: { labels: { env: 'test' } } });
    await Promise.all(LEAVING.map(leave));
    await waitForSet(`${STAYING.length} ${STAYING.length} ${STAYING.length} 0 AllReady RemovalPaused`);
    expect(await writesAtRest()).toEqual([]);
    expect(await versions()).toEqual(before);
  });

  it('removes exactly the ManagedTokens and Secrets of the paused removal after its confirmation', async () => {
    const uidOf = new Map((await getTokens()).map(({ metadata }) => [metadata.name, metadata.uid]));
    const { status } = await admin.get(ManagedTokenSets, SET);
    const { message = '' } = status?.conditions?.find(({ reason }) => reason === 'RemovalPaused') ?? {};
    const [, command = ''] = /run kubectl (.*) to remove/.exec(message) ?? [];
    await world.kubectl(...command.split(' '));
    await waitForSet(`${STAYING.length} ${STAYING.length} ${STAYING.length} 0 AllReady Complete`);
    const expected = STAYING.map((name) => `fleet-${name}`);
    const left = await getTokens();
    expect(left.map(({ metadata }) => [metadata.name, metadata.uid])).toEqual(expected.map((name) => [name, uidOf.get(name)]));
    // The garbage collector of the hub removes the Secrets.
    await waitUntil(async () => (await getSecrets()).length === STAYING.length);
    expect(namesOf(await getSecrets())).toEqual(STAYING.map((name) => `${name}-deployer`));
  });
});
