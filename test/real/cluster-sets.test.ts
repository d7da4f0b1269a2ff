// Permissions on a set of clusters, with Purser on a real hub: tokens and visibility follow the label of each Cluster.

import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { type Deployment, DeployWorld, isDeployment, renderKustomization, waitUntil } from './deploy-world.ts';

const LABEL = 'registry.purser.dev/set';
const NAMES = ['target-1', 'target-2'];
const apiGroup = 'rbac.authorization.k8s.io';

let world: DeployWorld;
let token: string;

beforeAll(async () => {
  world = await DeployWorld.start('base');
  await world.enforcePolicies();
  await world.startDeployed((await renderKustomization('base')).find(isDeployment) as Deployment);
  await world.apply([
    { apiVersion: 'v1', kind: 'ServiceAccount', metadata: { name: 'rollout', namespace: 'team-a' } },
    {
      apiVersion: `${apiGroup}/v1`,
      kind: 'ClusterRole',
      metadata: { name: 'prod' },
      rules: [
        {
          apiGroups: ['registry.purser.dev'],
          resources: ['clusters/token'],
          resourceNames: ['set:prod/deploy/deployer'],
          verbs: ['issue'],
        },
        { apiGroups: ['registry.purser.dev'], resources: ['clusters'], resourceNames: ['set:prod'], verbs: ['get', 'list', 'watch'] },
      ],
    },
    {
      apiVersion: `${apiGroup}/v1`,
      kind: 'ClusterRoleBinding',
      metadata: { name: 'prod' },
      roleRef: { apiGroup, kind: 'ClusterRole', name: 'prod' },
      subjects: [{ kind: 'ServiceAccount', namespace: 'team-a', name: 'rollout' }],
    },
  ]);
  for (const name of NAMES) await world.register(name);
  for (const name of NAMES) await world.waitFor(`cluster.registry.purser.dev/${name}`, '--for=condition=Ready');
  token = await world.createToken('team-a', 'rollout');
});

afterAll(() => world?.stop());

async function label(name: string, change: string): Promise<void> {
  await world.kubectl('label', `cluster.registry.purser.dev/${name}`, `${LABEL}${change}`);
}

interface ClusterList {
  readonly metadata: { readonly resourceVersion: string };
  readonly items: readonly { readonly metadata: { readonly name: string } }[];
}

async function get(query = ''): Promise<string> {
  const { status, body } = await world.request(['purser', 'facade'], `GET /auth/v1/clusters${query}`, {
    headers: { authorization: `Bearer ${token}` },
  });
  expect(status).toBe(200);
  return body;
}

const list = async () => JSON.parse(await get()) as ClusterList;
const namesOf = ({ items }: ClusterList) => items.map(({ metadata }) => metadata.name);

/** Watches from a version for a number of seconds, and returns the types and names of the events. */
async function watch(resourceVersion: string, seconds: number): Promise<readonly string[]> {
  const body = await get(`?watch=true&resourceVersion=${resourceVersion}&timeoutSeconds=${seconds}`);
  const events = body.trim() === '' ? [] : body.trim().split('\n');
  return events.map((line) => {
    const { type, object } = JSON.parse(line) as { type: string; object: { metadata: { name: string } } };
    return `${type} ${object.metadata.name}`;
  });
}

async function issue(cluster: string): Promise<number> {
  const path = `/orchestrator/${cluster}/api/v1/namespaces/deploy/serviceaccounts/deployer/token`;
  const { status } = await world.request(['purser', 'facade'], `POST ${path}`, {
    headers: { authorization: `Bearer ${token}`, 'content-type': 'application/json' },
    body: JSON.stringify({ spec: { audiences: ['https://target.test'] } }),
  });
  return status;
}

describe('permission for a cluster set on a real hub', () => {
  it('issues tokens for both clusters of the set, and removes the Secret and hides the Cluster when a cluster leaves', async () => {
    await world.apply(
      NAMES.map((clusterName) => ({
        apiVersion: 'tokens.purser.dev/v1alpha1',
        kind: 'ManagedToken',
        metadata: { name: clusterName, namespace: 'team-a' },
        spec: {
          clusterName,
          serviceAccount: { namespace: 'deploy', name: 'deployer' },
          audiences: ['https://target.test'],
          requesterServiceAccountName: 'rollout',
        },
      })),
    );
    const reason = 'jsonpath={.status.conditions[?(@.type=="Ready")].reason}';
    for (const name of NAMES) await world.waitFor('-n', 'team-a', `mt/${name}`, `--for=${reason}=Forbidden`);
    await waitUntil(async () => namesOf(await list()).length === 0);
    expect(await Promise.all([...NAMES, 'missing'].map(issue))).toEqual([403, 403, 403]);

    for (const name of NAMES) await label(name, '=prod');
    for (const name of NAMES) await world.waitFor('-n', 'team-a', `mt/${name}`, '--for=condition=Ready');
    await waitUntil(async () => namesOf(await list()).length === 2);
    expect(await Promise.all(NAMES.map(issue))).toEqual([201, 201]);

    const { metadata } = await list();
    const watched = watch(metadata.resourceVersion, 20);
    await label('target-2', '-');
    await waitUntil(async () => (await issue('target-2')) === 403);
    await world.waitFor('-n', 'team-a', 'secret/target-2', '--for=delete');
    await world.waitFor('-n', 'team-a', 'mt/target-2', `--for=${reason}=Forbidden`);
    expect((await watched).filter((event) => !event.startsWith('MODIFIED'))).toEqual(['DELETED target-2']);
    expect(namesOf(await list())).toEqual(['target-1']);
    expect(await issue('target-1')).toBe(201);
    await world.waitFor('-n', 'team-a', 'mt/target-1', '--for=condition=Ready');
    await world.kubectl('get', '-n', 'team-a', 'secret/target-1');
  });
});
