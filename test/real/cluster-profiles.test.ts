// ClusterProfiles of a ManagedTokenSet on a real hub with upstream's CustomResourceDefinition, and a consumer that is built with upstream's
// access library and plugin.

import { readFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { parse } from 'yaml';
import type { ClusterProfile } from '../../src/api/cluster-profile.ts';
import { newFolder } from '../support/folders.ts';
import { inventoryBinaries } from '../support/kube-binaries.ts';
import { run } from '../support/run.ts';
import { type Deployment, DeployWorld, isDeployment, renderKustomization } from './deploy-world.ts';
import { readUse } from './permission-use.ts';

const PURSER = 'system:serviceaccount:purser-system:purser';
const CLUSTER = 'cluster.registry.purser.dev/target-1';
const PROFILE = 'clusterprofile/fleet-target-1';
const TOKEN = 'mt/fleet-target-1';
const SECRET = 'secret/target-1-worker';

let world: DeployWorld;
/** Kubeconfig and provider file of the consumer. */
let kubeconfig: string;
let providers: string;

beforeAll(async () => {
  world = await DeployWorld.start('base');
  await world.enforcePolicies();
  await world.startDeployed((await renderKustomization('base')).find(isDeployment) as Deployment);
  await world.register('target-1');
  await world.kubectl('apply', '-f', 'REPO/deploy/samples/ci-deployer.yaml');
  await world.kubectl('label', CLUSTER, 'env=prod');
  const subject = '--serviceaccount=deploy:deployer';
  await world.kubectlOnTarget('create', 'clusterrole', 'namespaces', '--verb=list', '--resource=namespaces');
  await world.kubectlOnTarget('create', 'clusterrolebinding', 'namespaces', '--clusterrole=namespaces', subject);
  await world.waitFor(CLUSTER, '--for=condition=Ready');
  ({ kubeconfig, providers } = await createConsumer());
});

afterAll(() => world?.stop());

/** Creates the service account of a consumer in team-a, which may read ClusterProfiles and Secrets there. Returns its files. */
async function createConsumer(): Promise<{ readonly kubeconfig: string; readonly providers: string }> {
  const inTeam = ['-n', 'team-a'];
  const resources = '--resource=clusterprofiles.multicluster.x-k8s.io,secrets';
  await world.installProfiles();
  await world.kubectl('create', 'serviceaccount', 'consumer', ...inTeam);
  await world.kubectl('create', 'role', 'consumer', '--verb=get', resources, ...inTeam);
  await world.kubectl('create', 'rolebinding', 'consumer', '--role=consumer', '--serviceaccount=team-a:consumer', ...inTeam);
  const token = await world.createToken('team-a', 'consumer');
  const folder = await newFolder();
  const asAdmin = parse(await readFile(await world.hub.kubeconfig('admin'), 'utf8')) as Kubeconfig;
  const contexts = asAdmin.contexts.map(({ name, context }) => ({ name, context: { ...context, user: 'consumer', namespace: 'team-a' } }));
  const files = { kubeconfig: join(folder, 'kubeconfig'), providers: join(folder, 'providers.json') };
  await writeFile(files.kubeconfig, JSON.stringify({ ...asAdmin, contexts, users: [{ name: 'consumer', user: { token } }] }));
  const execConfig = {
    apiVersion: 'client.authentication.k8s.io/v1',
    command: inventoryBinaries()?.secretreader,
    provideClusterInfo: true,
  };
  await writeFile(files.providers, JSON.stringify({ providers: [{ name: 'secretreader', execConfig }] }));
  return files;
}

interface Kubeconfig {
  readonly contexts: readonly { readonly name: string; readonly context: object }[];
}

/** Lists the namespaces of the target as a consumer of the ClusterProfile. Throws an Error with the error output if the consumer fails. */
async function listNamespaces(): Promise<readonly string[]> {
  const { consumer = '' } = inventoryBinaries() ?? {};
  const { code, output, stderr } = await run(consumer, [providers, 'team-a', 'fleet-target-1'], { KUBECONFIG: kubeconfig });
  if (code !== 0) throw new Error(stderr);
  return output.trim().split('\n');
}

async function getToken(): Promise<string> {
  return Buffer.from(await world.kubectl('get', '-n', 'team-a', SECRET, '-o', 'jsonpath={.data.token}'), 'base64').toString();
}

async function getProfile(): Promise<ClusterProfile> {
  return JSON.parse(await world.kubectl('get', '-n', 'team-a', PROFILE, '-o', 'json')) as ClusterProfile;
}

const SET = {
  apiVersion: 'tokens.purser.dev/v1alpha1',
  kind: 'ManagedTokenSet',
  metadata: { name: 'fleet', namespace: 'team-a' },
  spec: {
    clusterSelector: { matchLabels: { env: 'prod' } },
    template: {
      spec: {
        serviceAccount: { namespace: 'deploy', name: 'deployer' },
        requesterServiceAccountName: 'ci',
        audiences: ['https://kubernetes.default.svc'],
        revocation: 'BoundSecret',
        secret: { name: '{{cluster}}-worker' },
      },
    },
    clusterProfiles: true,
  },
};

describe('ClusterProfile on a real hub', () => {
  it('lets a consumer with the upstream plugin list the namespaces of the target', async () => {
    await world.apply([SET]);
    await world.waitFor('-n', 'team-a', 'mts/fleet', '--for=condition=ClusterProfilesPublished');
    await world.waitFor('-n', 'team-a', PROFILE, '--for=condition=ControlPlaneHealthy');
    expect(await listNamespaces()).toContain('deploy');
    const { metadata, status } = await getProfile();
    const version = await world.kubectl('get', CLUSTER, '-o', 'jsonpath={.status.version}');
    expect(metadata.labels).toEqual({ 'x-k8s.io/cluster-manager': 'purser' });
    expect(status?.version?.kubernetes).toBe(version);
    expect(JSON.stringify(status)).not.toContain((await getToken()).slice(-24));
  });

  it('lets a consumer list the namespaces of the target after a rotation, without a change to the ClusterProfile', async () => {
    const [before, { metadata }] = [await getToken(), await getProfile()];
    await world.kubectl('annotate', '-n', 'team-a', TOKEN, 'tokens.purser.dev/rotate=1');
    await world.waitFor('-n', 'team-a', TOKEN, '--for=jsonpath={.status.lastRotateRequest}=1');
    expect(await getToken()).not.toBe(before);
    expect(await listNamespaces()).toContain('deploy');
    expect((await getProfile()).metadata.resourceVersion).toBe(metadata.resourceVersion);
  });

  it('lets a consumer list the namespaces of the target after the token was revoked and replaced', async () => {
    const before = await getToken();
    await world.kubectl('annotate', '-n', 'team-a', TOKEN, 'tokens.purser.dev/revoke=1');
    await world.waitFor('-n', 'team-a', TOKEN, '--for=jsonpath={.status.lastRevokeRequest}=1');
    await world.waitUntilRejected(before);
    await world.waitFor('-n', 'team-a', TOKEN, '--for=condition=Ready');
    expect(await listNamespaces()).toContain('deploy');
  });

  it('removes the ClusterProfile after the Cluster loses its label', async () => {
    await world.kubectl('label', CLUSTER, 'env-');
    await world.waitFor('-n', 'team-a', PROFILE, '--for=delete');
    expect(await world.kubectl('get', '-n', 'team-a', 'mt', '-o', 'name')).not.toContain('fleet-target-1');
  });

  it('sends no request that the hub rejects', async () => {
    expect((await readUse(world.hub.auditLog, PURSER)).rejected).toEqual([]);
  });
});
