// Reads Purser's credential for a registered cluster, and requests bootstrap tokens, for the commands of `purser cluster`.

import type { Cluster } from '../../api/cluster.gen.ts';
import { CredentialSecretKey, DefaultNamespace } from '../../api/names.ts';
import { Clusters, type Secret, Secrets, type ServiceAccount, ServiceAccounts, type Stored } from '../../api/resources.ts';
import type { CallOptions, KubeClient } from '../../kube/client.ts';
import type { NamespacedName } from '../../kube/paths.ts';
import { isBearerToken } from '../../kubernetes/bearer-token.ts';
import { parseServiceAccount } from '../../kubernetes/service-account.ts';
import { hasReason, ignoreReasons } from '../../kubernetes/status.ts';
import { formatTimestamp, parseTimestamp } from '../../std/timestamp.ts';
import { normalizeServer } from '../../targets/policy/registration.ts';
import { toRenewedName } from '../../targets/policy/renewed-secret.ts';
import { parseTokenClaims, type TokenClaims } from '../../targets/policy/token-claims.ts';
import { CommandError, type CommandHost } from '../command.ts';
import { callPeer, formatContext, type Peer } from './peer.ts';

/** Purser's service account on targets, as in the output of `purser print target-rbac`. */
export const SERVICE_ACCOUNT = { namespace: DefaultNamespace, name: 'purser' };

/** The Secrets that contain Purser's credential for a Cluster. */
export interface StoredSecrets {
  readonly secretName: NamespacedName;
  readonly registered: Stored<Secret>;
  /** The Secret with the renewed token; undefined before the first renewal. */
  readonly renewed: Stored<Secret> | undefined;
}

/** Returns a Cluster; undefined if it does not exist. Throws if the request fails, or if the server does not serve Clusters. */
export async function findCluster(client: KubeClient, name: string, options: CallOptions): Promise<Stored<Cluster> | undefined> {
  try {
    return await client.get(Clusters, { name }, options);
  } catch (error) {
    if (hasReason(error, 'NotFound') && error.status.details?.name === name) return undefined;
    throw error;
  }
}

/** Reads a Cluster. Throws a CommandError if it does not exist, or if the request fails. */
export async function readCluster(hub: Peer, name: string, options: CallOptions): Promise<Stored<Cluster>> {
  const cluster = await callPeer(hub, (client) => findCluster(client, name, options));
  if (cluster === undefined) throw new CommandError(`Cluster ${name} was not found on the hub. Check the name and the context of the hub`);
  return cluster;
}

/** Reads all Clusters that match a label selector; undefined matches all. Throws a CommandError if the request fails. */
export async function readClusters(
  hub: Peer,
  labelSelector: string | undefined,
  { signal }: CommandHost,
): Promise<readonly Stored<Cluster>[]> {
  return await callPeer(hub, (client) => client.listAll(Clusters, { labelSelector, signal }));
}

/** Returns the name of the Secret that a Cluster refers to; undefined if the Cluster represents the hub or has no credential. */
export function secretNameOf({ spec }: Cluster): NamespacedName | undefined {
  const controller = spec.authInfo?.controller;
  return controller?.kind === 'Secret' ? { namespace: controller.namespace, name: controller.name } : undefined;
}

/**
 * Reads the Secrets of a Cluster's credential. Throws a CommandError if the Cluster, its Secret or the token in the Secret is missing, if
 * the credential is renewed manually, or if a request fails.
 */
export async function readRenewable(hub: Peer, name: string, options: CallOptions): Promise<StoredSecrets> {
  const cluster = await readCluster(hub, name, options);
  const secretName = secretNameOf(cluster);
  if (secretName === undefined)
    throw new CommandError(
      `Cluster ${name} has no Secret in spec.authInfo.controller, so there is no stored credential to renew or revoke. Choose a Cluster with a credential Secret (see purser cluster list -o wide)`,
    );
  if (cluster.spec.credential?.renewal === 'Manual')
    throw new CommandError(
      `spec.credential.renewal of Cluster ${name} is Manual, so Purser does not replace its credential. Set spec.credential.renewal to Auto, or replace the credential yourself`,
    );
  const read = (secret: NamespacedName) => callPeer(hub, (client) => ignoreReasons(client.get(Secrets, secret, options), 'NotFound'));
  const registered = await read(secretName);
  if (registered === undefined)
    throw new CommandError(
      `Secret ${secretName.namespace}/${secretName.name} was not found on the hub. To create it, run purser cluster add ${name} --context CONTEXT`,
    );
  if (registered.data?.[CredentialSecretKey.token] === undefined)
    throw new CommandError(
      `Secret ${secretName.namespace}/${secretName.name} of Cluster ${name} contains no token, so Purser has none to renew or revoke. Replace a client certificate (tls.crt and tls.key) yourself; with federation, there is nothing to replace`,
    );
  return { secretName, registered, renewed: await read({ ...secretName, name: toRenewedName(secretName.name) }) };
}

/** Purser's service account on a target. */
export interface TargetServiceAccount {
  readonly serviceAccount: NamespacedName;
  /** The stored object; undefined if it does not exist. */
  readonly found: Stored<ServiceAccount> | undefined;
}

/**
 * Finds Purser's service account on the target by the subject of the stored token. Throws a CommandError unless the UID of the service
 * account or a registered address proves that the context refers to the registered cluster; `remedy` is the remedy for a credential that is
 * not a service account token.
 */
export async function findServiceAccount(
  target: Peer,
  name: string,
  secrets: StoredSecrets,
  { remedy = describeReplacement(secrets), ...options }: CallOptions & { readonly remedy?: string },
): Promise<TargetServiceAccount> {
  const { registered, renewed } = secrets;
  const claims = [renewed, registered].map(parseClaims).find((each) => each !== undefined);
  const serviceAccount = parseServiceAccount(claims?.subject ?? '');
  if (serviceAccount === undefined)
    throw new CommandError(
      `Purser's credential for Cluster ${name} is not a service account token, so --context cannot be verified. ${remedy}`,
    );
  const found = await callPeer(target, (client) => ignoreReasons(client.get(ServiceAccounts, serviceAccount, options), 'NotFound'));
  const isSame = found !== undefined && found.metadata.uid === claims?.accountUID;
  if (!isSame && !isRegisteredAddress(target, registered)) {
    const mismatch = found === undefined ? 'was not found there' : 'has a different UID than the service account of the stored token';
    throw new CommandError(
      `${formatContext(target)} does not refer to Cluster ${name}: the address ${target.client.transport.server} is not registered, and service account ${serviceAccount.namespace}/${serviceAccount.name} ${mismatch}. Set --context to a context with a registered address of the Cluster`,
    );
  }
  return { serviceAccount, found };
}

/** Returns whether the address of a context is one of the addresses in a registered Secret. */
export function isRegisteredAddress({ client }: Peer, registered: Secret): boolean {
  const servers = decodeKey(registered, CredentialSecretKey.server).split(/[\s,]+/);
  return servers.map(normalizeServer).includes(normalizeServer(client.transport.server));
}

/**
 * Requests a one-hour token for a service account; the target may grant another lifetime. Throws a CommandError if the target issues no
 * valid token.
 */
export async function issueBootstrapToken(target: Peer, serviceAccount: NamespacedName, host: CommandHost): Promise<string> {
  const spec = { audiences: [], expirationSeconds: BOOTSTRAP_SECONDS };
  const { status } = await callPeer(target, (client) => client.createToken(serviceAccount, spec, { signal: host.signal }));
  const expiresAt = parseTimestamp(status?.expirationTimestamp);
  if (!status?.token || !isBearerToken(status.token) || expiresAt === undefined)
    throw new CommandError('the target cluster issued no valid token. Check the --service-account-* flags of its API server');
  const { namespace, name } = serviceAccount;
  host.print(`Token for service account ${namespace}/${name} issued, valid until ${formatTimestamp(expiresAt)}.\n`);
  return status.token;
}

/** Returns the decoded value of a key of a Secret, without surrounding whitespace; empty if the Secret or the key does not exist. */
export function decodeKey(secret: Secret | undefined, key: string): string {
  return Buffer.from(secret?.data?.[key] ?? '', 'base64')
    .toString('utf8')
    .trim();
}

/** Requested lifetime of the token in the registered Secret, in seconds. Purser uses this token only to obtain another token. */
const BOOTSTRAP_SECONDS = 3_600;

function describeReplacement({ secretName: { namespace, name } }: StoredSecrets): string {
  return `Omit --context, and replace the credential in Secret ${namespace}/${name} yourself`;
}

function parseClaims(secret: Secret | undefined): TokenClaims | undefined {
  return parseTokenClaims(decodeKey(secret, CredentialSecretKey.token));
}
