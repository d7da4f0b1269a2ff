// Replays a sequence of requests for all kinds that was recorded with an empty kube-apiserver 1.36.

import { describe } from '@jest/globals';
import { recordings } from '../support/golden.ts';
import { findRelaxation } from '../support/golden-relaxations.ts';
import { eventually } from './eventually.ts';
import { itRespondsAsRecorded } from './replay.ts';
import { contractServer } from './server.ts';
import { expectAllowed, expectServed } from './world.ts';

describe('requests to an empty server', () => {
  const server = contractServer({ issuer: 'https://gold.test' });
  const secret = { verb: 'get', resource: 'secrets', namespace: 'lab', name: 's' };
  const settle = {
    'crd-create': () => eventually(() => expectServed(server, '/apis/example.dev/v1alpha1/namespaces/lab/widgets')),
    'binding-create': () => eventually(() => expectAllowed(server, 'alice', secret)),
  };
  itRespondsAsRecorded(server, recordings('resources'), { relax: findRelaxation, settle });
});
