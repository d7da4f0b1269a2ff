// Runtime of Jest that imports test files as Node does, without a sandbox.
//
// Jest otherwise compiles every module again for each test file, and never frees the modules (jestjs/jest#14605). Here, test files
// of a worker share the modules that they import, as the parts of one process of Purser do. Only test files, setup files and Jest's
// own test functions are fresh for each test file.

import { createRequire, registerHooks } from 'node:module';
import { pathToFileURL } from 'node:url';
import { setTestFunctions, type TestFunctions } from './jest-globals.ts';

const requireNative = createRequire(import.meta.url);

registerHooks({
  resolve: (specifier, context, resolveNext) =>
    specifier === '@jest/globals'
      ? { url: new URL('jest-globals.ts', import.meta.url).href, shortCircuit: true }
      : resolveNext(specifier, context),
});

// Jest ends a worker by removing its listener, and reports a leak if the worker takes more than half a second. V8 takes longer to free
// the heap of a worker that has run a hundred test files, so the worker exits without freeing it.
process.on('removeListener', (event) => {
  if (event === 'message' && process.listenerCount('message') === 0) process.exit();
});

const STACK_FRAMES = 20;

/** Number of imports of each test or setup file in this process. */
const imports = new Map<string, number>();

/** Part of Jest's runtime that its runner uses. */
export default class NativeRuntime {
  unstable_shouldLoadAsEsm(): boolean {
    return true;
  }

  async unstable_importModule(path: string): Promise<void> {
    const earlier = imports.get(path) ?? 0;
    imports.set(path, earlier + 1);
    const url = pathToFileURL(path).href;
    await import(earlier === 0 ? url : `${url}?import=${earlier}`);
  }

  /** Loads Jest's test functions, with the state of one test file. */
  requireInternalModule(path: string): unknown {
    // Node keeps the positions of code when it strips types: stacks need no source maps.
    Reflect.deleteProperty(Error, 'prepareStackTrace');
    // Jest records 100 frames of each error, which takes 5% of the CPU time of all tests.
    Error.stackTraceLimit = STACK_FRAMES;
    Reflect.deleteProperty(globalThis, Symbol.for('EVENT_HANDLERS'));
    Reflect.deleteProperty(globalThis, Symbol.for('TEST_TIMEOUT_SYMBOL'));
    Reflect.deleteProperty(requireNative.cache, path);
    return requireNative(path);
  }

  requireModule(path: string): unknown {
    return requireNative(path);
  }

  setGlobalsForRuntime(functions: TestFunctions): void {
    setTestFunctions(functions);
  }

  getSourceMaps(): ReadonlyMap<string, string> {
    return new Map();
  }

  getAllCoverageInfoCopy(): undefined {}

  enterTestCode(): void {}

  leaveTestCode(): void {}

  teardown(): void {}
}
