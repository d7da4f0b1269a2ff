// Environment of Jest without a sandbox: test files run with the globals of the process; see jest-runtime.ts.

import { flushCompileCache } from 'node:module';
import { removeFolders } from './folders.ts';

interface Settings {
  readonly projectConfig: { readonly globals: object };
}

/** Environment of one test file. */
export default class ProcessEnvironment {
  /** Globals that Jest sets for test files; tests import them from `@jest/globals`. */
  readonly global = {};
  readonly #variables = { ...process.env };

  constructor({ projectConfig }: Settings) {
    Object.assign(globalThis, projectConfig.globals);
  }

  async setup(): Promise<void> {}

  /** Restores the environment variables, removes the folders of the test file, and stores compiled modules for other processes. */
  async teardown(): Promise<void> {
    for (const name of Object.keys(process.env)) if (!(name in this.#variables)) Reflect.deleteProperty(process.env, name);
    Object.assign(process.env, this.#variables);
    await removeFolders();
    flushCompileCache();
  }

  getVmContext(): null {
    return null;
  }
}
