// `purser cluster renew`: makes Purser renew its credential for a cluster immediately, and waits for the result.

import type { Cluster } from '../../api/cluster.gen.ts';
import { ClusterConditionType, CredentialSecretKey, RenewalAnnotation, RenewCredentialAnnotation } from '../../api/names.ts';
import { Secrets, type Stored } from '../../api/resources.ts';
import { findCondition } from '../../kubernetes/conditions.ts';
import { ignoreReasons } from '../../kubernetes/status.ts';
import { computeDigest } from '../../std/digest.ts';
import { toRenewedName } from '../../targets/policy/renewed-secret.ts';
import { CHECK_PURSER, CommandError, type CommandHost, ExitCode } from '../command.ts';
import { poll } from '../poll.ts';
import { toVisibleLine } from '../visible-text.ts';
import {
  findServiceAccount,
  issueBootstrapToken,
  readCluster,
  readClusters,
  readRenewable,
  type StoredSecrets,
  secretNameOf,
} from './credential.ts';
import { callPeer, type Peer } from './peer.ts';

export interface RenewCredentialOptions {
  /** Name of the Cluster. */
  readonly name: string;
  readonly hub: Peer;
  /** Target cluster on which the command issues a new token for Purser's service account; undefined if Purser uses its current token. */
  readonly target: Peer | undefined;
  /** Maximum time to wait for Purser, in milliseconds; 0 to check once. */
  readonly timeoutMs: number;
}

/**
 * Makes Purser renew its credential for a cluster, and waits for the result. Throws a CommandError if the credential is not renewable, if a
 * request fails, or if Purser has not renewed the credential within the timeout.
 */
export async function renewCredential(renewal: RenewCredentialOptions, host: CommandHost): Promise<void> {
  const { name, hub, target } = renewal;
  const secrets = await readRenewable(hub, name, { signal: host.signal });
  const record =
    target === undefined ? await requestRenewal(renewal, secrets, host) : await supplyToken({ ...renewal, target }, secrets, host);
  const { [RenewalAnnotation.expiresAt]: expiresAt } = await waitForRecord(renewal, secrets, record, host);
  host.print(`Purser renewed its credential for Cluster ${name}; it is valid until ${toVisibleLine(String(expiresAt))}.\n`);
}

export interface RenewAllOptions extends Pick<RenewCredentialOptions, 'hub' | 'timeoutMs'> {
  /** Returns the target whose context has one of these addresses; undefined if there is no such context. */
  readonly findTarget: (addresses: readonly string[]) => Promise<Peer | undefined>;
}

/**
 * Renews the tokens of all Clusters, except those with manual renewal, federation or a client certificate. Supplies a new token if a
 * context has an address of the Cluster: after a restore of the hub, the stored tokens may have expired. Attempts all renewals, then throws
 * a CommandError if any of them failed.
 */
export async function renewAll({ hub, timeoutMs, findTarget }: RenewAllOptions, host: CommandHost): Promise<void> {
  const clusters = (await readClusters(hub, undefined, host)).filter(isRenewable);
  const failures: CommandError[] = [];
  const renew = async (cluster: Stored<Cluster>): Promise<void> => {
    const { name } = cluster.metadata;
    if (await usesNoToken(hub, cluster, host))
      return host.print(`Cluster ${name} uses federation or a client certificate, so Purser has no token to renew.\n`);
    const target = await findTarget(cluster.spec.orchestratorApiEndpoints.serverEndpoints.map(({ serverAddress }) => serverAddress));
    await renewCredential({ name, hub, target, timeoutMs }, host);
  };
  const renewNext = async (): Promise<void> => {
    for (let cluster = clusters.pop(); cluster !== undefined; cluster = clusters.pop()) {
      const { name } = cluster.metadata;
      await renew(cluster).catch((error: unknown) => {
        if (!(error instanceof CommandError)) throw error;
        host.warn(`Cluster ${name}: ${toVisibleLine(error.message)}\n`);
        failures.push(error);
      });
    }
  };
  await Promise.all(Array.from({ length: CONCURRENCY }, renewNext));
  const code = failures.every((error) => error.code === ExitCode.notReady) ? ExitCode.notReady : ExitCode.failed;
  if (failures.length > 0) throw new CommandError(`credentials not renewed: ${failures.length}. See the causes above`, code);
}

/** Maximum number of concurrent renewals. */
const CONCURRENCY = 8;

/** Returns whether a Cluster refers to a credential Secret whose renewal is automatic. */
function isRenewable(cluster: Cluster): boolean {
  return secretNameOf(cluster) !== undefined && cluster.spec.credential?.renewal !== 'Manual';
}

/** Returns whether the credential Secret of a Cluster has a service account for federation, or a client certificate, and no token. */
async function usesNoToken(hub: Peer, cluster: Cluster, { signal }: CommandHost): Promise<boolean> {
  const secret = secretNameOf(cluster);
  if (secret === undefined) return true;
  const { data = {} } = (await callPeer(hub, (client) => ignoreReasons(client.get(Secrets, secret, { signal }), 'NotFound'))) ?? {};
  const { token, serviceAccount, clientCertificate } = CredentialSecretKey;
  return data[token] === undefined && [serviceAccount, clientCertificate].some((key) => data[key] !== undefined);
}

/** An annotation that Purser sets on the renewed Secret after handling a request. */
export interface ActionRecord {
  readonly annotation: string;
  readonly value: string;
  /** Error message if the timeout expires; the cause is appended. */
  readonly failure: string;
}

/**
 * Waits until the annotation of the renewed Secret has the value, and returns all annotations of the Secret. Throws a CommandError with the
 * cause if the timeout expires.
 */
export async function waitForRecord(
  { name, hub, timeoutMs }: Pick<RenewCredentialOptions, 'name' | 'hub' | 'timeoutMs'>,
  { secretName }: StoredSecrets,
  { annotation, value, failure }: ActionRecord,
  host: CommandHost,
): Promise<Readonly<Record<string, string>>> {
  const { signal } = host;
  const renewed = { ...secretName, name: toRenewedName(secretName.name) };
  const record = await poll(timeoutMs, host, async () => {
    const secret = await callPeer(hub, (client) => ignoreReasons(client.get(Secrets, renewed, { signal }), 'NotFound'));
    const { annotations = {} } = secret?.metadata ?? {};
    return annotations[annotation] === value ? annotations : undefined;
  });
  if (record !== undefined) return record;
  throw new CommandError(`${failure}${describeCause(await readCluster(hub, name, { signal }))}`, ExitCode.notReady);
}

async function requestRenewal(
  { name, hub }: RenewCredentialOptions,
  { secretName }: StoredSecrets,
  { clock, signal }: CommandHost,
): Promise<ActionRecord> {
  const value = new Date(clock.now()).toISOString();
  const patch = { metadata: { annotations: { [RenewCredentialAnnotation]: value } } };
  await callPeer(hub, (client) => client.patch(Secrets, secretName, patch, { signal }));
  return { annotation: RenewalAnnotation.renewRequest, value, failure: describeFailure(name) };
}

/** Writes a new token for Purser's service account into the registered Secret. With this token, Purser immediately obtains its own. */
async function supplyToken(
  { name, hub, target }: RenewCredentialOptions & { readonly target: Peer },
  secrets: StoredSecrets,
  host: CommandHost,
): Promise<ActionRecord> {
  const { signal } = host;
  const { serviceAccount } = await findServiceAccount(target, name, secrets, { signal });
  const token = await issueBootstrapToken(target, serviceAccount, host);
  const data = { [CredentialSecretKey.token]: Buffer.from(token).toString('base64') };
  await callPeer(hub, (client) => client.patch(Secrets, secrets.secretName, { data }, { signal }));
  return { annotation: RenewalAnnotation.registeredDigest, value: computeDigest(token), failure: describeFailure(name) };
}

function describeFailure(name: string): string {
  return `Purser has not renewed its credential for Cluster ${name} yet`;
}

function describeCause(cluster: Cluster): string {
  const types: readonly string[] = [ClusterConditionType.credentialFresh, ClusterConditionType.ready];
  const failing = types.map((type) => findCondition(cluster, type)).find((each) => each?.status === 'False');
  return failing?.message === undefined ? `. ${CHECK_PURSER}` : `: ${failing.message}`;
}
