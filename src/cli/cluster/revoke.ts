// `purser cluster revoke`: requests the revocation of Purser's earlier tokens for a cluster, and waits until Purser has completed it.

import { CredentialSecretKey, Label, RenewalAnnotation, RevokeCredentialAnnotation } from '../../api/names.ts';
import { Secrets, type ServiceAccount, ServiceAccounts, type Stored } from '../../api/resources.ts';
import { ignoreReasons } from '../../kubernetes/status.ts';
import { toCredentialLabel } from '../../targets/own-anchors.ts';
import type { CommandHost } from '../command.ts';
import { formatContextOption, formatHubContextOption } from '../quote-shell.ts';
import { findServiceAccount, issueBootstrapToken, readRenewable, type StoredSecrets } from './credential.ts';
import { callPeer, type Peer } from './peer.ts';
import { waitForRecord } from './renew.ts';

export interface RevokeTokensOptions {
  /** Name of the Cluster. */
  readonly name: string;
  readonly hub: Peer;
  /** Target cluster on which the command re-creates Purser's service account; undefined to keep the service account. */
  readonly target: Peer | undefined;
  /** Maximum time to wait for Purser, in milliseconds; 0 to check once. */
  readonly timeoutMs: number;
}

/**
 * Makes Purser revoke its earlier tokens for a cluster, and waits for the result. Throws a CommandError if the credential is not renewable,
 * if a request fails, or if Purser has not revoked the tokens within the timeout.
 */
export async function revokeEarlierTokens(revocation: RevokeTokensOptions, host: CommandHost): Promise<void> {
  const { name, hub, target } = revocation;
  const { clock, signal } = host;
  const secrets = await readRenewable(hub, name, { signal });
  const value = new Date(clock.now()).toISOString();
  const token = target && (await recreateServiceAccount({ ...revocation, target }, secrets, host));
  const patch = {
    metadata: { annotations: { [RevokeCredentialAnnotation]: value } },
    ...(token !== undefined && { data: { [CredentialSecretKey.token]: Buffer.from(token).toString('base64') } }),
  };
  await callPeer(hub, (client) => client.patch(Secrets, secrets.secretName, patch, { signal }));
  const record = {
    annotation: RenewalAnnotation.revoked,
    value,
    failure: `Purser has not revoked its earlier tokens for Cluster ${name} yet`,
  };
  await waitForRecord(revocation, secrets, record, host);
  host.print(`Purser replaced its credential for Cluster ${name} and revoked its earlier tokens by deleting their anchors.\n`);
  if (target === undefined) host.print(renderNote(name, hub));
}

function renderNote(name: string, hub: Peer): string {
  const text =
    'Tokens without an anchor, such as the token in the registered Secret and tokens that an attacker requested with a stolen token, stay valid until they expire.';
  return `${text}\nTo revoke all tokens of Purser's service account on the target, run: purser cluster revoke ${name} ${formatHubContextOption(hub)}${formatContextOption({ ...hub, context: 'TARGET' }).trimEnd()}\n`;
}

/** Revokes all tokens of Purser's service account on the target by re-creating the service account, and returns a one-hour token. */
async function recreateServiceAccount(
  { name, hub, target, timeoutMs }: RevokeTokensOptions & { readonly target: Peer },
  secrets: StoredSecrets,
  host: CommandHost,
): Promise<string> {
  const { signal } = host;
  const { serviceAccount, found } = await findServiceAccount(target, name, secrets, { signal });
  const isProbablyShared = await hasOtherAnchors(target, serviceAccount.namespace, secrets, host);
  const account = { ...withoutServerFields(found), metadata: { ...copyMetadata(found), ...serviceAccount } };
  await callPeer(target, async (client) => {
    // A timeout of 0 means one check of Purser's result. Requests then have their default timeout.
    if (found !== undefined)
      await client.delete(ServiceAccounts, serviceAccount, { uid: found.metadata.uid, timeoutMs: timeoutMs || undefined, signal });
    await client.create(ServiceAccounts, account, { signal });
  });
  if (isProbablyShared)
    host.warn(
      `warning: another registration probably uses service account ${serviceAccount.namespace}/${serviceAccount.name} on the target cluster: namespace ${serviceAccount.namespace} contains anchors of another credential. If that registration still exists, its token is now revoked as well. To replace that token, run, with the name of the other Cluster: purser cluster renew ${formatHubContextOption(hub)}${formatContextOption(target)}NAME\n`,
    );
  return await issueBootstrapToken(target, serviceAccount, host);
}

/** Returns whether a namespace contains anchors of another credential; false if the user is not authorized to list Secrets there. */
async function hasOtherAnchors(target: Peer, namespace: string, { registered }: StoredSecrets, { signal }: CommandHost): Promise<boolean> {
  const selected = { namespace, labelSelector: Label.credential, signal };
  const anchors = await callPeer(target, (client) => ignoreReasons(client.list(Secrets, selected), 'Forbidden'));
  const own = toCredentialLabel(registered.metadata.uid);
  return anchors?.items.some(({ metadata }) => metadata.labels?.[Label.credential] !== own) === true;
}

function copyMetadata(found: Stored<ServiceAccount> | undefined) {
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
