// Replays token requests that were recorded with kube-apiserver 1.36.

import { beforeAll, describe } from '@jest/globals';
import { recordings } from '../support/golden.ts';
import { itRespondsAsRecorded } from './replay.ts';
import { contractServer } from './server.ts';
import { createTokenWorld } from './token-world.ts';

describe('token requests', () => {
  const server = contractServer({ issuer: 'https://hub.test' });

  beforeAll(() => createTokenWorld(server), 60_000);

  itRespondsAsRecorded(server, recordings('token-requests'));
});
