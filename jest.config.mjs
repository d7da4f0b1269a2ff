import { readFileSync, statfsSync } from 'node:fs';

// The servers of tests write every change through to disk: a folder in memory takes half the time of the suite off a slow disk.
if (hasRoomInMemory()) process.env.TMPDIR ??= '/dev/shm';

/** Returns whether Linux's memory folder has room for the servers' data, and runs the programs that tests write there. */
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
  // Looks for tokens in everything that is logged, see test/support/leaks.ts.
  setupFilesAfterEnv: ['<rootDir>/test/support/leak-watch.ts'],
};

export default {
  projects: [
    {
      ...common,
      displayName: 'unit',
      testMatch: ['<rootDir>/{test,apiserver/test}/**/*.test.ts'],
      testPathIgnorePatterns: ['<rootDir>/test/real/'],
      globals: { testServer: 'embedded' },
    },
    // Real etcd and kube-apiserver processes: `npm run test:kube`.
    { ...common, displayName: 'kube', testMatch: ['<rootDir>/test/{contract,real}/**/*.test.ts'], globals: { testServer: 'real' } },
  ],
  reporters: ['default', '<rootDir>/test/support/leak-reporter.ts'],
  // A test fails by what it sees, not because the machine has other work.
  testTimeout: 300_000,
};
