// Endpoints of a cluster, and the order in which a client uses its addresses. create-target.ts checks the endpoints.

import { BlockList, isIP } from 'node:net';
import type { ClusterServerEndpoint } from '../api/cluster.gen.ts';
import { normalizeServer } from './policy/registration.ts';

/**
 * Endpoints of a cluster that its credential Secret allows or, without such a Secret, those of Purser's own client for the hub. Purser
 * sends its credential only to these endpoints, and writes no others to Secrets.
 */
export interface PinnedEndpoints {
  /** Addresses in order of preference; at least one. */
  readonly servers: readonly string[];
  /** Base64-encoded PEM; undefined for public certificate authorities. */
  readonly caBundle?: string | undefined;
}

/**
 * Returns the addresses in the order in which a client at `ownAddress` uses them: addresses whose clientCIDR contains the client first, the
 * longest prefix before shorter ones; then the other addresses; otherwise in the registered order. Unusable addresses are omitted.
 */
export function orderServers(endpoints: readonly ClusterServerEndpoint[], ownAddress: string | undefined): readonly string[] {
  const found = endpoints.map(({ clientCIDR, serverAddress }) => ({
    server: normalizeServer(serverAddress),
    prefix: findMatchingPrefix(clientCIDR, ownAddress),
  }));
  const servers = found.sort((a, b) => b.prefix - a.prefix).map(({ server }) => server);
  return [...new Set(servers.filter((server) => server !== undefined))];
}

/** Prefix of an IPv4-mapped IPv6 address. */
const MAPPED_PREFIX = /^::ffff:(?=\d+\.)/i;

/**
 * Returns the prefix length of the block if the block contains `ownAddress`; otherwise -1. If `ownAddress` is undefined, only a block with
 * prefix length 0 matches.
 */
function findMatchingPrefix(clientCIDR: string, ownAddress: string | undefined): number {
  const [network = '', bits = ''] = clientCIDR.split('/');
  const family = isIP(network);
  const prefix = Number(bits);
  if (family === 0 || !/^\d{1,3}$/.test(bits) || prefix > (family === 4 ? 32 : 128)) return -1;
  if (ownAddress === undefined) return prefix === 0 ? 0 : -1;
  const own = ownAddress.replace(MAPPED_PREFIX, '').replace(/%.*/, '');
  if (isIP(own) !== family) return -1;
  const type = family === 4 ? 'ipv4' : 'ipv6';
  const block = new BlockList();
  block.addSubnet(network, prefix, type);
  return block.check(own, type) ? prefix : -1;
}
