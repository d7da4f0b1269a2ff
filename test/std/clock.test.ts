import { afterEach, beforeEach, describe, expect, it, jest } from '@jest/globals';
import { sleep, systemClock } from '../../src/std/clock.ts';
import { FakeClock } from '../support/clock.ts';

const NOON = Date.parse('2026-03-01T12:00:00Z');
const DAY_MS = 86_400_000;

describe('systemClock', () => {
  beforeEach(() => void jest.useFakeTimers({ now: NOON, doNotFake: ['nextTick', 'queueMicrotask'] }));
  afterEach(() => void jest.useRealTimers());

  function alarm(at: number) {
    const wake = jest.fn();
    return { wake, cancel: systemClock.wakeAt(at, wake) };
  }

  it("returns the machine's time", () => {
    expect(systemClock.now()).toBe(NOON);
  });

  it('wakes once at the requested time', () => {
    const { wake } = alarm(NOON + 1000);
    jest.advanceTimersByTime(999);
    expect(wake).not.toHaveBeenCalled();
    jest.advanceTimersByTime(DAY_MS);
    expect(wake).toHaveBeenCalledTimes(1);
  });

  it('wakes asynchronously for a time in the past', () => {
    const { wake } = alarm(NOON - 1000);
    expect(wake).not.toHaveBeenCalled();
    jest.advanceTimersByTime(0);
    expect(wake).toHaveBeenCalledTimes(1);
  });

  it('waits 288 days without overflowing a timer', () => {
    const { wake } = alarm(NOON + 288 * DAY_MS);
    jest.advanceTimersByTime(288 * DAY_MS - 1);
    expect(wake).not.toHaveBeenCalled();
    jest.advanceTimersByTime(1);
    expect(wake).toHaveBeenCalledTimes(1);
  });

  it('arms no timer for longer than an hour', () => {
    const armed = jest.spyOn(globalThis, 'setTimeout');
    alarm(NOON + 30 * DAY_MS);
    jest.advanceTimersByTime(DAY_MS);
    expect(Math.max(...armed.mock.calls.map(([, ms]) => Number(ms)))).toBe(3_600_000);
    expect(armed).toHaveBeenCalledTimes(25);
    armed.mockRestore();
  });

  it('detects within an hour that the wall clock was set forward', () => {
    const { wake } = alarm(NOON + 30 * DAY_MS);
    jest.setSystemTime(NOON + 31 * DAY_MS);
    jest.advanceTimersByTime(3_600_000);
    expect(wake).toHaveBeenCalledTimes(1);
  });

  it('keeps waiting after the wall clock was set back', () => {
    const { wake } = alarm(NOON + 1000);
    jest.setSystemTime(NOON - 1000);
    jest.advanceTimersByTime(1000);
    expect(wake).not.toHaveBeenCalled();
    jest.advanceTimersByTime(1000);
    expect(wake).toHaveBeenCalledTimes(1);
  });

  it('wakes once for a time of NaN', () => {
    const { wake } = alarm(Number.NaN);
    jest.advanceTimersByTime(10_000);
    expect(wake).toHaveBeenCalledTimes(1);
  });

  it('measures durations with the monotonic clock', () => {
    const start = systemClock.monotonic();
    jest.setSystemTime(NOON - DAY_MS);
    jest.advanceTimersByTime(1000);
    expect(systemClock.monotonic() - start).toBe(1000);
  });

  it.each([-DAY_MS, DAY_MS])('wakes after a duration even if the wall clock was changed by %d ms', (setMs) => {
    const wake = jest.fn();
    systemClock.wakeAfter(2 * 3_600_000, wake);
    jest.setSystemTime(NOON + setMs);
    jest.advanceTimersByTime(2 * 3_600_000 - 1);
    expect(wake).not.toHaveBeenCalled();
    jest.advanceTimersByTime(1);
    expect(wake).toHaveBeenCalledTimes(1);
  });

  it.each([0, 2 * 3_600_000])('cancels a wake-up after %d ms, and leaves no timer', (ms) => {
    const { wake, cancel } = alarm(NOON + DAY_MS);
    jest.advanceTimersByTime(ms);
    cancel();
    expect(jest.getTimerCount()).toBe(0);
    jest.advanceTimersByTime(2 * DAY_MS);
    expect(wake).not.toHaveBeenCalled();
  });
});

describe('sleep', () => {
  it('resolves after a duration, independently of the wall clock', async () => {
    const clock = new FakeClock(NOON);
    const slept = sleep(clock, 10);
    clock.set(NOON - DAY_MS);
    clock.advance(10);
    await expect(slept).resolves.toBeUndefined();
  });

  it('rejects with the reason of the signal and leaves no timer', async () => {
    const clock = new FakeClock(NOON);
    const controller = new AbortController();
    const slept = sleep(clock, 10, controller.signal);
    controller.abort(new Error('stopping'));
    await expect(slept).rejects.toThrow('stopping');
    expect(clock.pending).toBe(0);
  });

  it('rejects immediately for an aborted signal', async () => {
    const clock = new FakeClock(NOON);
    await expect(sleep(clock, 10, AbortSignal.abort(new Error('stopped')))).rejects.toThrow('stopped');
    expect(clock.pending).toBe(0);
  });

  it('removes the abort listener from the signal', async () => {
    const clock = new FakeClock(NOON);
    const { signal } = new AbortController();
    const removed = jest.spyOn(signal, 'removeEventListener');
    const slept = sleep(clock, 0, signal);
    clock.advance(0);
    await slept;
    expect(removed).toHaveBeenCalledTimes(1);
  });
});

describe('FakeClock', () => {
  it('wakes in the order of the requested times', () => {
    const clock = new FakeClock(NOON);
    const woken: [string, number][] = [];
    const note = (name: string) => () => void woken.push([name, clock.now() - NOON]);
    clock.wakeAt(NOON + 20, note('second'));
    clock.wakeAt(NOON + 10, note('first'));
    clock.wakeAt(NOON + 20, note('third'));
    clock.wakeAt(NOON + 31, note('later'));
    clock.advance(30);
    expect(woken).toEqual([
      ['first', 10],
      ['second', 20],
      ['third', 20],
    ]);
    expect(clock.now()).toBe(NOON + 30);
  });

  it('changes times, but not durations, when the clock is set', () => {
    const clock = new FakeClock(NOON);
    const woken: string[] = [];
    clock.wakeAt(NOON + 10, () => void woken.push('at'));
    clock.wakeAfter(10, () => void woken.push('after'));
    clock.set(NOON - 10);
    clock.advance(10);
    expect(woken).toEqual(['after']);
    clock.set(NOON + 10);
    clock.advance(0);
    expect(woken).toEqual(['after', 'at']);
  });

  it('fires timers that are armed while the clock advances', () => {
    const clock = new FakeClock(NOON);
    const wake = jest.fn();
    clock.wakeAt(NOON + 10, () => clock.wakeAt(NOON + 20, wake));
    clock.advance(20);
    expect(wake).toHaveBeenCalledTimes(1);
  });
});
