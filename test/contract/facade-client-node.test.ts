// The informer of the official JavaScript client against the façade.

import { afterAll, describe, expect, it } from '@jest/globals';
import { type Informer, KubeConfig, type KubernetesListObject, type KubernetesObject, makeInformer } from '@kubernetes/client-node';
import type { Cluster } from '../../src/api/cluster.gen.ts';
import { ClusterRoleBindings, ClusterRoles, Clusters } from '../../src/api/resources.ts';
import { clusterFacade } from './cluster-facade.ts';
import { eventually } from './eventually.ts';
import { contractServer } from './server.ts';

const server = contractServer();
const facade = clusterFacade(server);
const PATH = '/auth/v1/clusters';
const informers: Informer<KubernetesObject>[] = [];

afterAll(async () => {
  for (const informer of informers) await informer.stop();
});

async function startInformer(token: string): Promise<() => readonly string[]> {
  const config = new KubeConfig();
  config.loadFromOptions({
    clusters: [{ name: 'c', server: facade.url, caData: Buffer.from(facade.ca).toString('base64') }],
    users: [{ name: 'u', token }],
    contexts: [{ name: 'x', cluster: 'c', user: 'u' }],
    currentContext: 'x',
  });
  const list = async () => {
    const { body } = await facade.request('GET', PATH, { headers: { authorization: `Bearer ${token}` } });
    return JSON.parse(body) as KubernetesListObject<KubernetesObject>;
  };
  const informer = makeInformer<KubernetesObject>(config, PATH, list);
  informers.push(informer);
  await informer.start();
  return () =>
    informer
      .list()
      .map(({ metadata }) => `${metadata?.name} ${metadata?.labels?.['env']}`)
      .sort();
}

function buildCluster(name: string, env: string): Cluster {
  const serverEndpoints = [{ clientCIDR: '0.0.0.0/0', serverAddress: 'https://10.0.0.1' }];
  const spec = { orchestratorApiEndpoints: { serverEndpoints } };
  return { apiVersion: 'registry.purser.dev/v1alpha1', kind: 'Cluster', metadata: { name, labels: { env } }, spec };
}

async function grant(names: readonly string[]): Promise<void> {
  const rules = [{ apiGroups: ['registry.purser.dev'], resources: ['clusters'], verbs: ['get'], resourceNames: names }];
  const roleRef = { apiGroup: 'rbac.authorization.k8s.io', kind: 'ClusterRole', name: 'team' };
  const subjects = [{ apiGroup: 'rbac.authorization.k8s.io', kind: 'User', name: 'alice' }];
  await facade.hub.apply(ClusterRoles, { metadata: { name: 'team' }, rules }, { force: true });
  await facade.hub.apply(ClusterRoleBindings, { metadata: { name: 'team' }, roleRef, subjects }, { force: true });
}

describe('informer of @kubernetes/client-node', () => {
  it('follows changes of clusters and of permissions on the façade', async () => {
    const { hub } = facade;
    for (const name of ['a', 'b', 'c']) await hub.create(Clusters, buildCluster(name, 'prod'));
    await grant(['a', 'b', 'd']);
    const listAdmin = await startInformer(facade.tokens.admin);
    const listAlice = await startInformer(facade.tokens.alice);
    await eventually(async () => {
      expect(listAdmin()).toEqual(['a prod', 'b prod', 'c prod']);
      expect(listAlice()).toEqual(['a prod', 'b prod']);
    });
    await hub.apply(Clusters, buildCluster('a', 'dev'), { force: true });
    await hub.create(Clusters, buildCluster('d', 'prod'));
    await grant(['a', 'c', 'd']);
    await hub.delete(Clusters, { name: 'b' });
    await eventually(async () => {
      expect(listAdmin()).toEqual(['a dev', 'c prod', 'd prod']);
      expect(listAlice()).toEqual(['a dev', 'c prod', 'd prod']);
    });
    await grant(['c']);
    await eventually(async () => expect(listAlice()).toEqual(['c prod']));
  });
});
