// Connections to one API server: one pool for requests, one for watches, both HTTP/1.1. On HTTP/2 all requests would share
// one connection, and a silent one would take all of them down until its own timeout.

import { isIP, type LookupFunction } from 'node:net';
import { callbackify } from 'node:util';
import type { Cluster } from '@kubernetes/client-node';
import { Client, type Dispatcher, Pool, ProxyAgent } from 'undici';
import { defined } from '../std/defined.ts';
import { type NameLookup, nameLookup } from './addresses.ts';
import type { Identity, TlsIdentity } from './credentials.ts';
import { TransportError } from './transport-error.ts';

export interface DialOptions {
  /** Connections for requests; further requests wait. Watches have one each. */
  readonly connections: number;
  /** Whether an IP address may be dialled; asked after names are resolved, so DNS cannot lead elsewhere. */
  readonly mayDial?: (address: string) => boolean;
  /** How names are resolved, at every dial; as this machine does by default. */
  readonly findAddresses?: NameLookup;
}

/** What connections are for. */
export type Purpose = 'requests' | 'watches';

/** Connects as who we are at present: a new TLS identity gets new connections, the old ones end with their requests. */
export class Dialer {
  readonly #cluster: Cluster;
  readonly #options: DialOptions;
  /** The connections of the present TLS identity, made when they are first needed. */
  #current: { readonly tlsDigest: string; readonly pools: Map<Purpose, Dispatcher> } | undefined;
  /** Every pool that may still have connections. */
  readonly #pools = new Set<Dispatcher>();
  #isClosed = false;

  constructor(cluster: Cluster, options: DialOptions) {
    this.#cluster = cluster;
    this.#options = options;
  }

  /** Where to send as `identity`; nothing is dialled before the first request. */
  connections({ tls, tlsDigest }: Identity, purpose: Purpose): Dispatcher {
    if (this.#isClosed) throw new TransportError('ECANCELED', 'the transport is closed');
    if (this.#current?.tlsDigest !== tlsDigest) this.#retire();
    const { pools } = (this.#current ??= { tlsDigest, pools: new Map() });
    const pool = pools.get(purpose) ?? this.#pool(tls, purpose);
    pools.set(purpose, pool);
    return pool;
  }

  /** Ends all connections at once; requests under way fail. */
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
      const forget = () => this.#pools.delete(pool);
      pool.close().then(forget, forget);
    }
    this.#current = undefined;
  }
}

/** Throws for a server that must not be spoken to: plain http beyond this machine, or a forbidden address. */
export function rejectServer(cluster: Cluster, mayDial: DialOptions['mayDial']): void {
  const { protocol, hostname } = new URL(cluster.server);
  const isLocal = ['127.0.0.1', '[::1]', 'localhost'].includes(hostname);
  const isSafe = protocol === 'https:' || (protocol === 'http:' && (isLocal || cluster.skipTLSVerify));
  if (!isSafe) throw new Error(`${cluster.server}: only https is spoken beyond this machine`);
  const address = hostname.replace(/^\[|\]$/g, '');
  if (mayDial !== undefined && isIP(address) !== 0 && !mayDial(address)) throw new Error(`${address} must not be dialled`);
}

/** Less than half of what a request to a target may take: there must be time for another address. */
const CONNECT_TIMEOUT_MS = 4_000;
/** Well below the 90 s after which kube-apiserver closes an idle connection, or a request could meet the close. */
const KEEP_ALIVE_MS = 30_000;

function createPool(cluster: Cluster, tls: TlsIdentity, options: DialOptions, connections: number | null): Dispatcher {
  const requestTls = {
    ...tls,
    rejectUnauthorized: !cluster.skipTLSVerify,
    ...defined({ servername: cluster.tlsServerName || undefined }),
  };
  const dial = { timeout: CONNECT_TIMEOUT_MS, keepAlive: true, keepAliveInitialDelay: KEEP_ALIVE_MS };
  // Deadlines are ours (transport.ts): undici's own would end quiet watches.
  const limits = { allowH2: false, keepAliveTimeout: KEEP_ALIVE_MS, headersTimeout: 0, bodyTimeout: 0 };
  // A proxy resolves names itself; `mayDial` sees only addresses that are written out.
  if (cluster.proxyUrl) return new ProxyAgent({ ...limits, connections, uri: cluster.proxyUrl, requestTls, connect: dial });
  const direct = { ...limits, connect: { ...requestTls, ...dial, lookup: guardedLookup(options) } };
  const { origin } = new URL(cluster.server);
  // A pool takes more memory than the one connection in it.
  return connections === 1 ? new Client(origin, direct) : new Pool(origin, { ...direct, connections });
}

function guardedLookup({ mayDial = () => true, findAddresses = nameLookup() }: DialOptions): LookupFunction {
  const find = callbackify(findAddresses);
  return (hostname, options, callback) => {
    find(hostname, (error, addresses) => {
      const [first] = addresses ?? [];
      const refused = addresses?.find(({ address }) => !mayDial(address));
      const refusal = `${hostname} is at ${refused?.address}, which must not be dialled`;
      if (error !== null || first === undefined) callback(error ?? new Error(`${hostname} has no address`), []);
      else if (refused !== undefined) callback(new TransportError('ERR_ADDRESS_REFUSED', refusal), []);
      else if (options.all === true) callback(null, [...addresses]);
      else callback(null, first.address, first.family);
    });
  };
}
