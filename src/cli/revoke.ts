// `purser cluster revoke`: requests the revocation of Purser's earlier tokens for a cluster, and waits until Purser has completed it.

import type { Cluster } from '../api/cluster.gen.ts';
import { ClusterConditionType, CredentialSecretKey, RenewalAnnotation, RevokeCredentialAnnotation } from '../api/names.ts';
import { Clusters, type Secret, Secrets, type ServiceAccount, ServiceAccounts, type Stored } from '../api/resources.ts';
import type { KubeClient } from '../kube/client.ts';
import type { ObjectName } from '../kube/paths.ts';
import { hasReason } from '../kubernetes/status.ts';
import { sleep } from '../std/clock.ts';
import { serverUrl } from '../targets/policy/registration.ts';
import { renewedName } from '../targets/policy/renewed-secret.ts';
import { type TokenClaims, tokenClaims } from '../targets/policy/token-claims.ts';
import { toServiceAccount } from '../targets/policy/token-request.ts';
import { CommandError, type CommandHost, ExitCode } from './command.ts';

export interface Revocation {
  /** Name of the Cluster. */
  readonly name: string;
  readonly hub: KubeClient;
  /** The target, to re-create Purser's service account; undefined to keep it. */
  readonly target: KubeClient | undefined;
  /** Maximum time to wait for Purser, in milliseconds. */
  readonly timeoutMs: number;
}

/** Revokes Purser's earlier tokens. Throws a CommandError, or the error of a request. */
export async function revoke(revocation: Revocation, host: CommandHost): Promise<void> {
  const { name, hub, target } = revocation;
  const { secretName, registered, renewed } = await readRegistration(hub, name);
  const request = new Date(host.clock.now()).toISOString();
  const token = target && (await recreateAccount(revocation, target, [renewed, registered]));
  await hub.patch(Secrets, secretName, {
    metadata: { annotations: { [RevokeCredentialAnnotation]: request } },
    ...(token !== undefined && { data: { [CredentialSecretKey.token]: Buffer.from(token).toString('base64') } }),
  });
  await waitUntilRevoked(revocation, host, { ...secretName, name: renewedName(secretName.name) }, request);
  host.print(`Purser replaced its credential for Cluster ${name} and revoked all earlier tokens that it had obtained.\n`);
  if (target === undefined) host.print(note(name));
}

const POLL_MS = 500;
const BOOTSTRAP_SECONDS = 3_600;

function note(name: string): string {
  const text = 'The token in the registered Secret, and tokens that an attacker created with a stolen one, stay valid until they expire.';
  return `${text}\nTo revoke them, run: purser cluster revoke ${name} --context TARGET\n`;
}

/** Reads the Secrets of a Cluster's credential. Throws a CommandError if Purser does not renew it. */
async function readRegistration(hub: KubeClient, name: string) {
  const cluster = await orUndefined(hub.get(Clusters, { name }));
  if (cluster === undefined) throw new CommandError(`Cluster ${name} was not found on the hub; check --hub-context`);
  const controller = cluster.spec.authInfo?.controller;
  if (controller?.kind !== 'Secret') throw new CommandError(`Cluster ${name} has no Secret in spec.authInfo.controller`);
  if (cluster.spec.credential?.renewal === 'Manual')
    throw new CommandError(
      `Purser does not renew its credential for Cluster ${name}; set spec.credential.renewal to Auto, or replace the token yourself`,
    );
  const secretName = { namespace: controller.namespace, name: controller.name };
  const registered = await orUndefined(hub.get(Secrets, secretName));
  if (registered === undefined) throw new CommandError(`Secret ${secretName.namespace}/${secretName.name} was not found on the hub`);
  if (registered.data?.[CredentialSecretKey.token] === undefined)
    throw new CommandError(`the Secret of Cluster ${name} contains no token, so that there is none to revoke`);
  const renewed = await orUndefined(hub.get(Secrets, { ...secretName, name: renewedName(secretName.name) }));
  return { secretName, registered, renewed };
}

/** Re-creates Purser's service account on the target, which revokes all its tokens, and returns a token of one hour. */
async function recreateAccount(
  { name, timeoutMs }: Revocation,
  target: KubeClient,
  secrets: readonly (Secret | undefined)[],
): Promise<string> {
  const claims = secrets.map(claimsOf).find((each) => each !== undefined);
  const account = toServiceAccount(claims?.subject ?? '');
  if (account === undefined) throw new CommandError(`the credential of Cluster ${name} is not a token of a service account`);
  const found = await orUndefined(target.get(ServiceAccounts, account));
  checkTarget(target, { name, account, found, claims, registered: secrets.at(-1) });
  if (found !== undefined) await target.delete(ServiceAccounts, account, { uid: found.metadata.uid, timeoutMs });
  await target.create(ServiceAccounts, { ...withoutServerFields(found), metadata: { ...copiedMetadata(found), ...account } });
  const { status } = await target.createToken(account, { audiences: [], expirationSeconds: BOOTSTRAP_SECONDS });
  if (!status?.token) throw new CommandError('the target cluster issued no token');
  return status.token;
}

interface TargetCheck {
  readonly name: string;
  readonly account: ObjectName;
  readonly found: Stored<ServiceAccount> | undefined;
  readonly claims: TokenClaims | undefined;
  readonly registered: Secret | undefined;
}

/** Throws a CommandError unless the context leads to the target: by the UID of the service account, or by a registered address. */
function checkTarget({ transport }: KubeClient, { name, account, found, claims, registered }: TargetCheck): void {
  const isSame = found !== undefined && found.metadata.uid === claims?.accountUID;
  const servers = textOf(registered, CredentialSecretKey.server).split(/[\s,]+/);
  if (isSame || servers.map(serverUrl).includes(serverUrl(transport.server))) return;
  throw new CommandError(
    `service account ${account.namespace}/${account.name} at ${transport.server} is not that of Cluster ${name}; check --context`,
  );
}

function copiedMetadata(found: Stored<ServiceAccount> | undefined) {
  const { labels, annotations } = found?.metadata ?? {};
  return { ...(labels && { labels }), ...(annotations && { annotations }) };
}

function withoutServerFields(found: Stored<ServiceAccount> | undefined): Partial<ServiceAccount> {
  const { automountServiceAccountToken, imagePullSecrets } = found ?? {};
  return {
    ...(automountServiceAccountToken !== undefined && { automountServiceAccountToken }),
    ...(imagePullSecrets && { imagePullSecrets }),
  };
}

function claimsOf(secret: Secret | undefined): TokenClaims | undefined {
  return tokenClaims(textOf(secret, CredentialSecretKey.token));
}

function textOf(secret: Secret | undefined, key: string): string {
  return Buffer.from(secret?.data?.[key] ?? '', 'base64')
    .toString('utf8')
    .trim();
}

/** Waits until Purser has recorded the request as complete. Throws a CommandError with the cause after the timeout. */
async function waitUntilRevoked(
  { name, hub, timeoutMs }: Revocation,
  { clock, signal }: CommandHost,
  renewed: ObjectName,
  request: string,
): Promise<void> {
  for (const end = clock.monotonic() + timeoutMs; ; await sleep(clock, POLL_MS, signal)) {
    const secret = await orUndefined(hub.get(Secrets, renewed));
    if (secret?.metadata.annotations?.[RenewalAnnotation.revoked] === request) return;
    if (clock.monotonic() < end) continue;
    const cause = causeOf(await hub.get(Clusters, { name }));
    throw new CommandError(`Purser has not revoked its earlier tokens for Cluster ${name} yet${cause}`, ExitCode.notReady);
  }
}

function causeOf({ status }: Cluster): string {
  const types: readonly string[] = [ClusterConditionType.credentialFresh, ClusterConditionType.ready];
  const failing = types.map((type) => status?.conditions?.find((each) => each.type === type)).find((each) => each?.status === 'False');
  return failing?.message === undefined ? '; check that Purser runs' : `: ${failing.message}`;
}

async function orUndefined<T>(response: Promise<T>): Promise<T | undefined> {
  try {
    return await response;
  } catch (error) {
    if (hasReason(error, 'NotFound')) return undefined;
    throw error;
  }
}
