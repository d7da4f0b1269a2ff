// Controller: reconciles each key when it is due, never twice at the same time, and requeues the key on request or after a failure.

import { Observable, type Subscriber } from 'rxjs';
import type { Clock } from '../std/clock.ts';
import type { Failure, Retry } from './retry-policy.ts';
import { type Priority, type Request, WorkQueue } from './work-queue.ts';

/** Result of a successful reconcile. */
export interface Result {
  /** Time of the next reconcile, if no request comes first; undefined for none. */
  readonly requeueAt?: number | undefined;
}

export interface ControllerOptions<K> {
  /** Reconciles one key, which holds a slot of `lane`. An error fails this run only. */
  readonly reconcile: (key: K, signal: AbortSignal, lane: string) => Promise<Result>;
  readonly retryPolicy: (failure: Failure<K>) => Retry;
  readonly clock: Clock;
  readonly concurrency: number;
  /** Maximum number of running keys of one lane; `concurrency` by default. */
  readonly concurrencyPerLane?: number;
  /** Maximum share of one tenant, see `Limits`; Infinity by default. */
  readonly tenantShare?: number;
  /** Returns the lane, tenant and deadline of a key when it becomes ready; the same for all keys by default. */
  readonly priorityOf?: (key: K) => Priority;
  /** Called at the start with functions that return the state of the queue. */
  readonly onQueue?: (queue: QueueState) => void;
}

/** State of a controller's queue at the time of each call. */
export interface QueueState {
  /** Returns the number of keys that are due and wait for a slot. */
  readonly depth: () => number;
  /** Returns the tenants with a running key and the number of slots that each holds. */
  readonly slotsByTenant: () => Iterable<readonly [tenant: string, slots: number]>;
}

interface Run<K> {
  readonly key: K;
  /** Number of consecutive failures, including this run; 0 after a success. Conflicts and deferred runs are not counted. */
  readonly failures: number;
  readonly startedAt: number;
  readonly finishedAt: number;
  /** Duration by the monotonic clock, in milliseconds; it can differ from `finishedAt - startedAt`. */
  readonly durationMs: number;
  /** Delay between the due time and the start, in milliseconds. */
  readonly latenessMs: number;
}

/** Outcome of one run. */
export type Outcome<K> =
  | (Run<K> & { readonly type: 'reconciled'; readonly result: Result })
  | (Run<K> & { readonly type: 'failed'; readonly error: unknown; readonly retry: Retry });

/**
 * Runs requested keys and emits an outcome for each run; a failed run is an outcome, never an error of the stream.
 * When the requests complete, running work finishes and waiting keys are dropped. Unsubscribing aborts running work without outcomes.
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

const SOLE_PRIORITY: Priority = { lane: '', deadlineAt: Infinity };
/** Minimum delay of a requeue, in milliseconds, so that a reconcile that requeues itself immediately does not block the process. */
const MIN_REQUEUE_MS = 100;
/** Maximum length of a timer, in milliseconds, because machines can be suspended and clocks can be set. */
const MAX_SLEEP_MS = 60_000;
/**
 * Maximum numbers of keys to start, and to order, before a pause that lets other work of the process run. A reconcile without work never
 * yields to the event loop: after a restart with 100,000 keys, Purser would not renew the Lease or serve requests until all keys have run.
 */
const STARTS_PER_TURN = 16;
const ORDERED_PER_TURN = 100;
/** Minimum step back of the wall clock that makes all keys due, in milliseconds; smaller steps come from time synchronization. */
const SET_BACK_MS = 1_000;

class Pump<K> {
  readonly #options: ControllerOptions<K>;
  readonly #outcomes: Subscriber<Outcome<K>>;
  readonly #queue: WorkQueue<K>;
  readonly #aborting = new AbortController();
  /** Number of consecutive failures of each key with a pending retry. */
  readonly #failures = new Map<K, number>();
  readonly #conflicts = new Map<K, number>();
  /** The pending timer; undefined if there is none. */
  #wakeUp: { readonly at: number; readonly cancel: () => void } | undefined;
  /** Wall-clock time at which the monotonic clock was 0, according to the last check; -Infinity before the first check. */
  #epoch = -Infinity;
  #isScheduled = false;
  /** Number of keys started since the last pause. */
  #starts = 0;
  /** True during a pause that lets other work of the process run. */
  #isPaused = false;
  #isDraining = false;

  constructor(options: ControllerOptions<K>, outcomes: Subscriber<Outcome<K>>) {
    const { concurrency, concurrencyPerLane = concurrency, tenantShare = Infinity, priorityOf = () => SOLE_PRIORITY } = options;
    this.#options = options;
    this.#outcomes = outcomes;
    this.#queue = new WorkQueue({ concurrency, concurrencyPerLane, tenantShare, priorityOf });
    options.onQueue?.({
      depth: () => (this.#isEnding ? 0 : this.#queue.depth(options.clock.now())),
      slotsByTenant: () => this.#queue.slotsByTenant(),
    });
  }

  /** Adds a request. Work starts after the caller has finished, so that the most urgent of several requests runs first. */
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
      this.#handleClockSetBack();
      for (let request = this.#take(); request !== undefined; request = this.#take()) {
        this.#run(request).catch((defect: unknown) => this.#outcomes.error(defect));
        this.#starts += 1;
      }
      this.#arm(this.#isEnding || this.#isPaused ? undefined : this.#queue.nextDueAt());
    } catch (defect) {
      this.#outcomes.error(defect);
    }
  }

  /**
   * Takes the next due key that may run. Returns undefined if there is none, during a pause, and once the controller stops, which the start
   * of a reconcile may cause.
   */
  #take(): Request<K> | undefined {
    if (this.#isEnding || this.#isPaused || this.#queue.isFull) return undefined;
    const now = this.#options.clock.now();
    const mayStart = this.#starts < STARTS_PER_TURN && this.#queue.order(now, ORDERED_PER_TURN);
    const request = mayStart ? this.#queue.take(now, 0) : undefined;
    if (request === undefined && (this.#starts >= STARTS_PER_TURN || this.#queue.isOrdering)) this.#pause();
    return request;
  }

  #pause(): void {
    this.#isPaused = true;
    setImmediate(() => this.#resume());
  }

  #resume(): void {
    this.#starts = 0;
    this.#isPaused = false;
    this.#startDue();
  }

  /** Makes all keys due after the wall clock was set back; they would otherwise wait until the clock reaches their due times again. */
  #handleClockSetBack(): void {
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
    this.#outcomes.next(ending.type === 'reconciled' ? this.#handleSuccess(run, ending.result) : this.#handleFailure(run, ending.error));
    this.#endIfDrained();
    this.#startDue();
  }

  /** Runs the reconcile of a key. Never rejects: any thrown value fails this run only. */
  async #reconcile(key: K): Promise<Ending> {
    try {
      const result = await this.#options.reconcile(key, this.#aborting.signal, this.#queue.laneOf(key) ?? '');
      if (Number.isNaN(result.requeueAt)) throw new RangeError('requeueAt must be a number, not NaN');
      return { type: 'reconciled', result };
    } catch (error) {
      return { type: 'failed', error };
    }
  }

  #handleSuccess(run: Omit<Run<K>, 'failures'>, result: Result): Outcome<K> {
    this.#failures.delete(run.key);
    this.#conflicts.delete(run.key);
    if (result.requeueAt !== undefined) this.#queue.add(run.key, Math.max(result.requeueAt, run.finishedAt + MIN_REQUEUE_MS));
    return { type: 'reconciled', ...run, failures: 0, result };
  }

  #handleFailure(run: Omit<Run<K>, 'failures'>, error: unknown): Outcome<K> {
    const { key, finishedAt } = run;
    const before = this.#failures.get(key) ?? 0;
    const conflicts = (this.#conflicts.get(key) ?? 0) + 1;
    const retry = this.#options.retryPolicy({ key, error, failures: before + 1, conflicts, now: finishedAt });
    const isConflict = retry.class === 'conflict';
    const failures = isConflict || retry.isDeferred ? before : before + 1;
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
    return clock.wakeAfter(Math.min(at - clock.now(), MAX_SLEEP_MS), () => this.#wake());
  }

  #wake(): void {
    this.#wakeUp = undefined;
    this.#startDue();
  }
}

type Ending = { readonly type: 'reconciled'; readonly result: Result } | { readonly type: 'failed'; readonly error: unknown };
