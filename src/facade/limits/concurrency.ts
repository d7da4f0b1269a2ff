// Limits on the memory of watches, and on the bytes of long responses in progress: per tenant, in total and, for watches, per source
// address. A request above a limit is rejected with 429.

import { tooManyRequests } from '../../kubernetes/status.ts';
import type { FacadeRequest } from '../request.ts';
import { toTenant } from './tenant.ts';

export interface ConcurrencyLimits {
  /** Maximum for one tenant, over all of its tokens, in bytes. */
  readonly perTenant: number;
  /** Maximum for one source address, which may be a proxy with many callers, in bytes; no limit per address if undefined. */
  readonly perAddress?: number;
  /** Maximum for all tenants, in bytes. */
  readonly total: number;
}

export interface ConcurrencyLimiterOptions extends ConcurrencyLimits {
  /** Plural noun of the limited requests, for the message. */
  readonly noun: string;
}

const RETRY_AFTER_SECONDS = 1;

export class ConcurrencyLimiter {
  readonly #options: ConcurrencyLimiterOptions;
  readonly #byTenant = new ByteCounts();
  readonly #byAddress = new ByteCounts();
  #total = 0;

  constructor(options: ConcurrencyLimiterOptions) {
    this.#options = options;
  }

  /**
   * Counts bytes of a request toward the limits until its signal is aborted or the returned function is called. Throws 429 above a limit,
   * and the reason of the signal if the signal is already aborted.
   */
  acquire({ caller, address, signal }: Pick<FacadeRequest, 'caller' | 'address' | 'signal'>, bytes: number): () => void {
    // An aborted signal emits no more events, so the request would be counted forever.
    signal.throwIfAborted();
    const tenant = toTenant(caller.user.username);
    const { perTenant, perAddress = Number.POSITIVE_INFINITY, total, noun } = this.#options;
    const isAbove =
      this.#total + bytes > total || this.#byTenant.get(tenant) + bytes > perTenant || this.#byAddress.get(address) + bytes > perAddress;
    if (isAbove) throw tooManyRequests(`too many ${noun}, please try again later`, RETRY_AFTER_SECONDS);
    this.#add(tenant, address, bytes);
    let isHeld = true;
    const release = () => {
      if (!isHeld) return;
      isHeld = false;
      this.#add(tenant, address, -bytes);
    };
    signal.addEventListener('abort', release);
    return release;
  }

  #add(tenant: string, address: string, bytes: number): void {
    this.#total += bytes;
    this.#byTenant.add(tenant, bytes);
    this.#byAddress.add(address, bytes);
  }
}

class ByteCounts {
  readonly #counts = new Map<string, number>();

  get(key: string): number {
    return this.#counts.get(key) ?? 0;
  }

  add(key: string, amount: number): void {
    const sum = this.get(key) + amount;
    if (sum === 0) this.#counts.delete(key);
    else this.#counts.set(key, sum);
  }
}

/** Memory reserved for purposes other than watches, in bytes: hub objects, idle connections, lists and initial events in progress. */
const RESERVED_BYTES = 200e6;
/**
 * Memory of one watch over HTTP/1.1 after its initial events, in bytes, measured with the allocator of the container image: 43 kB for the
 * buffers and keys of the TLS connection, 7 kB for JavaScript objects, mostly of Node's sockets, and a margin.
 */
const CONNECTION_BYTES = 55e3;
/** Memory of one watch on an HTTP/2 stream, in bytes. Excludes the connection: the number of HTTP/2 connections has its own limit. */
const STREAM_BYTES = 25e3;
const MAX_WATCHES = 10_000;
const MIN_WATCHES = 500;

/** Limits on the memory of watches, in bytes. */
export interface WatchLimits extends ConcurrencyLimits {
  /** Bytes that count toward the limits for one watch over HTTP/1.1, in addition to the large buffers of its connection. */
  readonly perConnection: number;
  /** Bytes that count toward the limits for one watch over HTTP/2. */
  readonly perStream: number;
}

/**
 * Returns the limits on watches for a process with a memory limit of `memoryBytes` (undefined for no memory limit). The total always allows
 * at least 500 watches, and never more than 10,000, because each event is written to each watch.
 */
export function computeWatchLimits(memoryBytes: number | undefined): WatchLimits {
  const affordable = memoryBytes === undefined ? MAX_WATCHES : Math.floor((memoryBytes - RESERVED_BYTES) / CONNECTION_BYTES);
  const connections = Math.min(Math.max(affordable, MIN_WATCHES), MAX_WATCHES);
  const total = connections * CONNECTION_BYTES;
  return {
    // Ten tenants together can reach the total. The limit per address leaves room for a proxy with many callers.
    perTenant: Math.ceil(connections / 10) * CONNECTION_BYTES,
    perAddress: Math.ceil(connections * 0.75) * CONNECTION_BYTES,
    total,
    perConnection: CONNECTION_BYTES,
    perStream: Math.max(STREAM_BYTES, Math.ceil(total / MAX_WATCHES)),
  };
}
