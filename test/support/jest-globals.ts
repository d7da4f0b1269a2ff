// Implementation of `@jest/globals` for jest-runtime.ts. Its exports change with each test file, even for modules that test files share.

import { ModernFakeTimers } from '@jest/fake-timers';
import { ModuleMocker } from 'jest-mock';

type Callable = (...args: readonly unknown[]) => unknown;

/** Functions of one test file by name. */
export type TestFunctions = Readonly<
  Record<'afterAll' | 'afterEach' | 'beforeAll' | 'beforeEach' | 'describe' | 'expect' | 'it', Callable>
>;

export let { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it }: Partial<TestFunctions> = {};

/** Sets the functions of the next test file; modules that import them see the new ones. */
export function setTestFunctions(functions: TestFunctions): void {
  ({ afterAll, afterEach, beforeAll, beforeEach, describe, expect, it } = functions);
}

const mocker = new ModuleMocker(globalThis);
const timers = new ModernFakeTimers({ global: globalThis, config: { fakeTimers: {}, rootDir: '' } as never });

/** The part of Jest's object `jest` that tests use. */
export const jest = {
  fn: mocker.fn.bind(mocker),
  spyOn: mocker.spyOn.bind(mocker),
  setTimeout: (timeoutMs: number): void => void Object.assign(globalThis, { [Symbol.for('TEST_TIMEOUT_SYMBOL')]: timeoutMs }),
  useFakeTimers: timers.useFakeTimers.bind(timers),
  useRealTimers: timers.useRealTimers.bind(timers),
  advanceTimersByTime: timers.advanceTimersByTime.bind(timers),
  setSystemTime: timers.setSystemTime.bind(timers),
  getTimerCount: timers.getTimerCount.bind(timers),
};
