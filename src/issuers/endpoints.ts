// Which address of a cluster is used: the one for our place in the network while it works, then the others.

import { BlockList, isIP } from 'node:net';
import type { ClusterServerEndpoint } from '../api/cluster.gen.ts';
import { serverUrl } from '../domain/server-url.ts';

/**
 * The addresses of a cluster in the order in which a client at `ownAddress` uses them: the longest clientCIDR that holds
 * it first, those that do not hold it last, otherwise as registered. Unusable ones are left out.
 */
export function serversFor(endpoints: readonly ClusterServerEndpoint[], ownAddress: string | undefined): readonly string[] {
  const ranked = endpoints.map(({ clientCIDR, serverAddress }) => ({
    server: serverUrl(serverAddress),
    prefix: heldPrefix(clientCIDR, ownAddress),
  }));
  const servers = ranked.sort((a, b) => b.prefix - a.prefix).map(({ server }) => server);
  return [...new Set(servers.filter((server) => server !== undefined))];
}

/** Remembers which of several addresses works. Instants are on the monotonic clock. */
export class EndpointChoice {
  readonly #servers: readonly string[];
  #active = 0;
  #leftAt = 0;

  /** `servers` are in the order of preference. */
  constructor(servers: readonly string[]) {
    this.#servers = servers;
  }

  /** The addresses to try, the one that worked last first; after a while away from it, the preferred one. */
  order(now: number): readonly string[] {
    const isDue = this.#active !== 0 && now - this.#leftAt >= RETURN_MS;
    const first = this.#servers[isDue ? 0 : this.#active];
    return first === undefined ? [] : [first, ...this.#servers.filter((server) => server !== first)];
  }

  worked(server: string, now: number): void {
    this.#move(this.#servers.indexOf(server), now);
  }

  /** The address after the one that failed is the next to be tried. */
  failed(server: string, now: number): void {
    this.#move((this.#servers.indexOf(server) + 1) % this.#servers.length, now);
  }

  #move(index: number, now: number): void {
    const isReturn = this.#active !== 0 && now - this.#leftAt >= RETURN_MS;
    // A failed attempt to return counts as leaving again.
    if (index !== this.#active || isReturn) this.#leftAt = now;
    this.#active = index;
  }
}

const RETURN_MS = 300_000;
const MAPPED = /^::ffff:(?=\d+\.)/i;

/** The length of the prefix if the block holds the address; -1 if not. */
function heldPrefix(clientCIDR: string, ownAddress: string | undefined): number {
  const [network = '', bits = ''] = clientCIDR.split('/');
  const family = isIP(network);
  const prefix = Number(bits);
  if (family === 0 || !/^\d{1,3}$/.test(bits) || prefix > (family === 4 ? 32 : 128)) return -1;
  if (ownAddress === undefined) return prefix === 0 ? 0 : -1;
  const own = ownAddress.replace(MAPPED, '').replace(/%.*/, '');
  if (isIP(own) !== family) return -1;
  const type = family === 4 ? 'ipv4' : 'ipv6';
  const block = new BlockList();
  block.addSubnet(network, prefix, type);
  return block.check(own, type) ? prefix : -1;
}
