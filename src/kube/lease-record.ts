// The Lease object of an election: who holds it, as far as we have seen, and how it is taken, renewed and given back.

import { type Lease, Leases } from '../api/resources.ts';
import { hasReason } from '../kubernetes/status.ts';
import type { Clock } from '../std/clock.ts';
import { rfc3339Micro } from '../std/timestamp.ts';
import type { KubeClient } from './client.ts';

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
