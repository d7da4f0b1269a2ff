// Connections to one API server: a pool for requests and a pool for watches, both HTTP/1.1. With HTTP/2, all requests would share one
// connection and fail with it.

import { isIP, type LookupFunction, type Socket } from 'node:net';
import type { Duplex } from 'node:stream';
import { callbackify } from 'node:util';
import type { Cluster } from '@kubernetes/client-node';
import { buildConnector, Client, type Dispatcher, Pool } from 'undici';
import type { Clock } from '../std/clock.ts';
import { omitUndefined } from '../std/omit-undefined.ts';
import { createNameLookup, type NameLookup } from './addresses.ts';
import type { Identity, TlsIdentity } from './credentials.ts';
import { createProxyAgent, PROXY_ADDRESS_REFUSED } from './proxy.ts';
import { TransportError } from './transport-error.ts';

export interface DialOptions {
  /** Maximum number of connections for requests; each watch has its own connection. */
  readonly connections: number;
  /**
   * Check of the IP address in the server's URL or, for a direct connection, of all addresses to which the host name resolves; undefined to
   * allow all addresses.
   */
  readonly mayDial?: AddressCheck;
  /** Check of the IP address in the proxy's URL, or of all addresses to which its host name resolves; undefined to allow all addresses. */
  readonly mayDialProxy?: AddressCheck;
  /** Name lookup for new connections; undefined for `createNameLookup` with its defaults. */
  readonly findAddresses?: NameLookup;
  /** Opens the byte stream of each connection, unless the server has a proxy; undefined to connect directly. */
  readonly tunnel?: () => Promise<Duplex>;
}

/** Returns whether an IP address is allowed. */
export type AddressCheck = (address: string) => boolean;

/** Use of a connection. Watches have their own connections, without a limit on the number of connections. */
export type ConnectionPurpose = 'requests' | 'watches';

/** Connections of one purpose; `createdAt` is monotonic. */
interface Connections {
  readonly pool: Dispatcher;
  readonly createdAt: number;
}

interface CurrentIdentity {
  readonly tlsDigest: string;
  readonly byPurpose: Map<ConnectionPurpose, Connections>;
}

/**
 * Connects with the current identity. Creates new connections for a new TLS identity and after a failure; old connections close after
 * their requests.
 */
export class Dialer {
  readonly #cluster: Cluster;
  readonly #options: DialOptions;
  readonly #clock: Clock;
  /** Connections of the current TLS identity, created on first use. */
  #current: CurrentIdentity | undefined;
  /** All pools that may still have connections. */
  readonly #pools = new Set<Dispatcher>();
  #isClosed = false;

  constructor(cluster: Cluster, options: DialOptions, clock: Clock) {
    this.#cluster = cluster;
    this.#options = options;
    this.#clock = clock;
  }

  /**
   * Returns the pool for an identity; replaces a pool that was created before `failedAt`. A pool connects at its first request. Throws a
   * TransportError after `close`.
   */
  connections({ tls, tlsDigest }: Identity, purpose: ConnectionPurpose, failedAt: number): Dispatcher {
    if (this.#isClosed) throw new TransportError('ECANCELED', 'the transport is closed');
    const { byPurpose } = this.#current?.tlsDigest === tlsDigest ? this.#current : this.#replaceIdentity(tlsDigest);
    const known = byPurpose.get(purpose);
    if (known !== undefined && known.createdAt > failedAt) return known.pool;
    if (known !== undefined) this.#retire(known);
    const pool = this.#createPool(tls, purpose);
    byPurpose.set(purpose, { pool, createdAt: this.#clock.monotonic() });
    return pool;
  }

  /** Closes all connections immediately; requests in progress fail. */
  async close(): Promise<void> {
    this.#isClosed = true;
    await Promise.all([...this.#pools].map((pool) => pool.destroy()));
  }

  #createPool(tls: TlsIdentity, purpose: ConnectionPurpose): Dispatcher {
    const pool = createPool(this.#cluster, tls, this.#options, purpose === 'watches' ? null : this.#options.connections);
    this.#pools.add(pool);
    return pool;
  }

  #replaceIdentity(tlsDigest: string): CurrentIdentity {
    for (const known of this.#current?.byPurpose.values() ?? []) this.#retire(known);
    this.#current = { tlsDigest, byPurpose: new Map() };
    return this.#current;
  }

  #retire({ pool }: Connections): void {
    const deletePool = () => this.#pools.delete(pool);
    pool.close().then(deletePool, deletePool);
  }
}

/**
 * Throws for a protocol other than HTTPS, except HTTP on loopback or without TLS verification, and for a forbidden IP address in the URL of
 * the server or the proxy.
 */
export function checkServer(cluster: Cluster, { mayDial, mayDialProxy }: Pick<DialOptions, 'mayDial' | 'mayDialProxy'>): void {
  const { protocol, hostname } = new URL(cluster.server);
  const isLocal = ['127.0.0.1', '[::1]', 'localhost'].includes(hostname);
  const isSafe = protocol === 'https:' || (protocol === 'http:' && (isLocal || cluster.skipTLSVerify));
  if (!isSafe) throw new Error(`${cluster.server}: the protocol is not allowed; use https, or http on loopback`);
  const address = parseLiteralAddress(cluster.server);
  if (address !== undefined && mayDial?.(address) === false) throw new Error(`connections to ${address} are not allowed`);
  const proxyAddress = cluster.proxyUrl ? parseLiteralAddress(cluster.proxyUrl) : undefined;
  if (proxyAddress !== undefined && mayDialProxy?.(proxyAddress) === false) throw new Error(PROXY_ADDRESS_REFUSED);
}

/** Returns the IP address in a URL; undefined for a host name. */
function parseLiteralAddress(url: string): string | undefined {
  const address = URL.parse(url)?.hostname.replace(/^\[|\]$/g, '') ?? '';
  return isIP(address) === 0 ? undefined : address;
}

/** Connect timeout, in milliseconds. Less than half of the timeout of a request to a target, so that time remains for another address. */
const CONNECT_TIMEOUT_MS = 4_000;
/** Maximum time for a proxy to open a tunnel, in milliseconds. Less than the timeout of a probe, so that the error names the proxy. */
const TUNNEL_TIMEOUT_MS = 3_000;
/**
 * Lifetime of idle connections, well below the 90 s after which kube-apiserver closes them, and idle time before TCP keep-alive probes, in
 * milliseconds.
 */
const KEEP_ALIVE_MS = 30_000;

function createPool(cluster: Cluster, tls: TlsIdentity, options: DialOptions, connections: number | null): Dispatcher {
  const requestTls = {
    ...tls,
    rejectUnauthorized: !cluster.skipTLSVerify,
    ...omitUndefined({ servername: cluster.tlsServerName || undefined }),
  };
  const keepAlive = { keepAlive: true, keepAliveInitialDelay: KEEP_ALIVE_MS };
  // transport.ts has its own deadlines: those of undici would end quiet watches.
  const limits = { allowH2: false, keepAliveTimeout: KEEP_ALIVE_MS, headersTimeout: 0, bodyTimeout: 0 };
  const { proxyUrl } = cluster;
  if (proxyUrl) {
    // The proxy resolves the server's host name, so `mayDial` checks only IP addresses in server URLs (`checkServer`).
    const proxyTls = { ...keepAlive, lookup: createGuardedLookup(options.mayDialProxy, options.findAddresses) };
    const timeouts = { connectTimeout: CONNECT_TIMEOUT_MS, tunnelTimeout: TUNNEL_TIMEOUT_MS };
    return createProxyAgent({ ...limits, ...timeouts, connections, proxyUrl, requestTls, proxyTls });
  }
  const { origin } = new URL(cluster.server);
  if (options.tunnel !== undefined)
    return new Pool(origin, { ...limits, connections, connect: createTunnelConnector(options.tunnel, requestTls) });
  const direct = {
    ...limits,
    connect: {
      ...requestTls,
      ...keepAlive,
      timeout: CONNECT_TIMEOUT_MS,
      lookup: createGuardedLookup(options.mayDial, options.findAddresses),
    },
  };
  // A Pool takes more memory than a single Client.
  return connections === 1 ? new Client(origin, direct) : new Pool(origin, { ...direct, connections });
}

/** Returns a connector that negotiates TLS over a byte stream. */
function createTunnelConnector(tunnel: () => Promise<Duplex>, requestTls: buildConnector.BuildOptions): buildConnector.connector {
  const connect = buildConnector({ ...requestTls, timeout: CONNECT_TIMEOUT_MS });
  const open = callbackify(tunnel);
  return (options, callback) => {
    open((error, stream) => {
      if (error !== null) callback(error, null);
      // undici passes the stream to tls.connect, which takes any Duplex.
      else connect({ ...options, httpSocket: stream as Socket }, callback);
    });
  };
}

function createGuardedLookup(mayDial: AddressCheck = () => true, findAddresses: NameLookup = createNameLookup()): LookupFunction {
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
