import { beforeEach, describe, expect, it } from '@jest/globals';
import { NEVER, Observable, of, Subject, takeUntil } from 'rxjs';
import { whenAborted } from '../../src/runtime/leadership.ts';
import { type Component, createStreamComponent, DeadlineError, Lifecycle } from '../../src/runtime/lifecycle.ts';
import { turn } from '../kube/eventually.ts';
import { FakeClock } from '../support/clock.ts';

let clock: FakeClock;
let story: string[];

beforeEach(() => {
  clock = new FakeClock();
  story = [];
});

const noSooner = () => new Promise<void>(() => {});

function component(name: string, more: Partial<Component> = {}): Component {
  return {
    name,
    stopMs: 1_000,
    start: async () => void story.push(`${name} starts`),
    stop: async () => void story.push(`${name} stops`),
    ...more,
  };
}

function lifecycleOf(...components: readonly Component[]): Lifecycle {
  return new Lifecycle(components, clock);
}

describe('Lifecycle', () => {
  it('starts components in order and stops them in reverse order', async () => {
    let work = () => {};
    const informers = component('informers', { start: () => new Promise((resolve) => (work = resolve)) });
    const lifecycle = lifecycleOf(component('probes'), informers, component('controllers'));
    const started = lifecycle.start();
    await turn();
    expect(story).toEqual(['probes starts']);
    work();
    await started;
    expect(await lifecycle.stop()).toEqual([]);
    expect(story).toEqual(['probes starts', 'controllers starts', 'controllers stops', 'informers stops', 'probes stops']);
    expect(clock.pending).toBe(0);
  });

  it('stops started components when a component fails to start, and rejects with the error of that component', async () => {
    const lifecycle = lifecycleOf(
      component('a'),
      component('b'),
      component('c', { start: () => Promise.reject(new Error('no port')) }),
      component('d'),
    );
    await expect(lifecycle.start()).rejects.toThrow('no port');
    expect(story).toEqual(['a starts', 'b starts', 'b stops', 'a stops']);
  });

  it('aborts a component that does not start in time', async () => {
    let startSignal: AbortSignal | undefined;
    const slow = component('cache', {
      startMs: 5_000,
      start: (signal) => {
        startSignal = signal;
        return noSooner();
      },
    });
    const problem = lifecycleOf(component('probes'), slow).start().catch(String);
    await turn();
    clock.advance(4_999);
    expect(startSignal?.aborted).toBe(false);
    clock.advance(1);
    expect(await problem).toBe('DeadlineError: cache did not start in time');
    expect([startSignal?.aborted, story]).toEqual([true, ['probes starts', 'probes stops']]);
  });

  it('aborts the start on stop and starts no more components', async () => {
    const waiting = component('hub', {
      start: (signal) => new Promise((_, reject) => signal.addEventListener('abort', () => reject(signal.reason as Error))),
    });
    const lifecycle = lifecycleOf(component('probes'), waiting, component('controllers'));
    const problem = lifecycle.start().catch(String);
    await turn();
    expect(await lifecycle.stop()).toEqual([]);
    expect(await problem).toBe('Error: stopped during startup');
    expect(story).toEqual(['probes starts', 'probes stops']);
  });

  it('gives each component its own time to stop, and returns the components that do not stop cleanly', async () => {
    let late: AbortSignal | undefined;
    const lifecycle = lifecycleOf(
      component('log'),
      component('http', { stopMs: 3_000, stop: () => noSooner() }),
      component('lease', { stop: () => Promise.reject(new Error('hub is gone')) }),
      component('controllers', {
        stopMs: 20_000,
        stop: (signal) => {
          late = signal;
          return noSooner();
        },
      }),
    );
    await lifecycle.start();
    const stopped = lifecycle.stop();
    await turn();
    clock.advance(19_999);
    expect(late?.aborted).toBe(false);
    clock.advance(1);
    await turn();
    expect(late?.aborted).toBe(true);
    clock.advance(3_000);
    expect(await stopped).toEqual([
      { name: 'controllers', error: new DeadlineError('controllers did not stop in time') },
      { name: 'lease', error: new Error('hub is gone') },
      { name: 'http', error: new DeadlineError('http did not stop in time') },
    ]);
    expect(story.at(-1)).toBe('log stops');
    expect(clock.pending).toBe(0);
  });

  it('treats a synchronous throw as a failure of the component', async () => {
    const broken = component('broken', {
      stop: () => {
        throw new Error('oops');
      },
    });
    const lifecycle = lifecycleOf(component('a'), broken);
    await lifecycle.start();
    expect(await lifecycle.stop()).toEqual([{ name: 'broken', error: new Error('oops') }]);
    expect(story.at(-1)).toBe('a stops');
  });

  it('stops each started component once, even if stop is called several times', async () => {
    const lifecycle = lifecycleOf(component('a'));
    await lifecycle.start();
    expect(lifecycle.stop()).toBe(lifecycle.stop());
    await lifecycle.stop();
    expect(story).toEqual(['a starts', 'a stops']);
    expect(await lifecycleOf(component('b')).stop()).toEqual([]);
    expect(story).toHaveLength(2);
  });
});

describe('createStreamComponent', () => {
  const defects: unknown[] = [];
  const options = { name: 'controllers', stopMs: 20_000, onDefect: (error: unknown) => defects.push(error) };

  it('stops when the stream has completed', async () => {
    const drained$ = new Subject<void>();
    let isStopping = false;
    const run = (stopping: AbortSignal) =>
      new Observable<never>((subscriber) => {
        stopping.addEventListener('abort', () => {
          isStopping = true;
          drained$.subscribe(() => subscriber.complete());
        });
      });
    const lifecycle = lifecycleOf(createStreamComponent({ ...options, run }));
    await lifecycle.start();
    const stopped = lifecycle.stop();
    await turn();
    expect([isStopping, clock.pending]).toEqual([true, 1]);
    drained$.next();
    expect([await stopped, clock.pending]).toEqual([[], 0]);
  });

  it('unsubscribes from the stream after the stop timeout', async () => {
    let isCut = false;
    const run = () => new Observable<never>(() => () => (isCut = true));
    const lifecycle = lifecycleOf(createStreamComponent({ ...options, run }));
    await lifecycle.start();
    const stopped = lifecycle.stop();
    await turn();
    clock.advance(20_000);
    expect(await stopped).toEqual([{ name: 'controllers', error: new DeadlineError('controllers did not stop in time') }]);
    expect(isCut).toBe(true);
  });

  it.each([
    ['has completed', () => of(1)],
    ['completes on stop', (stopping: AbortSignal) => NEVER.pipe(takeUntil(whenAborted(stopping)))],
  ])('stops immediately if the stream %s', async (_case, run) => {
    const lifecycle = lifecycleOf(createStreamComponent({ ...options, run }));
    await lifecycle.start();
    expect(await lifecycle.stop()).toEqual([]);
  });

  it('reports a defect of the stream and stops', async () => {
    const failing$ = new Subject<never>();
    const lifecycle = lifecycleOf(createStreamComponent({ ...options, run: () => failing$ }));
    await lifecycle.start();
    failing$.error(new Error('bug'));
    expect([defects, await lifecycle.stop()]).toEqual([[new Error('bug')], []]);
  });
});
