// Addresses and certificate authorities of a cluster, all of them pinned by the credential. Users who may write Clusters could
// otherwise direct the credential, and tokens issued with it, to another server.

import { BlockList, isIP } from 'node:net';
import type { Cluster, ClusterServerEndpoint } from '../api/cluster.gen.ts';
import { SystemAuthorities } from '../api/names.ts';
import { type Pins, parseBundle } from './credential.ts';
import { IssueError } from './issue-error.ts';
import { serverUrl } from './policy/registration.ts';

/** Endpoints of a cluster to send tokens to, and to write to Secrets with tokens. */
export interface PinnedEndpoints {
  /** Addresses in order of preference; at least one. */
  readonly servers: readonly string[];
  /** Base64-encoded PEM; undefined for public certificate authorities. */
  readonly caBundle?: string | undefined;
}

/**
 * Returns the endpoints of a Cluster for a client at `ownAddress`. Throws an IssueError unless the pins cover every address and every
 * certificate: a registration with a different address or certificate is not trusted.
 */
export function toPinnedEndpoints(cluster: Cluster, pins: Pins, ownAddress: string | undefined): PinnedEndpoints {
  const { serverEndpoints, caBundle = '' } = cluster.spec.orchestratorApiEndpoints;
  checkPinned(
    serverEndpoints.map(({ serverAddress }) => serverAddress),
    pins.servers,
  );
  return { servers: serversFor(serverEndpoints, ownAddress), caBundle: pinnedBundle(caBundle, pins.authorities) };
}

/**
 * Returns the addresses in the order in which a client at `ownAddress` uses them: the longest clientCIDR that contains the client
 * first, those that do not contain the client last, otherwise as registered. Unusable addresses are omitted.
 */
export function serversFor(endpoints: readonly ClusterServerEndpoint[], ownAddress: string | undefined): readonly string[] {
  const found = endpoints.map(({ clientCIDR, serverAddress }) => ({
    server: serverUrl(serverAddress),
    prefix: matchingPrefix(clientCIDR, ownAddress),
  }));
  const servers = found.sort((a, b) => b.prefix - a.prefix).map(({ server }) => server);
  return [...new Set(servers.filter((server) => server !== undefined))];
}

/** Tracks which of several addresses works. Times are on the monotonic clock. */
export class EndpointChoice {
  readonly #servers: readonly string[];
  #active = 0;
  /** Time of the last failure of the preferred address. */
  #failedAt = 0;

  /** Creates a choice between servers in order of preference. */
  constructor(servers: readonly string[]) {
    this.#servers = servers;
  }

  /** The address that is tried first; undefined if there is none. */
  get active(): string | undefined {
    return this.#servers[this.#active];
  }

  /** Returns the addresses to try, the active one first, or the preferred one if its last failure was RETURN_MS ago. */
  order(now: number): readonly string[] {
    const isReturnDue = this.#active !== 0 && now - this.#failedAt >= RETURN_MS;
    const [preferred, active] = [this.#servers[0], this.#servers[this.#active]];
    const first = isReturnDue ? [preferred, active] : [active];
    return [...new Set([...first, ...this.#servers])].filter((server) => server !== undefined);
  }

  /** Makes the address that responded the active one. */
  recordSuccess(server: string): void {
    this.#active = this.#servers.indexOf(server);
  }

  /** Makes the next address active if the active one failed. */
  recordFailure(server: string, now: number): void {
    const index = this.#servers.indexOf(server);
    if (index === 0) this.#failedAt = now;
    if (index === this.#active) this.#active = (index + 1) % this.#servers.length;
  }
}

const LASTING = { isLasting: true } as const;
const RETURN_MS = 300_000;
const MAPPED = /^::ffff:(?=\d+\.)/i;

function checkPinned(addresses: readonly string[], pinned: readonly string[]): void {
  const servers = addresses.map(serverUrl);
  if (servers.length === 0 || servers.includes(undefined)) {
    throw new IssueError('AddressNotAllowed', 'every serverAddress must be an https URL without user, query and fragment', LASTING);
  }
  const others = servers.filter((server) => server !== undefined && !pinned.includes(server));
  if (others.length > 0) throw new IssueError('EndpointNotPinned', `the server key of the Secret does not name ${others.join(', ')}`);
}

function pinnedBundle(caBundle: string, authorities: Pins['authorities']): string | undefined {
  if (caBundle === '') {
    if (authorities === SystemAuthorities) return undefined;
    throw new IssueError('CANotPinned', `the Cluster has no caBundle, and ca.crt of the Secret is not the word ${SystemAuthorities}`);
  }
  const certificates = parseBundle(caBundle);
  if (certificates === undefined)
    throw new IssueError('TLSVerifyFailed', 'caBundle must contain only PEM certificates, encoded as base64', LASTING);
  const isPinned = (fingerprint: string) => authorities !== SystemAuthorities && authorities.has(fingerprint);
  const other = certificates.find(({ fingerprint256 }) => !isPinned(fingerprint256));
  if (other !== undefined)
    throw new IssueError('CANotPinned', `ca.crt of the Secret lacks the certificate with SHA-256 ${other.fingerprint256}`);
  // Re-encoded, without text between the certificates that another parser might read differently.
  return Buffer.from(certificates.map(String).join('')).toString('base64');
}

/** Returns the length of the prefix if the block contains the address; -1 if not. */
function matchingPrefix(clientCIDR: string, ownAddress: string | undefined): number {
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
