// `purser cluster remove`: removes a Cluster and its credential from the hub and, on request, Purser's access from the target cluster.
// Every step can be repeated. The Secret is deleted last, so that a second run can still find it by the name of the deleted Cluster.

import type { Cluster } from '../../api/cluster.gen.ts';
import type { ManagedToken } from '../../api/managed-token.gen.ts';
import { CredentialSecretKey, Label } from '../../api/names.ts';
import { type ApiObject, Clusters, ManagedTokens, type Secret, Secrets, ServiceAccounts, type Stored } from '../../api/resources.ts';
import type { CallOptions, KubeClient } from '../../kube/client.ts';
import { type NamespacedName, objectKeyOf } from '../../kube/paths.ts';
import { ignoreReasons } from '../../kubernetes/status.ts';
import { readClusterNames } from '../../targets/credential.ts';
import { toCredentialLabel } from '../../targets/own-anchors.ts';
import { toAnchorName } from '../../targets/policy/grant.ts';
import { isRenewedSecret, toRenewedName } from '../../targets/policy/renewed-secret.ts';
import { CommandError, type CommandHost, ExitCode } from '../command.ts';
import { formatContextOption } from '../quote-shell.ts';
import { selectPermissions, toAccessObjects, withdrawAccess } from './access.ts';
import { checkIsNotHub } from './add.ts';
import { decodeKey, findCluster, findServiceAccount, isRegisteredAddress, SERVICE_ACCOUNT, secretNameOf } from './credential.ts';
import { callPeer, formatContext, type Peer } from './peer.ts';

export interface RemoveClusterOptions {
  /** Name of the Cluster. */
  readonly name: string;
  /** Purser's namespace on the hub, to search for the Secret if the Cluster no longer exists. */
  readonly namespace: string;
  readonly hub: Peer;
  /** Target cluster on which the command removes Purser's access; undefined to keep the access. */
  readonly target: Peer | undefined;
  /** True to remove without confirmation by the user. */
  readonly isConfirmed: boolean;
}

/**
 * Removes the registration. Throws a CommandError if the registration does not exist, if Purser's access to the target cannot be removed
 * safely, if the user does not confirm, or if a request fails.
 */
export async function removeCluster(removal: RemoveClusterOptions, host: CommandHost): Promise<void> {
  const { name, hub, target } = removal;
  const options = { signal: host.signal };
  const found = await findRegistration(removal, options);
  const tokens = await listTokens(hub, name, options);
  if (target !== undefined) await checkTarget({ ...removal, target }, found, options);
  await confirm(removal, tokens, host);
  const { cluster, secret } = found;
  if (cluster !== undefined) {
    const { uid } = cluster.metadata;
    await callPeer(hub, (client) => ignoreReasons(client.delete(Clusters, { name }, { uid, ...options }), 'NotFound'));
    host.print(`Cluster ${name} deleted.\n`);
  }
  if (target !== undefined && secret !== undefined) await purge({ ...removal, target }, secret, tokens, host);
  if (secret !== undefined) await deleteSecrets(removal, secret, host);
  // For the hub, Purser uses its own service account, whose permissions remain needed.
  const wasHub = cluster?.spec.authInfo?.controller?.kind === 'ServiceAccount';
  if (target === undefined && !wasHub) host.print(ACCESS_REMAINS);
}

const ACCESS_REMAINS =
  "Purser's access to the target cluster remains. If no other registration uses the cluster, remove the access (for a registration with --namespaces or --federated, add --namespaces or --user): purser print target-rbac | kubectl --context TARGET delete -f -\n";

const OMIT_TARGET = 'Omit --purge-target and --context';

/** The objects of a registration on the hub; at least one of them exists. */
interface RegistrationObjects {
  readonly cluster: Stored<Cluster> | undefined;
  readonly secret: Stored<Secret> | undefined;
}

async function findRegistration({ name, namespace, hub }: RemoveClusterOptions, options: CallOptions): Promise<RegistrationObjects> {
  return await callPeer(hub, async (client) => {
    const cluster = await findCluster(client, name, options);
    const secretName = cluster && secretNameOf(cluster);
    const secret =
      cluster === undefined ? await findSecret(client, name, namespace, options) : await readSecret(client, secretName, options);
    if (cluster === undefined && secret === undefined)
      throw new CommandError(`Cluster ${name} was not found on the hub. Check the name and the context of the hub`);
    return { cluster, secret };
  });
}

async function readSecret(client: KubeClient, name: NamespacedName | undefined, options: CallOptions): Promise<Stored<Secret> | undefined> {
  return name && (await ignoreReasons(client.get(Secrets, name, options), 'NotFound'));
}

/** Finds the credential Secret of a Cluster after an interrupted removal deleted the Cluster; undefined if there is none. */
async function findSecret(client: KubeClient, name: string, namespace: string, options: CallOptions): Promise<Stored<Secret> | undefined> {
  for await (const { items } of client.pages(Secrets, { ...options, namespace })) {
    const found = items.find((secret) => !isRenewedSecret(secret) && readClusterNames(secret).includes(name));
    if (found !== undefined) return found;
  }
  return undefined;
}

async function listTokens(hub: Peer, name: string, options: CallOptions): Promise<readonly Stored<ManagedToken>[]> {
  const tokens = await callPeer(hub, (client) => client.listAll(ManagedTokens, options));
  return tokens.filter(({ spec }) => spec.clusterName === name);
}

/**
 * Lists the ManagedTokens that lose their cluster, and asks for confirmation unless `--yes` is set. Throws a CommandError if the user does
 * not confirm, or if there is no terminal to ask on.
 */
async function confirm(
  { name, target, isConfirmed }: RemoveClusterOptions,
  tokens: readonly ManagedToken[],
  host: CommandHost,
): Promise<void> {
  if (tokens.length > 0) {
    host.warn(
      `ManagedTokens that use Cluster ${name}: ${tokens.length}. Their Secrets keep the current tokens until the tokens expire, except Secrets of ManagedTokenSets and Secrets of ManagedTokens whose only permission is an RBAC rule for a cluster set: Purser removes those.\n`,
    );
    for (const token of tokens) host.warn(`  ${objectKeyOf(token)}\n`);
  }
  if (isConfirmed) return;
  if (host.ask === undefined)
    throw new CommandError('removal requires confirmation on a terminal. Set --yes to remove without confirmation', ExitCode.wrongUse);
  const scope = target === undefined ? '' : ` and Purser's access to the target cluster, ${formatContext(target)}`;
  const answer = await host.ask(`Remove Cluster ${name}${scope}? [y/N] `);
  if (!/^y(es)?$/i.test(answer.trim())) throw new CommandError('removal was not confirmed, so nothing was removed');
}

/**
 * Throws a CommandError if Purser's access cannot be removed safely: if the context refers to the hub, if the context does not verifiably
 * refer to the registered cluster, if another registration uses the same service account, or if Purser's service account there is not the
 * one that `purser cluster add` creates.
 */
async function checkTarget(
  { name, hub, target }: RemoveClusterOptions & { readonly target: Peer },
  { secret }: RegistrationObjects,
  options: CallOptions,
): Promise<void> {
  await checkIsNotHub({ hub, target }, options);
  if (secret === undefined)
    throw new CommandError(`no credential Secret of Cluster ${name} was found, so --context cannot be verified. ${OMIT_TARGET}`);
  if (isFederated(secret)) {
    if (!isRegisteredAddress(target, secret))
      throw new CommandError(
        `the address ${target.client.transport.server} of ${formatContext(target)} is not registered for Cluster ${name}. Set --context to a context with a registered address of the Cluster`,
      );
    return;
  }
  const { namespace, name: secretName } = secret.metadata;
  const renewed = await callPeer(hub, (client) => readSecret(client, { namespace, name: toRenewedName(secretName) }, options));
  const { serviceAccount } = await findServiceAccount(
    target,
    name,
    { secretName: { namespace, name: secretName }, registered: secret, renewed },
    { ...options, remedy: OMIT_TARGET },
  );
  const described = `service account ${serviceAccount.namespace}/${serviceAccount.name}`;
  if (formatName(serviceAccount) !== formatName(SERVICE_ACCOUNT))
    throw new CommandError(
      `Cluster ${name} uses ${described}, but --purge-target deletes only ${formatName(SERVICE_ACCOUNT)}. ${OMIT_TARGET}`,
    );
  const labels = (await listAnchors(target, serviceAccount.namespace, options)).map(({ metadata }) => metadata.labels?.[Label.credential]);
  const other = labels.find((label) => label !== toCredentialLabel(secret.metadata.uid));
  if (other === undefined) return;
  const command = `kubectl ${formatContextOption(target)}-n ${serviceAccount.namespace} delete secrets -l ${Label.credential}=${other}`;
  throw new CommandError(
    `another registration uses ${described} on the target cluster. ${OMIT_TARGET} or, if that registration no longer exists, delete its anchors with ${command}`,
  );
}

/** Returns the anchors of Purser's own tokens (the Secrets that the tokens are bound to) for all registrations of the target. */
async function listAnchors(target: Peer, namespace: string, options: CallOptions): Promise<readonly Stored<Secret>[]> {
  return await callPeer(
    target,
    async (client) => (await client.list(Secrets, { ...options, namespace, labelSelector: Label.credential })).items,
  );
}

/** Removes Purser's access to the target: permissions first, so that Purser creates no more anchors; then anchors and service account. */
async function purge(
  { name, target }: RemoveClusterOptions & { readonly target: Peer },
  secret: Stored<Secret>,
  tokens: readonly Stored<ManagedToken>[],
  host: CommandHost,
): Promise<void> {
  const options = { signal: host.signal };
  const permissions = await toPermissions(secret);
  await callPeer(target, (client) => withdrawAccess(client, permissions, options));
  const own = isFederated(secret) ? [] : await listAnchors(target, SERVICE_ACCOUNT.namespace, options);
  const anchors = [
    ...own.map(({ metadata }) => ({ namespace: metadata.namespace, name: metadata.name })),
    ...tokens.flatMap((token) => selectAnchors(name, token)),
  ];
  await callPeer(target, async (client) => {
    for (const anchor of anchors) await ignoreReasons(client.delete(Secrets, anchor, options), 'NotFound');
    if (!isFederated(secret)) await ignoreReasons(client.delete(ServiceAccounts, SERVICE_ACCOUNT, options), 'NotFound');
  });
  const serviceAccount = isFederated(secret) ? '' : ', service account';
  host.print(
    `Purser's permissions${serviceAccount} and anchors (${anchors.length}) deleted from the target cluster, ${formatContext(target)}.\n`,
  );
}

/** Returns the anchors of a ManagedToken on a cluster. */
function selectAnchors(cluster: string, { metadata, status }: Stored<ManagedToken>): readonly NamespacedName[] {
  const anchors = (status?.anchors ?? []).filter((anchor) => anchor.cluster === cluster);
  return anchors.map(({ namespace }) => ({ namespace, name: toAnchorName(metadata.uid) }));
}

/** Returns Purser's permissions on a target, including those that `purser cluster add` may have created earlier with other options. */
async function toPermissions(secret: Stored<Secret>): Promise<readonly ApiObject[]> {
  const { namespace } = secret.metadata;
  const serviceAccount = decodeKey(secret, CredentialSecretKey.serviceAccount) || undefined;
  const words = decodeKey(secret, CredentialSecretKey.namespaces).split(/[\s,]+/);
  const namespaces = words.filter((word) => word !== '');
  const limited = namespaces.length === 0 ? [] : await toAccessObjects({ namespace, serviceAccount, namespaces });
  return selectPermissions(limited, await toAccessObjects({ namespace, serviceAccount, namespaces: undefined }));
}

function formatName({ namespace, name }: NamespacedName): string {
  return `${namespace}/${name}`;
}

function isFederated(secret: Secret): boolean {
  return decodeKey(secret, CredentialSecretKey.serviceAccount) !== '';
}

/**
 * Deletes the registered and the renewed Secret, unless the registered Secret also lists other Clusters. Keeps a Secret that does not list
 * the Cluster: otherwise, a user who can write Clusters could have any Secret deleted by referring to it.
 */
async function deleteSecrets({ name, hub }: RemoveClusterOptions, secret: Stored<Secret>, host: CommandHost): Promise<void> {
  const { namespace, name: secretName, uid } = secret.metadata;
  const clusters = readClusterNames(secret);
  if (!clusters.includes(name)) {
    host.warn(
      `Secret ${namespace}/${secretName} was not deleted: its cluster key does not list ${name}. If nothing uses the Secret, delete it.\n`,
    );
    return;
  }
  const others = clusters.filter((cluster) => cluster !== name);
  if (others.length > 0) {
    host.warn(
      `Secret ${namespace}/${secretName} was not deleted: its cluster key also lists ${others.join(', ')}. Remove ${name} from the key.\n`,
    );
    return;
  }
  const options = { signal: host.signal };
  await callPeer(hub, async (client) => {
    const renewed = await readSecret(client, { namespace, name: toRenewedName(secretName) }, options);
    // Purser re-creates neither Secret: it renews only credentials that a Cluster refers to.
    if (renewed !== undefined && isRenewedSecret(renewed)) {
      const { uid: renewedUID } = renewed.metadata;
      await ignoreReasons(client.delete(Secrets, { namespace, name: renewed.metadata.name }, { uid: renewedUID, ...options }), 'NotFound');
    }
    await ignoreReasons(client.delete(Secrets, { namespace, name: secretName }, { uid, ...options }), 'NotFound');
  });
  host.print(`Secret ${namespace}/${secretName} deleted.\n`);
}
