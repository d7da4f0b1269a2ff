import { expect, it } from '@jest/globals';
import { isLocalRun } from '../../src/config/arguments.ts';

const CLUSTER = { KUBECONFIG: '/kubeconfig' };

it.each([
  ['dev', CLUSTER, true],
  ['run', {}, false],
  ['print target-rbac', {}, false],
  ['', {}, true],
  ['', { KUBECONFIG: '' }, true],
  ['', CLUSTER, false],
  ['--help', {}, true],
])('purser %s with %j is a local run: %s', (line, env, expected) => {
  expect(isLocalRun(line.split(' ').filter(Boolean), env)).toBe(expected);
});
