// Leader election with a Lease. Safe against clock skew: each candidate ignores the times in the Lease, and measures on its own monotonic
// clock how long the Lease has not changed. No fencing: a leader may act for a moment too long after its machine was suspended.

import { distinctUntilChanged, type Observable, ReplaySubject, Subject, share, takeUntil } from 'rxjs';
import { type Lease, Leases } from '../api/resources.ts';
import { hasReason } from '../kubernetes/status.ts';
import { type Clock, sleep } from '../std/clock.ts';
import { fromAbortable } from '../std/from-abortable.ts';
import { formatMicroTimestamp } from '../std/timestamp.ts';
import type { KubeClient } from './client.ts';
import { startDeadline } from './deadline.ts';

export interface ElectionOptions {
  readonly client: Pick<KubeClient, 'get' | 'create' | 'update'>;
  readonly namespace: string;
  readonly name: string;
  /** Name that is unique to this run of the process. */
  readonly identity: string;
  readonly clock: Clock;
  readonly random: () => number;
  /** Time without renewal after which another candidate takes the Lease, in milliseconds; 10 s by default. */
  readonly leaseMs?: number;
  /** Time without renewal after which a leader stops, in milliseconds; 7 s by default. Must be shorter than `leaseMs`. */
  readonly renewDeadlineMs?: number;
  /** Delay between attempts, in milliseconds; 1 s by default. Followers wait up to 2.2 times as long. */
  readonly retryMs?: number;
  /** Called with the error of a failed attempt; another leader is not an error. */
  readonly onProblem?: (error: unknown) => void;
  /** Called with the identity of each new holder of the Lease, including this process. */
  readonly onHolder?: (identity: string) => void;
}

/** One candidate for one Lease. */
export interface Election {
  /**
   * Current and later leadership; false until this candidate acquires the Lease. The election runs while there are subscribers.
   * Unsubscribing does not release the Lease, so that the guarded work can end before another candidate takes over.
   */
  readonly leads$: Observable<boolean>;
  /** True while this candidate holds the Lease, by its clock. */
  readonly leads: boolean;
  /** Completes `leads$` and releases the Lease. Call it after the guarded work has ended. */
  release(): Promise<void>;
}

/** Creates a candidate, which starts on subscription. Throws for timings that allow two leaders or leave a leader no time to renew. */
export function createElection(options: ElectionOptions): Election {
  const withDefaults = { ...DEFAULTS, ...options };
  const { leaseMs, renewDeadlineMs, retryMs } = withDefaults;
  if (leaseMs <= renewDeadlineMs || renewDeadlineMs <= retryMs * (1 + JITTER)) {
    throw new Error('leaseMs must exceed renewDeadlineMs, and renewDeadlineMs must exceed the longest delay between attempts');
  }
  const record = new LeaseRecord(options, leaseMs);
  const tenure = new Tenure(options.clock, renewDeadlineMs);
  const stop$ = new Subject<void>();
  const leads$ = fromAbortable((signal) => campaign(withDefaults, { record, tenure }, signal)).pipe(
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
/** Maximum additional delay of a follower between attempts, as a fraction of `retryMs`. */
const JITTER = 1.2;

type CompleteOptions = ElectionOptions & typeof DEFAULTS;

/**
 * Period in which this candidate leads. It starts when the last successful attempt began; other candidates measure from a later time.
 * Times are monotonic: a wall clock that is set back would extend the period beyond the Lease.
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
  options: CompleteOptions,
  { record, tenure }: { readonly record: LeaseRecord; readonly tenure: Tenure },
  signal: AbortSignal,
): AsyncGenerator<boolean> {
  const { clock, random, retryMs } = options;
  for (;;) {
    yield tenure.isOurs;
    await attempt(options, { record, tenure }, signal);
    yield tenure.isOurs;
    const nextMs = tenure.isOurs ? retryMs : retryMs * (1 + JITTER * random());
    // A follower tries again when the Lease expires, so that it takes over from a failed leader without delay.
    const endMs = (tenure.isOurs ? tenure.endsAt : record.expiresAt) - clock.monotonic();
    await sleep(clock, endMs > 0 ? Math.min(nextMs, endMs) : nextMs, signal);
  }
}

/**
 * Acquires or renews the Lease. A leader's attempt takes at most half of `renewDeadlineMs`, so that a second attempt is possible; a
 * follower waits longer for a slow hub.
 */
async function attempt(
  { clock, leaseMs, renewDeadlineMs, onProblem, onHolder }: CompleteOptions,
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

interface LeaseRecordOptions {
  readonly client: Pick<KubeClient, 'get' | 'create' | 'update'>;
  readonly namespace: string;
  readonly name: string;
  readonly identity: string;
  readonly clock: Clock;
}

/** The Lease as one candidate sees it. Every update has a resourceVersion, so that only one of two candidates succeeds. */
class LeaseRecord {
  readonly #options: LeaseRecordOptions;
  readonly #leaseMs: number;
  /** The Lease as this candidate last wrote it, for renewals without a read. */
  #ours: Lease | undefined;
  /** Spec in the last response, its holder, and its expiry: the monotonic time of its last change plus its duration. */
  #seen: { readonly spec: string; readonly expiresAt: number; readonly holder: string } | undefined;

  constructor(options: LeaseRecordOptions, leaseMs: number) {
    this.#options = options;
    this.#leaseMs = leaseMs;
  }

  /** Last known holder; empty if there is none. */
  get holder(): string {
    return this.#seen?.holder ?? '';
  }

  /** Expiry of the Lease as last seen, on the monotonic clock; Infinity before the first response. */
  get expiresAt(): number {
    return this.#seen?.expiresAt ?? Infinity;
  }

  /** Acquires or renews the Lease. Returns false if another candidate holds it or was faster. */
  async acquire(isOurs: boolean, signal: AbortSignal): Promise<boolean> {
    if (isOurs && this.#ours !== undefined && (await this.#write(this.#ours, signal))) return true;
    this.#ours = undefined;
    const lease = await this.#read({ signal });
    if (lease === undefined) return this.#create(signal);
    const spec = lease.spec ?? {};
    this.#observe(spec);
    if (spec.holderIdentity && spec.holderIdentity !== this.#options.identity && this.#options.clock.monotonic() < this.expiresAt)
      return false;
    return this.#write(lease, signal);
  }

  /** Removes the holder from the Lease if this candidate holds it. */
  async release(timeoutMs: number): Promise<void> {
    try {
      await this.#clearHolder(timeoutMs);
    } catch (error) {
      // The server may have executed a canceled renewal in between.
      if (!hasReason(error, 'Conflict')) throw error;
      await this.#clearHolder(timeoutMs);
    }
  }

  async #clearHolder(timeoutMs: number): Promise<void> {
    const lease = await this.#read({ timeoutMs });
    if (lease?.spec?.holderIdentity !== this.#options.identity) return;
    const now = formatMicroTimestamp(this.#options.clock.now());
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
    const spec = { ...this.#acquisition({}), leaseTransitions: 0 };
    return this.#tryWrite(client.create(Leases, { metadata: { namespace, name }, spec }, { signal }), 'AlreadyExists');
  }

  async #write(lease: Lease, signal: AbortSignal): Promise<boolean> {
    const spec = lease.spec ?? {};
    const next = spec.holderIdentity === this.#options.identity ? this.#renewal(spec) : this.#acquisition(spec);
    return this.#tryWrite(this.#options.client.update(Leases, { ...lease, spec: next }, { signal }), 'Conflict', 'NotFound');
  }

  async #tryWrite(write: Promise<Lease>, ...losses: readonly ('AlreadyExists' | 'Conflict' | 'NotFound')[]): Promise<boolean> {
    try {
      this.#ours = await write;
      this.#observe(this.#ours.spec ?? {});
      return true;
    } catch (error) {
      if (hasReason(error, ...losses)) return false;
      throw error;
    }
  }

  #observe(spec: Spec): void {
    const text = JSON.stringify(spec);
    if (this.#seen?.spec === text) return;
    // A client that shortens the duration in the Lease must not cause a second leader.
    const durationMs = Math.max(this.#leaseMs, (spec.leaseDurationSeconds ?? 0) * 1_000);
    this.#seen = { spec: text, expiresAt: this.#options.clock.monotonic() + durationMs, holder: spec.holderIdentity ?? '' };
  }

  #renewal(spec: Spec): Spec {
    return { ...spec, leaseDurationSeconds: this.#seconds(), renewTime: formatMicroTimestamp(this.#options.clock.now()) };
  }

  #acquisition(spec: Spec): Spec {
    const now = formatMicroTimestamp(this.#options.clock.now());
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
