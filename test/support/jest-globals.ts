// Implementation of `@jest/globals` for jest-runtime.ts: modules that test files share call the functions of the current test file.

import { ModernFakeTimers } from '@jest/fake-timers';
import { ModuleMocker } from 'jest-mock';

const NAMES = ['afterAll', 'afterEach', 'beforeAll', 'beforeEach', 'describe', 'expect', 'it'] as const;

type Callable = (...args: readonly unknown[]) => unknown;

/** Functions by name, for example `describe`. */
export type TestFunctions = Readonly<Record<(typeof NAMES)[number], Callable>>;

let current: TestFunctions | undefined;

/** Sets the functions of the current test file. */
export function setTestFunctions(functions: TestFunctions): void {
  current = functions;
}

function currentFunction(name: keyof TestFunctions): Callable {
  if (current === undefined) throw new Error(`${name} is available only in test files`);
  return current[name];
}

function delegate(name: keyof TestFunctions): Callable {
  return new Proxy<Callable>(() => {}, {
    apply: (_target, _self, args: readonly unknown[]) => currentFunction(name)(...args),
    get: (_target, key) => Reflect.get(currentFunction(name), key),
  });
}

export const [afterAll, afterEach, beforeAll, beforeEach, describe, expect, it] = NAMES.map(delegate);

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
