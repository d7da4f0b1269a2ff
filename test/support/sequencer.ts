// Order of test files: slow files start first, so that no core waits for one of them at the end.
//
// Jest orders files by their duration in earlier runs. A fresh clone has none, and files that wait for real timeouts are small.

import { createRequire } from 'node:module';
import type sequencer from '@jest/test-sequencer';

// The package declares its types for CommonJS only.
const { default: TestSequencer } = createRequire(import.meta.url)('@jest/test-sequencer') as typeof sequencer;

/** Files that take more than six seconds, from the longest; relative to the root of the repository. */
export const LONGEST: readonly string[] = [
  'test/real/faults.test.ts',
  'test/real/deploy-overlays.test.ts',
  'test/real/deploy.test.ts',
  'test/real/fleet.test.ts',
  'test/real/replicas.test.ts',
  'test/real/cluster-status.test.ts',
  'test/real/package.test.ts',
  'test/real/managed-token.test.ts',
  'test/real/kubectl.test.ts',
  'test/real/permissions.test.ts',
  'test/real/federation.test.ts',
  'test/real/kube-faults.test.ts',
  'test/real/cluster-add.test.ts',
  'test/real/docs-tour.test.ts',
  'test/real/docs-operating.test.ts',
  'test/real/managed-token-set.test.ts',
  'test/real/cluster-profiles.test.ts',
  'test/real/image.test.ts',
  'test/real/credential-plugin.test.ts',
  'test/real/cluster-sets.test.ts',
  'test/real/facade-lists.test.ts',
  'test/e2e/replicas.exhaustive.test.ts',
  'test/e2e/restart.exhaustive.test.ts',
  'test/sets/crash.exhaustive.test.ts',
  'test/e2e/start.test.ts',
  'test/facade/http2.exhaustive.test.ts',
  'test/tokens/escapes.exhaustive.test.ts',
  'test/facade/tokens/limits.exhaustive.test.ts',
  'test/facade/server.test.ts',
  'test/contract/reading-watch.test.ts',
  'test/e2e/crash.exhaustive.test.ts',
  'test/credentials/crash.exhaustive.test.ts',
  'test/tokens/revocation.exhaustive.test.ts',
  'test/facade/tokens/body.exhaustive.test.ts',
  'test/credentials/failures.exhaustive.test.ts',
  'test/sets/rollout.exhaustive.test.ts',
  'test/sets/cluster-profiles.exhaustive.test.ts',
  'test/sets/fleet.exhaustive.test.ts',
  'test/sets/controller.exhaustive.test.ts',
  'test/tokens/permission.exhaustive.test.ts',
  'test/contract/reading-history.test.ts',
  'test/e2e/credential.test.ts',
  'test/e2e/tokens.test.ts',
  'test/contract/golden-cluster-lists.test.ts',
  'test/contract/golden-facade-lists.test.ts',
  'test/tokens/escape-schedules.exhaustive.test.ts',
  'test/kube/addresses.test.ts',
];

type Tests = Parameters<InstanceType<typeof TestSequencer>['sort']>[0];

/** Sorts the longest files to the front, and keeps Jest's order of the others. */
export default class LongestFirst extends TestSequencer {
  override async sort(tests: Tests): Promise<Tests> {
    return (await super.sort(tests)).toSorted((a, b) => positionOf(a.path) - positionOf(b.path));
  }
}

function positionOf(path: string): number {
  const position = LONGEST.findIndex((file) => path.endsWith(`/${file}`));
  return position === -1 ? LONGEST.length : position;
}
