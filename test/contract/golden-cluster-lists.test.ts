// Replays lists and watches of clusters that were recorded with kube-apiserver 1.36.

import { beforeAll, describe } from '@jest/globals';
import { type Recording, recordings } from '../support/golden.ts';
import { eventually } from './eventually.ts';
import { cluster, definition } from './golden-clusters.ts';
import { itRespondsAsRecorded } from './replay.ts';
import { contractServer } from './server.ts';
import { create, expectServed } from './world.ts';

const CLUSTERS = '/apis/registry.purser.dev/v1alpha1/clusters';

describe('lists and watches of clusters', () => {
  const server = contractServer();

  beforeAll(async () => {
    await create(server, '/apis/apiextensions.k8s.io/v1/customresourcedefinitions', definition());
    await eventually(() => expectServed(server, CLUSTERS));
    for (let number = 1; number <= 25; number++) await create(server, `${CLUSTERS}?fieldManager=kubectl-create`, cluster(number));
  });

  itRespondsAsRecorded(server, recordings('cluster-lists').map(asAdmin));
});

function asAdmin({ request, ...rest }: Recording): Recording {
  return { ...rest, request: { ...request, headers: { authorization: 'Bearer admintoken', ...request.headers } } };
}
