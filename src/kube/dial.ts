// Connections to one API server: a pool for requests and a pool for watches, both HTTP/1.1. With HTTP/2 all requests would share one
// connection and fail with it.

import { isIP, type LookupFunction } from 'node:net';
import { callbackify } from 'node:util';
import type { Cluster } from '@kubernetes/client-node';
import { Client, type Dispatcher, Pool, ProxyAgent } from 'undici';
import { defined } from '../std/defined.ts';
import { createNameLookup, type NameLookup } from './addresses.ts';
import type { Identity, TlsIdentity } from './credentials.ts';
import { TransportError } from './transport-error.ts';

export interface DialOptions {
  /** Maximum number of connections for requests; each watch has its own connection. */
  readonly connections: number;
  /** Returns whether an IP address is allowed; checked after name resolution, so that DNS cannot bypass it. */
  readonly mayDial?: (address: string) => boolean;
  /** Name lookup at every connect; undefined for the lookup of this machine. */
  readonly findAddresses?: NameLookup;
}

/** Use of a connection. */
export type Purpose = 'requests' | 'watches';

/** Connects with the current identity: a new TLS identity gets new connections; old connections close after their requests. */
export class Dialer {
  readonly #cluster: Cluster;
  readonly #options: DialOptions;
  /** Pools of the current TLS identity, created on first use. */
  #current: { readonly tlsDigest: string; readonly pools: Map<Purpose, Dispatcher> } | undefined;
  /** All pools that may still have connections. */
  readonly #pools = new Set<Dispatcher>();
  #isClosed = false;

  constructor(cluster: Cluster, options: DialOptions) {
    this.#cluster = cluster;
    this.#options = options;
  }

  /** Returns the pool for an identity; it connects at the first request. */
  connections({ tls, tlsDigest }: Identity, purpose: Purpose): Dispatcher {
    if (this.#isClosed) throw new TransportError('ECANCELED', 'the transport is closed');
    if (this.#current?.tlsDigest !== tlsDigest) this.#retire();
    const { pools } = (this.#current ??= { tlsDigest, pools: new Map() });
    const pool = pools.get(purpose) ?? this.#pool(tls, purpose);
    pools.set(purpose, pool);
    return pool;
  }

  /** Closes all connections immediately; requests in progress fail. */
  async close(): Promise<void> {
    this.#isClosed = true;
    await Promise.all([...this.#pools].map((pool) => pool.destroy()));
  }

  #pool(tls: TlsIdentity, purpose: Purpose): Dispatcher {
    const pool = createPool(this.#cluster, tls, this.#options, purpose === 'watches' ? null : this.#options.connections);
    this.#pools.add(pool);
    return pool;
  }

  #retire(): void {
    for (const pool of this.#current?.pools.values() ?? []) {
      const deletePool = () => this.#pools.delete(pool);
      pool.close().then(deletePool, deletePool);
    }
    this.#current = undefined;
  }
}

/** Throws for a server that is not allowed: plain HTTP outside loopback, or a forbidden address. */
export function checkServer(cluster: Cluster, mayDial: DialOptions['mayDial']): void {
  const { protocol, hostname } = new URL(cluster.server);
  const isLocal = ['127.0.0.1', '[::1]', 'localhost'].includes(hostname);
  const isSafe = protocol === 'https:' || (protocol === 'http:' && (isLocal || cluster.skipTLSVerify));
  if (!isSafe) throw new Error(`${cluster.server}: plain http is allowed on loopback only; use https`);
  const address = hostname.replace(/^\[|\]$/g, '');
  if (mayDial !== undefined && isIP(address) !== 0 && !mayDial(address)) throw new Error(`connections to ${address} are not allowed`);
}

/** Connect timeout, in milliseconds. Less than half of the timeout of a request to a target, which leaves time for another address. */
const CONNECT_TIMEOUT_MS = 4_000;
/** Lifetime of idle connections, in milliseconds. Well below the 90 s after which kube-apiserver closes them. */
const KEEP_ALIVE_MS = 30_000;

function createPool(cluster: Cluster, tls: TlsIdentity, options: DialOptions, connections: number | null): Dispatcher {
  const requestTls = {
    ...tls,
    rejectUnauthorized: !cluster.skipTLSVerify,
    ...defined({ servername: cluster.tlsServerName || undefined }),
  };
  const dial = { timeout: CONNECT_TIMEOUT_MS, keepAlive: true, keepAliveInitialDelay: KEEP_ALIVE_MS };
  // transport.ts has its own deadlines: those of undici would end quiet watches.
  const limits = { allowH2: false, keepAliveTimeout: KEEP_ALIVE_MS, headersTimeout: 0, bodyTimeout: 0 };
  // A proxy resolves names itself, so that `mayDial` sees only literal addresses.
  if (cluster.proxyUrl) return new ProxyAgent({ ...limits, connections, uri: cluster.proxyUrl, requestTls, connect: dial });
  const direct = { ...limits, connect: { ...requestTls, ...dial, lookup: guardedLookup(options) } };
  const { origin } = new URL(cluster.server);
  // A Pool takes more memory than a single Client.
  return connections === 1 ? new Client(origin, direct) : new Pool(origin, { ...direct, connections });
}

function guardedLookup({ mayDial = () => true, findAddresses = createNameLookup() }: DialOptions): LookupFunction {
  const find = callbackify(findAddresses);
  return (hostname, options, callback) => {
    find(hostname, (error, addresses) => {
      const [first] = addresses ?? [];
      const forbidden = addresses?.find(({ address }) => !mayDial(address));
      const message = `${hostname} resolves to ${forbidden?.address}; connections to that address are not allowed`;
      if (error !== null || first === undefined) callback(error ?? new Error(`${hostname} has no address`), []);
      else if (forbidden !== undefined) callback(new TransportError('ERR_ADDRESS_REFUSED', message), []);
      else if (options.all === true) callback(null, [...addresses]);
      else callback(null, first.address, first.family);
    });
  };
}
