// Environment of a test file whose tests build on each other: after a failure, the others are skipped instead of waiting in vain.

import ProcessEnvironment from '../support/jest-environment.ts';

/** The parts of an event of Jest that this environment uses. */
interface TestEvent {
  readonly name: string;
  readonly test?: { readonly name: string; readonly errors: readonly unknown[]; mode: string | null | undefined };
  readonly describeBlock?: { mode: string | null | undefined };
}

/** Environment of one test file. */
export default class PodsEnvironment extends ProcessEnvironment {
  #hasFailed = false;

  /** Prints the state of the cluster after the first failure. */
  async handleTestEvent({ name, test, describeBlock }: TestEvent): Promise<void> {
    if (name === 'test_done' && test !== undefined && test.errors.length > 0 && !this.#hasFailed) {
      this.#hasFailed = true;
      // Modules of tests import the functions of Jest, which exist only when the test file runs.
      const { describeCluster } = await import('./diagnosis.ts');
      process.stderr.write(`\nThe cluster after the failure of "${test.name}":\n\n${await describeCluster()}\n`);
    }
    const next = name === 'test_start' ? test : name === 'run_describe_start' ? describeBlock : undefined;
    if (next !== undefined && this.#hasFailed) next.mode = 'skip';
  }
}
