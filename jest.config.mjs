import { readFileSync, statfsSync } from 'node:fs';
import { availableParallelism } from 'node:os';
import { fileURLToPath } from 'node:url';

// Workers and the programs that tests start compile each module once. Also bin/purser.cjs uses this folder.
process.env.NODE_COMPILE_CACHE ??= fileURLToPath(new URL('node_modules/.cache/compiled', import.meta.url));

// The servers of tests sync every change to disk: with a folder in memory, the suite takes half the time of a slow disk.
if (hasRoomInMemory()) process.env.TMPDIR ??= '/dev/shm';

/** Returns whether /dev/shm has room for the data of the servers, and allows programs that tests write there to run. */
function hasRoomInMemory() {
  try {
    const mounted =
      readFileSync('/proc/mounts', 'utf8')
        .split('\n')
        .find((line) => line.split(' ')[1] === '/dev/shm') ?? 'noexec';
    const { bavail, bsize } = statfsSync('/dev/shm');
    return !mounted.includes('noexec') && bavail * bsize > 4 * 2 ** 30;
  } catch {
    return false;
  }
}

// Node imports test files and strips their types: no transpiler, no source maps, exact line numbers.
const common = {
  transform: {},
  runtime: '<rootDir>/test/support/jest-runtime.ts',
  testEnvironment: '<rootDir>/test/support/jest-environment.ts',
  cacheDirectory: '<rootDir>/node_modules/.cache/jest',
  // Searches all log lines for tokens; see test/support/leaks.ts.
  setupFilesAfterEnv: ['<rootDir>/test/support/leak-watch.ts'],
};

export default {
  projects: [
    {
      ...common,
      displayName: 'unit',
      testMatch: ['<rootDir>/{test,apiserver/test}/**/*.test.ts'],
      // Exhaustive tests run few cases of each kind here, except those that repeat crashes, failures and attacks on whole controllers.
      testPathIgnorePatterns: [
        '<rootDir>/test/real/',
        '<rootDir>/test/pods/',
        '<rootDir>/test/browser/',
        '<rootDir>/test/e2e/.+\\.exhaustive\\.',
        '/(crash|escapes|escape-schedules|failures|manual|reverted-writes)\\.exhaustive\\.',
      ],
      globals: { testServer: 'embedded' },
    },
    // All cases of exhaustive tests: `npm run test:exhaustive`.
    {
      ...common,
      displayName: 'exhaustive',
      testMatch: ['<rootDir>/test/**/*.exhaustive.test.ts'],
      globals: { testServer: 'embedded', isExhaustive: true },
    },
    // Real etcd and kube-apiserver processes: `npm run test:kube`.
    {
      ...common,
      displayName: 'kube',
      testMatch: ['<rootDir>/test/{contract,real}/**/*.test.ts'],
      globals: { testServer: 'real' },
    },
    // The web UI in Chromium: `npm run test:ui`.
    {
      ...common,
      displayName: 'ui',
      testMatch: ['<rootDir>/test/browser/**/*.test.ts'],
      globals: { testServer: 'embedded' },
    },
    // The image on a node: `npm run test:pods`.
    {
      ...common,
      displayName: 'pods',
      testMatch: ['<rootDir>/test/pods/**/*.test.ts'],
      globalSetup: '<rootDir>/test/pods/global-setup.ts',
      testEnvironment: '<rootDir>/test/pods/environment.ts',
      globals: { testServer: 'real' },
    },
  ],
  // More than there are cores, because some tests wait for real processes and connections.
  maxWorkers: availableParallelism() + 2,
  testSequencer: './test/support/sequencer.ts',
  reporters: ['default', '<rootDir>/test/support/leak-reporter.ts'],
  // Long, so that no test fails because the machine is busy.
  testTimeout: 300_000,
};
