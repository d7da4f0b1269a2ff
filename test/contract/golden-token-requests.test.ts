// Token requests as a real kube-apiserver 1.36 answered them.

import { beforeAll, describe } from '@jest/globals';
import { recordings } from '../support/golden.ts';
import { itAnswersAsRecorded } from './replay.ts';
import { contractServer } from './server.ts';
import { createTokenWorld } from './token-world.ts';

describe('a token request', () => {
  const server = contractServer({ issuer: 'https://hub.test' });

  beforeAll(() => createTokenWorld(server), 60_000);

  itAnswersAsRecorded(server, recordings('token-requests'));
});
