// ManagedTokenSets on a real hub with the admission policies, for three Clusters of two real servers, with Purser as the manifests
// deploy it.

import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import type { ManagedToken } from '../../src/api/managed-token.gen.ts';
import type { ManagedTokenSet } from '../../src/api/managed-token-set.gen.ts';
import { type RealCluster, startRealCluster } from '../support/real-cluster.ts';
import { AuditLog } from './audit-log.ts';
import { type Deployment, DeployWorld, isDeployment, renderKustomization, waitUntil } from './deploy-world.ts';
import { kubectlOutput } from './kubectl.ts';

const AUDIENCE = 'https://kubernetes.default.svc';

let world: DeployWorld;
/** Server of the Cluster us-1. */
let second: RealCluster;

beforeAll(async () => {
  [world, second] = await Promise.all([DeployWorld.start('base'), startRealCluster({ controllers: true, issuer: AUDIENCE })]);
  await world.enforcePolicies();
  await world.startDeployed((await renderKustomization('base')).find(isDeployment) as Deployment);
  for (const name of ['eu-1', 'eu-2']) await world.register(name);
  for (const file of ['REPO/deploy/target/deployer.yaml', await world.print('target-rbac')])
    await kubectlOutput(second, ['apply', '-f', file]);
  const token = await kubectlOutput(second, ['create', 'token', 'purser', '-n', 'purser-system', '--duration=1h']);
  await world.createCluster('us-1', second, { token: token.trim() });
  await label('eu-1', 'env=prod', 'region=eu');
  await label('eu-2', 'env=prod', 'region=eu');
  await allow('eu-1', 'eu-2', 'us-1');
  await world.apply([set()]);
  await complete(2);
});

afterAll(async () => {
  await world?.stop();
  await second?.stop();
});

async function label(cluster: string, ...labels: readonly string[]): Promise<void> {
  await world.kubectl('label', '--overwrite', `cluster.registry.purser.dev/${cluster}`, ...labels);
}

/** Lets the requester issue for these clusters. */
async function allow(...resourceNames: readonly string[]): Promise<void> {
  const group = 'rbac.authorization.k8s.io';
  const rules = [{ apiGroups: ['registry.purser.dev'], resources: ['clusters/token'], resourceNames, verbs: ['issue'] }];
  await world.apply([
    { apiVersion: `${group}/v1`, kind: 'ClusterRole', metadata: { name: 'fleet' }, rules },
    {
      apiVersion: `${group}/v1`,
      kind: 'ClusterRoleBinding',
      metadata: { name: 'fleet' },
      roleRef: { apiGroup: group, kind: 'ClusterRole', name: 'fleet' },
      subjects: [{ kind: 'ServiceAccount', namespace: 'team-a', name: 'default' }],
    },
  ]);
}

function set(spec: object = {}, secret: object = {}): object {
  return {
    apiVersion: 'tokens.purser.dev/v1alpha1',
    kind: 'ManagedTokenSet',
    metadata: { name: 'fleet', namespace: 'team-a' },
    spec: {
      clusterSelector: { matchLabels: { env: 'prod' } },
      template: {
        metadata: { labels: { region: '{{label "region"}}' } },
        spec: {
          serviceAccount: { namespace: 'deploy', name: 'deployer' },
          audiences: [AUDIENCE],
          secret: { name: '{{cluster}}-deployer', labels: { region: '{{label "region"}}' }, ...secret },
          ...spec,
        },
      },
      rollout: { maxConcurrent: 1 },
    },
  };
}

async function get<T>(...args: readonly string[]): Promise<T> {
  return JSON.parse(await world.kubectl('get', '-n', 'team-a', ...args, '-o', 'json')) as T;
}

const getSet = () => get<ManagedTokenSet>('mts/fleet');
const getTokens = async () => (await get<{ readonly items: readonly ManagedToken[] }>('mt')).items;
const namesOf = (tokens: readonly ManagedToken[]) => tokens.map(({ metadata }) => metadata.name ?? '').sort();

/** Waits until the set is complete with this number of clusters. */
async function complete(count: number): Promise<void> {
  await waitUntil(async () => {
    const { metadata, status = {} } = await getSet();
    const { clusters, ready, updated, failing, observedGeneration, conditions = [] } = status;
    const isComplete = conditions.some(({ type, reason }) => type === 'Progressing' && reason === 'Complete');
    return (
      isComplete &&
      observedGeneration === metadata.generation &&
      String([clusters, ready, updated, failing]) === String([count, count, count, 0])
    );
  });
}

describe('ManagedTokenSet on real servers', () => {
  it('creates a ManagedToken and a Secret for each selected Cluster', async () => {
    const tokens = await getTokens();
    expect(namesOf(tokens)).toEqual(['fleet-eu-1', 'fleet-eu-2']);
    expect(tokens.map(({ metadata }) => metadata.labels)).toEqual([{ region: 'eu' }, { region: 'eu' }]);
    const token = Buffer.from(await world.kubectl('get', '-n', 'team-a', 'secret/eu-1-deployer', '-o', 'jsonpath={.data.token}'), 'base64');
    expect(await world.kubectlOnTarget('auth', 'whoami', '--token', token.toString())).toContain('system:serviceaccount:deploy:deployer');
  });

  it('shows the columns of kubectl get', async () => {
    const [header = '', row = ''] = (await world.kubectl('get', '-n', 'team-a', 'mts')).split('\n');
    expect(header.split(/\s+/)).toEqual(['NAME', 'CLUSTERS', 'READY', 'UPDATED', 'FAILING', 'PROGRESSING', 'REASON', 'AGE']);
    expect(row.split(/\s+/).slice(0, 7)).toEqual(['fleet', '2', '2', '2', '0', 'False', 'Complete']);
  });

  it('writes a changed label of the Cluster into ManagedToken and Secret', async () => {
    await label('eu-1', 'region=eu-west');
    const region = () => world.kubectl('get', '-n', 'team-a', 'secret/eu-1-deployer', '-o', 'jsonpath={.metadata.labels.region}');
    await waitUntil(async () => (await region()) === 'eu-west');
    await complete(2);
  });

  it('creates a ManagedToken for a Cluster that begins to match the selector', async () => {
    await label('us-1', 'env=prod');
    await complete(3);
    expect(namesOf(await getTokens())).toEqual(['fleet-eu-1', 'fleet-eu-2', 'fleet-us-1']);
  });

  it('restores a spec that a user changes with kubectl', async () => {
    const patch = JSON.stringify({ spec: { audiences: ['other'], secret: { annotations: { a: 'b' } } } });
    await world.kubectl('patch', '-n', 'team-a', 'mt/fleet-eu-2', '--type=merge', '-p', patch);
    await waitUntil(async () => {
      const { spec } = await get<ManagedToken>('mt/fleet-eu-2');
      return String(spec.audiences) === AUDIENCE && spec.secret.annotations === undefined;
    });
    await complete(3);
  });

  it('restores a label that a user changes, and one that a user removes, with kubectl', async () => {
    const region = async () => (await get<ManagedToken>('mt/fleet-eu-2')).metadata.labels?.['region'];
    for (const change of ['region=us', 'region-']) {
      await world.kubectl('label', '--overwrite', '-n', 'team-a', 'mt/fleet-eu-2', change, 'theirs=x');
      await waitUntil(async () => (await region()) === 'eu');
    }
    expect((await get<ManagedToken>('mt/fleet-eu-2')).metadata.labels).toEqual({ region: 'eu', theirs: 'x' });
  });

  it('stops a rollout that fails, and resumes with a corrected template', async () => {
    await world.apply([set({ serviceAccount: { namespace: 'deploy', name: 'absent' } })]);
    await waitUntil(async () => (await getSet()).status?.conditions?.some(({ reason }) => reason === 'RolloutStopped') === true);
    const changed = (await getTokens()).filter(({ spec }) => spec.serviceAccount.name === 'absent');
    expect(changed).toHaveLength(1);
    await world.apply([set({ expirationSeconds: 7200 })]);
    await complete(3);
    expect((await getTokens()).map(({ spec }) => [spec.serviceAccount.name, spec.expirationSeconds])).toEqual(
      Array.from({ length: 3 }, () => ['deployer', 7200]),
    );
  });

  it('removes fields that the template no longer has, with one write for each ManagedToken', async () => {
    const audit = new AuditLog(world.hub.auditLog, 'system:serviceaccount:purser-system:purser');
    await audit.skip();
    await world.apply([set({ expirationSeconds: 7200 }, { labels: { other: 'x' } })]);
    await complete(3);
    const writes = (await audit.writes()).filter((request) => request.endsWith(' managedtokens'));
    expect(writes).toEqual(Array.from({ length: 3 }, () => 'patch managedtokens'));
    const { spec, metadata } = JSON.parse(
      await world.kubectl('get', '-n', 'team-a', 'mt/fleet-eu-1', '-o', 'json', '--show-managed-fields'),
    ) as ManagedToken;
    expect(spec.secret.labels).toEqual({ other: 'x' });
    expect(metadata.managedFields?.map(({ manager, operation }) => `${manager} ${operation}`)).toContain('purser-sets Apply');
  });

  it('removes the ManagedToken and the Secret of a Cluster that stops matching, and of one without permission', async () => {
    await label('eu-1', 'env=test');
    await allow('eu-2');
    await complete(1);
    await waitUntil(async () => namesOf(await getTokens()).join() === 'fleet-eu-2');
    await world.waitFor('-n', 'team-a', 'secret/eu-1-deployer', '--for=delete');
    expect(JSON.stringify(await getSet())).not.toContain('us-1');
  });

  it('removes ManagedTokens and Secrets with the set', async () => {
    await world.kubectl('delete', '-n', 'team-a', 'mts/fleet');
    await world.waitFor('-n', 'team-a', 'mt/fleet-eu-2', '--for=delete');
    await world.waitFor('-n', 'team-a', 'secret/eu-2-deployer', '--for=delete');
  });
});
