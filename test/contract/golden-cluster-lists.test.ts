// Lists and watches of clusters as a real kube-apiserver 1.36 answered them.

import { beforeAll, describe } from '@jest/globals';
import { type Recording, recordings } from '../support/golden.ts';
import { eventually } from './eventually.ts';
import { itAnswersAsRecorded } from './recorded.ts';
import { contractServer } from './server.ts';
import { create, isServed } from './world.ts';

const CLUSTERS = '/apis/registry.purser.dev/v1alpha1/clusters';

describe('a list of clusters', () => {
  const server = contractServer();

  beforeAll(async () => {
    await create(server, '/apis/apiextensions.k8s.io/v1/customresourcedefinitions', definition());
    await eventually(() => isServed(server, CLUSTERS));
    for (let number = 1; number <= 25; number++) await create(server, `${CLUSTERS}?fieldManager=kubectl-create`, cluster(number));
  }, 60_000);

  itAnswersAsRecorded(server, recordings('cluster-lists').map(asAdmin));
});

function definition(): object {
  const anything = { type: 'object', 'x-kubernetes-preserve-unknown-fields': true };
  const openAPIV3Schema = { type: 'object', properties: { spec: anything, status: anything } };
  return {
    apiVersion: 'apiextensions.k8s.io/v1',
    kind: 'CustomResourceDefinition',
    metadata: { name: 'clusters.registry.purser.dev' },
    spec: {
      group: 'registry.purser.dev',
      scope: 'Cluster',
      names: { plural: 'clusters', singular: 'cluster', kind: 'Cluster', listKind: 'ClusterList' },
      versions: [{ name: 'v1alpha1', served: true, storage: true, subresources: { status: {} }, schema: { openAPIV3Schema } }],
    },
  };
}

function cluster(number: number): object {
  const labels = { env: number % 2 === 0 ? 'prod' : 'dev', region: `r${number % 3}` };
  const serverEndpoints = [{ clientCIDR: '0.0.0.0/0', serverAddress: `https://10.0.0.${number}` }];
  return {
    apiVersion: 'registry.purser.dev/v1alpha1',
    kind: 'Cluster',
    metadata: { name: `c${String(number).padStart(2, '0')}`, labels },
    spec: { orchestratorApiEndpoints: { serverEndpoints } },
  };
}

function asAdmin({ request, ...rest }: Recording): Recording {
  return { ...rest, request: { ...request, headers: { authorization: 'Bearer admintoken', ...request.headers } } };
}
