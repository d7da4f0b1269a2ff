import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from '@jest/globals';
import { PEER_MODULE } from '../support/kube-binaries.ts';
import { PEER_CRDS } from '../support/operator-crds.ts';

describe('PEER_CRDS', () => {
  it('matches the version and the hash of the agent in go.sum', () => {
    const { path, version, sum } = PEER_CRDS;
    expect(readFileSync(join(PEER_MODULE.folder, 'go.sum'), 'utf8').split('\n')).toContain(`${path} ${version} ${sum}`);
  });
});
