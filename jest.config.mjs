// Node strips the types itself: no transpiler, no source maps, exact line numbers.
const common = {
  testEnvironment: 'node',
  extensionsToTreatAsEsm: ['.ts'],
  transform: { '^.+\\.ts$': '<rootDir>/jest.strip.mjs' },
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
  testTimeout: 30_000,
  // ES modules of a finished test file are never freed (jestjs/jest#14605): start a fresh worker now and then.
  workerIdleMemoryLimit: '700MB',
};
