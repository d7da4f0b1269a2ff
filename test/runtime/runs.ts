// Reconciles that end when the test decides.

import type { Result } from '../../src/runtime/controller.ts';

interface Started {
  readonly key: string;
  readonly signal: AbortSignal;
  readonly resolve: (result: Result) => void;
  readonly reject: (error: unknown) => void;
}

/** Records started runs in order; each runs until the test ends it. */
export class Runs {
  readonly started: string[] = [];
  readonly #running: Started[] = [];

  readonly reconcile = (key: string, signal: AbortSignal): Promise<Result> => {
    this.started.push(key);
    return new Promise((resolve, reject) => {
      this.#running.push({ key, signal, resolve, reject });
    });
  };

  /** Running keys, with duplicates for concurrent runs. */
  get running(): readonly string[] {
    return this.#running.map(({ key }) => key);
  }

  succeed(key: string, result: Result = {}): void {
    this.#end(key).resolve(result);
  }

  fail(key: string, error: unknown = new Error('failed')): void {
    this.#end(key).reject(error);
  }

  signalOf(key: string): AbortSignal {
    return this.#find(key).signal;
  }

  #end(key: string): Started {
    const run = this.#find(key);
    this.#running.splice(this.#running.indexOf(run), 1);
    return run;
  }

  #find(key: string): Started {
    const run = this.#running.find((other) => other.key === key);
    if (run === undefined) throw new Error(`${key} does not run`);
    return run;
  }
}
