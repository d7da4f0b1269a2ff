// Which address of a cluster is used: the one for our place in the network while it works, then the others.

import { BlockList, isIP } from 'node:net';
import type { ClusterServerEndpoint } from '../api/cluster.gen.ts';
import { serverUrl } from './policy/server-url.ts';

/**
 * The addresses of a cluster in the order in which a client at `ownAddress` uses them: the longest clientCIDR that holds
 * it first, those that do not hold it last, otherwise as registered. Unusable ones are left out.
 */
export function serversFor(endpoints: readonly ClusterServerEndpoint[], ownAddress: string | undefined): readonly string[] {
  const found = endpoints.map(({ clientCIDR, serverAddress }) => ({
    server: serverUrl(serverAddress),
    prefix: heldPrefix(clientCIDR, ownAddress),
  }));
  const servers = found.sort((a, b) => b.prefix - a.prefix).map(({ server }) => server);
  return [...new Set(servers.filter((server) => server !== undefined))];
}

/** Remembers which of several addresses works. Instants are on the monotonic clock. */
export class EndpointChoice {
  readonly #servers: readonly string[];
  #active = 0;
  /** When the preferred one last failed. */
  #leftAt = 0;

  /** `servers` are in the order of preference. */
  constructor(servers: readonly string[]) {
    this.#servers = servers;
  }

  /** The address that is tried first; undefined if there is none. */
  get active(): string | undefined {
    return this.#servers[this.#active];
  }

  /** The addresses to try, the one that worked last first; after a while away from it, the preferred one before that. */
  order(now: number): readonly string[] {
    const isDue = this.#active !== 0 && now - this.#leftAt >= RETURN_MS;
    const [preferred, active] = [this.#servers[0], this.#servers[this.#active]];
    const first = isDue ? [preferred, active] : [active];
    return [...new Set([...first, ...this.#servers])].filter((server) => server !== undefined);
  }

  worked(server: string): void {
    this.#active = this.#servers.indexOf(server);
  }

  /** The address after the one that failed is the next to be tried; after a failed return, the one that worked. */
  failed(server: string, now: number): void {
    const index = this.#servers.indexOf(server);
    if (index === 0) this.#leftAt = now;
    if (index === this.#active) this.#active = (index + 1) % this.#servers.length;
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
