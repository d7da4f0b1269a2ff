// Start and stop of components in order of their dependencies.

import { type Observable, Subscription } from 'rxjs';
import type { Clock } from '../std/clock.ts';

/** A part of the process that starts and stops. */
export interface Component {
  readonly name: string;
  /** Name of the component's readiness check; undefined if there is none. */
  readonly check?: string;
  /** Resolves once the component runs. Rejects and cleans up if it fails or `signal` aborts. */
  start(signal: AbortSignal): Promise<void>;
  /** Stops cleanly. After `signal` aborts, the component must stop immediately. */
  stop(signal: AbortSignal): Promise<void>;
  /** Maximum duration of the start, in milliseconds; unlimited by default. */
  readonly startMs?: number;
  /** Maximum duration of a clean stop, in milliseconds; `STOP_MS` by default. */
  readonly stopMs?: number;
}

/** Default of `stopMs`, for components without pending work. */
export const STOP_MS = 1_000;

/** A component that did not stop cleanly. */
export interface StopFailure {
  readonly name: string;
  readonly error: unknown;
}

/** Error of a start or stop that took too long. */
export class DeadlineError extends Error {
  override readonly name = 'DeadlineError';
}

/** Starts components in order and stops them in reverse order. */
export class Lifecycle {
  readonly #components: readonly Component[];
  readonly #clock: Clock;
  readonly #stopping = new AbortController();
  /** Running components, in start order. */
  readonly #started: Component[] = [];
  #starting: Promise<void> = Promise.resolve();
  #stopped: Promise<readonly StopFailure[]> | undefined;

  constructor(components: readonly Component[], clock: Clock) {
    this.#components = components;
    this.#clock = clock;
  }

  /** Resolves when all components run. If one fails or `stop` is called, rejects after the others have stopped. */
  async start(): Promise<void> {
    this.#starting = this.#startAll();
    try {
      await this.#starting;
    } catch (error) {
      await this.stop();
      throw error;
    }
  }

  /** Stops all started components and returns those that did not stop cleanly. Every call returns the same result. */
  stop(): Promise<readonly StopFailure[]> {
    this.#stopped ??= this.#stopAll();
    return this.#stopped;
  }

  async #startAll(): Promise<void> {
    const { signal } = this.#stopping;
    for (const component of this.#components) {
      signal.throwIfAborted();
      const { name, startMs = Infinity } = component;
      await this.#within(startMs, `${name} did not start in time`, (late) => component.start(AbortSignal.any([signal, late])));
      this.#started.push(component);
    }
  }

  async #stopAll(): Promise<readonly StopFailure[]> {
    this.#stopping.abort(new Error('stopped during startup'));
    await this.#starting.catch(() => {});
    const failures: StopFailure[] = [];
    for (const component of this.#started.toReversed()) {
      const { name, stopMs = STOP_MS } = component;
      try {
        await this.#within(stopMs, `${name} did not stop in time`, (late) => component.stop(late));
      } catch (error) {
        failures.push({ name, error });
      }
    }
    return failures;
  }

  /** Runs work with a timeout in milliseconds; does not wait for work that ignores its signal. */
  #within(ms: number, message: string, work: (late: AbortSignal) => Promise<void>): Promise<void> {
    const deadline = new AbortController();
    return new Promise((resolve, reject) => {
      const expire = () => {
        const error = new DeadlineError(message);
        reject(error);
        deadline.abort(error);
      };
      const cancel = ms === Infinity ? () => {} : this.#clock.wakeAfter(ms, expire);
      Promise.try(work, deadline.signal).then(resolve, reject).finally(cancel);
    });
  }
}

export interface StreamOptions {
  readonly name: string;
  readonly stopMs: number;
  /** Returns the stream, which completes after `stopping` aborts. */
  readonly run: (stopping: AbortSignal) => Observable<unknown>;
  /** Called with the error if the stream fails. Such an error is a defect. */
  readonly onDefect: (error: unknown) => void;
}

/** Creates a component that subscribes to a stream. If the stream does not complete in time during the stop, the component unsubscribes. */
export function createStreamComponent({ name, stopMs, run, onDefect }: StreamOptions): Component {
  const stopping = new AbortController();
  let subscription = Subscription.EMPTY;
  return {
    name,
    stopMs,
    async start() {
      subscription = run(stopping.signal).subscribe({ error: onDefect });
    },
    stop(late) {
      return new Promise((resolve) => {
        subscription.add(resolve);
        late.addEventListener('abort', () => subscription.unsubscribe(), { once: true });
        stopping.abort();
      });
    },
  };
}
