// Lists and watches of clusters as a real kube-apiserver 1.36 answered them.

import { beforeAll, describe } from '@jest/globals';
import { type Recording, recordings } from '../support/golden.ts';
import { eventually } from './eventually.ts';
import { cluster, definition } from './golden-clusters.ts';
import { itAnswersAsRecorded } from './replay.ts';
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

function asAdmin({ request, ...rest }: Recording): Recording {
  return { ...rest, request: { ...request, headers: { authorization: 'Bearer admintoken', ...request.headers } } };
}
