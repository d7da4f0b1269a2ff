// A sequence of requests of all kinds, as a real kube-apiserver 1.36 answered them on an empty server.

import { describe } from '@jest/globals';
import { recordings } from '../support/golden.ts';
import { relaxationOf } from '../support/golden-relaxations.ts';
import { eventually } from './eventually.ts';
import { itAnswersAsRecorded } from './replay.ts';
import { contractServer } from './server.ts';
import { isAllowed, isServed } from './world.ts';

describe('an empty server', () => {
  const server = contractServer({ issuer: 'https://gold.test' });
  const secret = { verb: 'get', resource: 'secrets', namespace: 'lab', name: 's' };
  const settle = {
    'crd-create': () => eventually(() => isServed(server, '/apis/example.dev/v1alpha1/namespaces/lab/widgets')),
    'binding-create': () => eventually(() => isAllowed(server, 'alice', secret)),
  };
  itAnswersAsRecorded(server, recordings('resources'), { relax: relaxationOf, settle });
});
