// The pump between requests and reconciles: runs each key when it is due, never twice at once, and looks again when told to.

import { Observable, type Subscriber } from 'rxjs';
import type { Clock } from '../std/clock.ts';
import type { Failure, Retry } from './retry-policy.ts';
import { type Place, type Request, WorkQueue } from './work-queue.ts';

/** What a reconcile that succeeded asks for. */
export interface Result {
  /** When to look at the key again, if nothing else wakes it before. */
  readonly requeueAt?: number | undefined;
}

export interface ControllerOptions<K> {
  /** Brings the world in line with what is asked for under `key`. Whatever it throws is a failure of this run alone. */
  readonly reconcile: (key: K, signal: AbortSignal) => Promise<Result>;
  readonly retryPolicy: (failure: Failure<K>) => Retry;
  readonly clock: Clock;
  readonly concurrency: number;
  /** How many keys of one lane may run at once; all by default. */
  readonly concurrencyPerLane?: number;
  /** See `Limits`; Infinity by default. */
  readonly tenantShare?: number;
  /** The place of a key when it becomes ready; the same for all by default. */
  readonly placeOf?: (key: K) => Place;
  /** Called at the start with functions that read the state of the queue. */
  readonly onQueue?: (queue: QueueState) => void;
}

/** State of a controller's queue at the time of each call. */
export interface QueueState {
  /** Returns the number of keys that are due and wait for a slot. */
  readonly depth: () => number;
  /** Returns the tenants with a running key and the slots that each holds. */
  readonly held: () => Iterable<readonly [tenant: string, slots: number]>;
}

interface Run<K> {
  readonly key: K;
  /** Failures in a row up to now, this run included. */
  readonly failures: number;
  readonly startedAt: number;
  readonly finishedAt: number;
  /** Measured on the monotonic clock, so not always the difference of the two. */
  readonly durationMs: number;
  /** How long after the key was due the run began. */
  readonly latenessMs: number;
}

/** How one run ended, and what follows. */
export type Outcome<K> =
  | (Run<K> & { readonly type: 'reconciled'; readonly result: Result })
  | (Run<K> & { readonly type: 'failed'; readonly error: unknown; readonly retry: Retry });

/**
 * Runs what is requested and tells how each run ended; failed runs are outcomes, never errors of the stream.
 * When the requests end, running work is drained and the rest dropped. Unsubscribing aborts running work at once, and how
 * that ends is told to nobody.
 */
export function runController<K>(requests$: Observable<Request<K>>, options: ControllerOptions<K>): Observable<Outcome<K>> {
  return new Observable((subscriber) => {
    const pump = new Pump(options, subscriber);
    subscriber.add(() => pump.abort());
    subscriber.add(
      requests$.subscribe({
        next: ({ key, dueAt }) => pump.request(key, dueAt),
        error: (error) => subscriber.error(error),
        complete: () => pump.drain(),
      }),
    );
  });
}

const SOLE_PLACE: Place = { lane: '', deadlineAt: Infinity };
/** A reconcile that asks to be run again at once, and again, must not keep the process from everything else. */
const SHORTEST_PAUSE_MS = 100;
/** The time is looked at this often while a key waits: machines are suspended, and clocks are set. */
const LONGEST_SLEEP_MS = 60_000;
/** What is less is the work of programs that keep clocks exact. */
const SET_BACK_MS = 1_000;

class Pump<K> {
  readonly #options: ControllerOptions<K>;
  readonly #outcomes: Subscriber<Outcome<K>>;
  readonly #queue: WorkQueue<K>;
  readonly #aborting = new AbortController();
  /** Failures in a row of each key that is to be tried again. */
  readonly #failures = new Map<K, number>();
  readonly #conflicts = new Map<K, number>();
  /** The one wake-up that is armed. */
  #wakeUp: { readonly at: number; readonly cancel: () => void } | undefined;
  /** When the monotonic clock began, by the wall clock. */
  #epoch = -Infinity;
  #isScheduled = false;
  #isDraining = false;

  constructor(options: ControllerOptions<K>, outcomes: Subscriber<Outcome<K>>) {
    const { concurrency, concurrencyPerLane = concurrency, tenantShare = Infinity, placeOf = () => SOLE_PLACE } = options;
    this.#options = options;
    this.#outcomes = outcomes;
    this.#queue = new WorkQueue({ concurrency, concurrencyPerLane, tenantShare, placeOf });
    options.onQueue?.({
      depth: () => (this.#isEnding ? 0 : this.#queue.depth(options.clock.now())),
      held: () => this.#queue.held(),
    });
  }

  /** Starts nothing before the caller has finished, so that of many requests made together the most urgent runs first. */
  request(key: K, dueAt: number): void {
    this.#queue.add(key, dueAt);
    if (this.#isScheduled) return;
    this.#isScheduled = true;
    queueMicrotask(() => {
      this.#isScheduled = false;
      this.#startDue();
    });
  }

  drain(): void {
    this.#isDraining = true;
    this.#arm(undefined);
    this.#endIfDrained();
  }

  abort(): void {
    this.#arm(undefined);
    this.#aborting.abort();
  }

  #startDue(): void {
    try {
      this.#noticeSetBack();
      for (let request = this.#take(); request !== undefined; request = this.#take()) {
        this.#run(request).catch((defect: unknown) => this.#outcomes.error(defect));
      }
      this.#arm(this.#isEnding ? undefined : this.#queue.nextDueAt());
    } catch (defect) {
      this.#outcomes.error(defect);
    }
  }

  /** Asks anew whether it is over each time: a reconcile may end the controller that runs it. */
  #take(): Request<K> | undefined {
    return this.#isEnding ? undefined : this.#queue.take(this.#options.clock.now());
  }

  /** What was to be looked at in a second must not wait for the hour that a clock was set back: everything is looked at. */
  #noticeSetBack(): void {
    const { clock } = this.#options;
    const epoch = clock.now() - clock.monotonic();
    if (epoch < this.#epoch - SET_BACK_MS) this.#queue.expedite(clock.now());
    this.#epoch = epoch;
  }

  get #isEnding(): boolean {
    return this.#isDraining || this.#aborting.signal.aborted;
  }

  async #run({ key, dueAt }: Request<K>): Promise<void> {
    const { clock } = this.#options;
    const startedAt = clock.now();
    const start = clock.monotonic();
    const ending = await this.#reconcile(key);
    if (this.#aborting.signal.aborted) return;
    const durationMs = clock.monotonic() - start;
    const run = { key, startedAt, finishedAt: clock.now(), durationMs, latenessMs: Math.max(startedAt - dueAt, 0) };
    this.#queue.done(key);
    this.#outcomes.next(ending.type === 'reconciled' ? this.#reconciled(run, ending.result) : this.#failed(run, ending.error));
    this.#endIfDrained();
    this.#startDue();
  }

  /** Never rejects: a throw, also of something that is no error, ends the run and nothing else. */
  async #reconcile(key: K): Promise<Ending> {
    try {
      const result = await this.#options.reconcile(key, this.#aborting.signal);
      if (Number.isNaN(result.requeueAt)) throw new RangeError('a reconcile asked to look again at no instant');
      return { type: 'reconciled', result };
    } catch (error) {
      return { type: 'failed', error };
    }
  }

  #reconciled(run: Omit<Run<K>, 'failures'>, result: Result): Outcome<K> {
    this.#failures.delete(run.key);
    this.#conflicts.delete(run.key);
    if (result.requeueAt !== undefined) this.#queue.add(run.key, Math.max(result.requeueAt, run.finishedAt + SHORTEST_PAUSE_MS));
    return { type: 'reconciled', ...run, failures: 0, result };
  }

  #failed(run: Omit<Run<K>, 'failures'>, error: unknown): Outcome<K> {
    const { key, finishedAt } = run;
    const before = this.#failures.get(key) ?? 0;
    const conflicts = (this.#conflicts.get(key) ?? 0) + 1;
    const retry = this.#options.retryPolicy({ key, error, failures: before + 1, conflicts, now: finishedAt });
    const isConflict = retry.class === 'conflict';
    const failures = isConflict || retry.isPutOff ? before : before + 1;
    if (isConflict) this.#conflicts.set(key, conflicts);
    else this.#conflicts.delete(key);
    if (retry.retryAt === undefined) this.#failures.delete(key);
    else {
      this.#failures.set(key, failures);
      this.#queue.add(key, retry.retryAt);
    }
    return { type: 'failed', ...run, failures, error, retry };
  }

  #endIfDrained(): void {
    if (this.#isDraining && this.#queue.running === 0) this.#outcomes.complete();
  }

  #arm(at: number | undefined): void {
    if (this.#wakeUp?.at === at) return;
    this.#wakeUp?.cancel();
    this.#wakeUp = at === undefined ? undefined : { at, cancel: this.#wakeBy(at) };
  }

  #wakeBy(at: number): () => void {
    const { clock } = this.#options;
    return clock.wakeAfter(Math.min(at - clock.now(), LONGEST_SLEEP_MS), () => this.#wake());
  }

  #wake(): void {
    this.#wakeUp = undefined;
    this.#startDue();
  }
}

type Ending = { readonly type: 'reconciled'; readonly result: Result } | { readonly type: 'failed'; readonly error: unknown };
