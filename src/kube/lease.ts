// Leadership by a Lease. Safe against clock skew: instants written in the record are never trusted, only that it changed,
// and when we saw that on our own monotonic clock. No fencing: after its machine slept, a leader may act for a moment too long.

import { distinctUntilChanged, type Observable, ReplaySubject, Subject, share, takeUntil } from 'rxjs';
import { type Lease, Leases } from '../api/resources.ts';
import { hasReason } from '../kubernetes/status.ts';
import { type Clock, sleep } from '../std/clock.ts';
import { fromAbortable } from '../std/from-abortable.ts';
import { rfc3339Micro } from '../std/timestamp.ts';
import type { KubeClient } from './client.ts';
import { startDeadline } from './deadline.ts';

export interface ElectionOptions {
  readonly client: Pick<KubeClient, 'get' | 'create' | 'update'>;
  readonly namespace: string;
  readonly name: string;
  /** Must differ between processes, also between two lives of one pod. */
  readonly identity: string;
  readonly clock: Clock;
  readonly random: () => number;
  /** How long others wait for a leader that is silent. */
  readonly leaseMs?: number;
  /** How long a leader that cannot renew goes on; shorter than `leaseMs`, so that it has stopped before another starts. */
  readonly renewDeadlineMs?: number;
  /** Pause between attempts; followers wait up to 2.2 times as long. */
  readonly retryMs?: number;
  /** Told of every attempt that failed for another reason than that someone else leads. */
  readonly onProblem?: (error: unknown) => void;
  /** Told who holds the Lease, whenever that is somebody else than before; we ourselves among them. */
  readonly onHolder?: (identity: string) => void;
}

/** One candidate for one Lease. */
export interface Election {
  /**
   * Whether we lead; false first. Campaigns while subscribed. Losing the subscription keeps the record: nobody takes
   * over before the work it guards has surely ended.
   */
  readonly leads$: Observable<boolean>;
  /** Whether the lease is ours at this very instant, by the clock alone. */
  readonly leads: boolean;
  /** Ends `leads$` and gives the lease back, so that another need not wait. To be called when the guarded work has ended. */
  release(): Promise<void>;
}

/** Makes a candidate; it does nothing until subscribed to. Throws if a leader could outlive its lease. */
export function createElection(options: ElectionOptions): Election {
  const timed = { ...DEFAULTS, ...options };
  const { leaseMs, renewDeadlineMs, retryMs } = timed;
  if (leaseMs <= renewDeadlineMs || renewDeadlineMs <= retryMs * (1 + JITTER)) {
    throw new Error('a lease must outlast its renew deadline, and that the pause between attempts');
  }
  const record = new LeaseRecord(options, leaseMs);
  const tenure = new Tenure(options.clock, renewDeadlineMs);
  const stop$ = new Subject<void>();
  const leads$ = fromAbortable((signal) => campaign(timed, { record, tenure }, signal)).pipe(
    takeUntil(stop$),
    distinctUntilChanged(),
    share({ connector: () => new ReplaySubject<boolean>(1) }),
  );
  return {
    leads$,
    get leads() {
      return tenure.isOurs;
    },
    async release() {
      stop$.next();
      tenure.end();
      await record.release(renewDeadlineMs);
    },
  };
}

const DEFAULTS = { leaseMs: 10_000, renewDeadlineMs: 7_000, retryMs: 1_000 };
const JITTER = 1.2;

type Timed = ElectionOptions & typeof DEFAULTS;

/**
 * How long the lease is ours: from the start of the last request that renewed it, since others count from its end.
 * On the monotonic clock: one that is set back would make a tenure longer than the lease.
 */
class Tenure {
  readonly #clock: Clock;
  readonly #lengthMs: number;
  #endsAt = -Infinity;

  constructor(clock: Clock, lengthMs: number) {
    this.#clock = clock;
    this.#lengthMs = lengthMs;
  }

  get endsAt(): number {
    return this.#endsAt;
  }

  get isOurs(): boolean {
    return this.#clock.monotonic() < this.#endsAt;
  }

  renew(startedAt: number): void {
    this.#endsAt = startedAt + this.#lengthMs;
  }

  end(): void {
    this.#endsAt = -Infinity;
  }
}

async function* campaign(
  options: Timed,
  { record, tenure }: { readonly record: LeaseRecord; readonly tenure: Tenure },
  signal: AbortSignal,
): AsyncGenerator<boolean> {
  const { clock, random, retryMs } = options;
  for (;;) {
    yield tenure.isOurs;
    await attempt(options, { record, tenure }, signal);
    yield tenure.isOurs;
    const pauseMs = tenure.isOurs ? Math.min(retryMs, tenure.endsAt - clock.monotonic()) : retryMs * (1 + JITTER * random());
    await sleep(clock, pauseMs, signal);
  }
}

/**
 * What a leader sends must, if it hangs, leave time for another attempt before the tenure ends, and must not outlast it.
 * Whoever does not lead has no such haste: a hub that is slow is waited for.
 */
async function attempt(
  { clock, leaseMs, renewDeadlineMs, onProblem, onHolder }: Timed,
  { record, tenure }: { readonly record: LeaseRecord; readonly tenure: Tenure },
  signal: AbortSignal,
): Promise<void> {
  const startedAt = clock.monotonic();
  const deadline = startDeadline(clock, tenure.isOurs ? Math.min(renewDeadlineMs / 2, tenure.endsAt - startedAt) : leaseMs, signal);
  try {
    const before = record.holder;
    if (await record.acquire(tenure.isOurs, deadline.signal)) tenure.renew(startedAt);
    else tenure.end();
    if (record.holder !== '' && record.holder !== before) onHolder?.(record.holder);
  } catch (error) {
    if (signal.aborted) throw error;
    onProblem?.(error);
  } finally {
    deadline.clear();
  }
}

type Spec = NonNullable<Lease['spec']>;

export interface LeaseRecordOptions {
  readonly client: Pick<KubeClient, 'get' | 'create' | 'update'>;
  readonly namespace: string;
  readonly name: string;
  readonly identity: string;
  readonly clock: Clock;
}

/** What one candidate knows of a Lease. Every write names the version it is based on, so of two candidates only one succeeds. */
export class LeaseRecord {
  readonly #options: LeaseRecordOptions;
  readonly #leaseMs: number;
  /** The object as we last wrote it; a renewal need not read it again. */
  #ours: Lease | undefined;
  /** The record as we last saw it, and since when on our monotonic clock it has been so. */
  #seen: { readonly spec: string; readonly at: number; readonly holder: string } | undefined;

  constructor(options: LeaseRecordOptions, leaseMs: number) {
    this.#options = options;
    this.#leaseMs = leaseMs;
  }

  /** Who held it when we last looked; empty for nobody. */
  get holder(): string {
    return this.#seen?.holder ?? '';
  }

  /** Takes or renews the lease. False if someone else holds it or was faster. */
  async acquire(isOurs: boolean, signal: AbortSignal): Promise<boolean> {
    if (isOurs && this.#ours !== undefined && (await this.#write(this.#ours, signal))) return true;
    this.#ours = undefined;
    const lease = await this.#read({ signal });
    if (lease === undefined) return this.#create(signal);
    const spec = lease.spec ?? {};
    this.#observe(spec);
    if (spec.holderIdentity && spec.holderIdentity !== this.#options.identity && !this.#hasLapsed(spec)) return false;
    return this.#write(lease, signal);
  }

  /** Leaves the lease without a holder, if we are the holder. */
  async release(timeoutMs: number): Promise<void> {
    try {
      await this.#giveBack(timeoutMs);
    } catch (error) {
      // A renewal that was called off may still have arrived in between.
      if (!hasReason(error, 'Conflict')) throw error;
      await this.#giveBack(timeoutMs);
    }
  }

  async #giveBack(timeoutMs: number): Promise<void> {
    const lease = await this.#read({ timeoutMs });
    if (lease?.spec?.holderIdentity !== this.#options.identity) return;
    const now = rfc3339Micro(this.#options.clock.now());
    const spec = { ...lease.spec, holderIdentity: '', leaseDurationSeconds: 1, acquireTime: now, renewTime: now };
    await this.#options.client.update(Leases, { ...lease, spec }, { timeoutMs });
  }

  async #read(options: { readonly signal?: AbortSignal; readonly timeoutMs?: number }): Promise<Lease | undefined> {
    const { client, namespace, name } = this.#options;
    try {
      return await client.get(Leases, { namespace, name }, options);
    } catch (error) {
      if (hasReason(error, 'NotFound')) return undefined;
      throw error;
    }
  }

  async #create(signal: AbortSignal): Promise<boolean> {
    const { client, namespace, name } = this.#options;
    const spec = { ...this.#taken({}), leaseTransitions: 0 };
    return this.#won(client.create(Leases, { metadata: { namespace, name }, spec }, { signal }), 'AlreadyExists');
  }

  async #write(lease: Lease, signal: AbortSignal): Promise<boolean> {
    const spec = lease.spec ?? {};
    const next = spec.holderIdentity === this.#options.identity ? this.#renewed(spec) : this.#taken(spec);
    return this.#won(this.#options.client.update(Leases, { ...lease, spec: next }, { signal }), 'Conflict', 'NotFound');
  }

  async #won(write: Promise<Lease>, ...defeats: readonly ('AlreadyExists' | 'Conflict' | 'NotFound')[]): Promise<boolean> {
    try {
      this.#ours = await write;
      this.#observe(this.#ours.spec ?? {});
      return true;
    } catch (error) {
      if (hasReason(error, ...defeats)) return false;
      throw error;
    }
  }

  #observe(spec: Spec): void {
    const text = JSON.stringify(spec);
    if (this.#seen?.spec !== text) this.#seen = { spec: text, at: this.#options.clock.monotonic(), holder: spec.holderIdentity ?? '' };
  }

  /** By the duration that the holder promised, counted from when we first saw this record. */
  #hasLapsed(spec: Spec): boolean {
    const promisedMs = spec.leaseDurationSeconds === undefined ? this.#leaseMs : spec.leaseDurationSeconds * 1_000;
    return this.#seen !== undefined && this.#options.clock.monotonic() >= this.#seen.at + promisedMs;
  }

  #renewed(spec: Spec): Spec {
    return { ...spec, leaseDurationSeconds: this.#seconds(), renewTime: rfc3339Micro(this.#options.clock.now()) };
  }

  #taken(spec: Spec): Spec {
    const now = rfc3339Micro(this.#options.clock.now());
    const leaseTransitions = (spec.leaseTransitions ?? 0) + 1;
    return {
      holderIdentity: this.#options.identity,
      leaseDurationSeconds: this.#seconds(),
      acquireTime: now,
      renewTime: now,
      leaseTransitions,
    };
  }

  #seconds(): number {
    return Math.ceil(this.#leaseMs / 1_000);
  }
}
