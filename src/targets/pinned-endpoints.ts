// Addresses and certificate authorities of a cluster, all of them pinned by the credential. Users who may write Clusters could
// otherwise lead the credential, and tokens issued with it, to another server.

import type { Cluster } from '../api/cluster.gen.ts';
import { SystemAuthorities } from '../api/names.ts';
import { caCertificates } from './certificates.ts';
import type { Pins } from './credential.ts';
import { serversFor } from './endpoints.ts';
import { IssueError } from './issue-error.ts';
import { serverUrl } from './policy/server-url.ts';

/** Endpoints of a cluster that tokens may be sent to and written next to. */
export interface PinnedEndpoints {
  /** Addresses in order of preference; at least one. */
  readonly servers: readonly string[];
  /** Base64 of PEM; undefined for public certificate authorities. */
  readonly caBundle?: string | undefined;
}

/**
 * Returns the endpoints of a Cluster for a client at `ownAddress`. Throws an IssueError unless the pins cover the Cluster's name,
 * every address and every certificate: one that is not covered makes the whole registration suspect.
 */
export function pinnedEndpoints(cluster: Cluster, pins: Pins, ownAddress: string | undefined): PinnedEndpoints {
  const { name = '' } = cluster.metadata;
  const { serverEndpoints, caBundle = '' } = cluster.spec.orchestratorApiEndpoints;
  if (!pins.clusters.includes(name)) throw new IssueError('CredentialNotForCluster', `the key cluster of the Secret does not name ${name}`);
  rejectUnpinned(
    serverEndpoints.map(({ serverAddress }) => serverAddress),
    pins.servers,
  );
  return { servers: serversFor(serverEndpoints, ownAddress), caBundle: pinnedBundle(caBundle, pins.authorities) };
}

const LASTING = { isLasting: true } as const;

function rejectUnpinned(addresses: readonly string[], pinned: readonly string[]): void {
  const servers = addresses.map(serverUrl);
  if (servers.length === 0 || servers.includes(undefined)) {
    throw new IssueError('AddressRefused', 'every serverAddress has to be an https URL without user, query and fragment', LASTING);
  }
  const others = servers.filter((server) => server !== undefined && !pinned.includes(server));
  if (others.length > 0) throw new IssueError('EndpointNotPinned', `the key server of the Secret does not name ${others.join(', ')}`);
}

function pinnedBundle(caBundle: string, authorities: Pins['authorities']): string | undefined {
  if (caBundle === '') {
    if (authorities === SystemAuthorities) return undefined;
    throw new IssueError('CANotPinned', `the Cluster has no caBundle, and ca.crt of the Secret is not the word ${SystemAuthorities}`);
  }
  const certificates = caCertificates(caBundle);
  if (certificates === undefined) throw new IssueError('TLSVerifyFailed', 'caBundle is not base64 of PEM certificates alone', LASTING);
  const isPinned = (fingerprint: string) => authorities !== SystemAuthorities && authorities.has(fingerprint);
  const other = certificates.find(({ fingerprint256 }) => !isPinned(fingerprint256));
  if (other !== undefined)
    throw new IssueError('CANotPinned', `ca.crt of the Secret lacks the certificate with SHA-256 ${other.fingerprint256}`);
  // Encoded again, without any text between the certificates that another parser might read differently.
  return Buffer.from(certificates.map(String).join('')).toString('base64');
}
