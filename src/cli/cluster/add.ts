// `purser cluster add`: registers a target cluster on the hub. Every step can be repeated: a second run completes an interrupted one.

import type { Cluster } from '../../api/cluster.gen.ts';
import { ClusterConditionType, CredentialSecretKey } from '../../api/names.ts';
import {
  type ApiObject,
  ClusterRoleBindings,
  Clusters,
  Namespaces,
  type Resource,
  type Secret,
  Secrets,
  type Stored,
} from '../../api/resources.ts';
import type { CallOptions, KubeClient } from '../../kube/client.ts';
import { applyMissing, parseManifests } from '../../kube/manifests.ts';
import type { NamespacedName } from '../../kube/paths.ts';
import { hasReason, ignoreReasons } from '../../kubernetes/status.ts';
import { CommandError, type CommandHost } from '../command.ts';
import { renderHubAccess } from '../manifests.ts';
import { formatDocument } from '../output.ts';
import { formatContextOption } from '../quote-shell.ts';
import { grantAccess, toAccessObjects } from './access.ts';
import { decodeKey, findCluster, issueBootstrapToken, SERVICE_ACCOUNT } from './credential.ts';
import { callPeer, formatContext, type Peer } from './peer.ts';
import { outdatedVersionOf, waitUntilReady } from './readiness.ts';
import {
  isSameCluster,
  isSameData,
  isSameSpec,
  resolveSecretName,
  type SuppliedCredential,
  type TargetRegistration,
  TOKEN_PLACEHOLDER,
  toCluster,
  toSecret,
  withKeptAuthorities,
} from './registration.ts';

export interface AddClusterOptions {
  readonly hub: Peer;
  readonly target: Peer;
  readonly registration: TargetRegistration;
  /** Name of the hub's service account that the target trusts; undefined if Purser uses a service account on the target. */
  readonly serviceAccount: string | undefined;
  /** Maximum time to wait until the Cluster is Ready, in milliseconds; 0 to return immediately. */
  readonly timeoutMs: number;
}

/**
 * Registers the cluster. Throws a CommandError if the target is the hub, if existing objects prevent the registration, if a request fails,
 * or if the Cluster is not Ready within the timeout.
 */
export async function addCluster(addition: AddClusterOptions, host: CommandHost): Promise<void> {
  const { hub, registration, timeoutMs } = addition;
  const { name } = registration;
  const options = { signal: host.signal };
  await checkIsNotHub(addition, options);
  const found = await prepare(addition, options);
  await grant(addition, host);
  const credential = await resolveCredential(addition, found, host);
  const outdated = await register(addition, found, credential, host);
  if (addition.serviceAccount !== undefined && !isAuthorized(found.cluster)) host.print(await renderTrustNote(addition, options));
  if (timeoutMs === 0) return;
  await waitUntilReady(hub, { name, outdated, timeoutMs }, host);
  host.print(`Cluster ${name} is Ready: Purser can issue tokens for this cluster.\n`);
}

/** Objects of a registration, grouped by the cluster on which they are created. */
interface Objects {
  readonly target: readonly ApiObject[];
  readonly hub: readonly ApiObject[];
}

/** Prints the objects of a new registration, with a placeholder for the token. Sends no requests. */
export async function printObjects(
  addition: Pick<AddClusterOptions, 'registration' | 'serviceAccount'>,
  output: 'json' | 'yaml',
  host: CommandHost,
): Promise<void> {
  const { target, hub } = await toRegistrationObjects(addition);
  const toList = (items: readonly ApiObject[]) => ({ apiVersion: 'v1', kind: 'List', items });
  if (output === 'json') return host.print(formatDocument({ target: toList(target), hub: toList(hub) }, output));
  const toDocuments = (objects: readonly ApiObject[]) => objects.map((object) => formatDocument(object, output)).join('---\n');
  host.print(`# Target cluster\n${toDocuments(target)}---\n# Hub\n${toDocuments(hub)}`);
}

async function toRegistrationObjects({
  registration,
  serviceAccount,
}: Pick<AddClusterOptions, 'registration' | 'serviceAccount'>): Promise<Objects> {
  const secretName = resolveSecretName(registration, undefined);
  const credential = serviceAccount === undefined ? { token: TOKEN_PLACEHOLDER } : { serviceAccount };
  const { data = {}, ...secret } = toSecret(registration, secretName, credential);
  const stringData = Object.fromEntries(Object.keys(data).map((key) => [key, decodeKey({ metadata: secret.metadata, data }, key)]));
  return {
    target: await toAccessObjects({ ...registration, serviceAccount }),
    hub: [
      ...(await toHubObjects(registration, serviceAccount)),
      { apiVersion: 'v1', kind: Secrets.kind, ...secret, stringData } as ApiObject,
      toCluster(registration, secretName),
    ],
  };
}

/** The Cluster and the Secret of a registration as they exist on the hub; undefined for an object that does not exist. */
interface ExistingObjects {
  readonly cluster: Stored<Cluster> | undefined;
  readonly secret: Stored<Secret> | undefined;
  readonly secretName: NamespacedName;
}

/**
 * Throws a CommandError if both contexts refer to the same cluster: the service account that Purser runs as on the hub must not also be
 * Purser's service account on a target.
 */
export async function checkIsNotHub({ hub, target }: Pick<AddClusterOptions, 'hub' | 'target'>, options: CallOptions): Promise<void> {
  const readUID = async (client: KubeClient) =>
    (await ignoreReasons(client.get(Namespaces, { name: 'kube-system' }, options), 'Forbidden', 'NotFound'))?.metadata.uid;
  const [hubUID, targetUID] = [await callPeer(hub, readUID), await callPeer(target, readUID)];
  const isSame = hubUID === undefined ? hub.client.transport.server === target.client.transport.server : hubUID === targetUID;
  if (isSame)
    throw new CommandError(
      `${formatContext(target)} and ${formatContext(hub)} refer to the same cluster. Choose the context of the target cluster with --context (for a Cluster that represents the hub, see docs/operating.md)`,
    );
}

/**
 * Reads the existing objects, and sends the writes of the Secret and the Cluster as dry runs, so that a missing permission or an invalid
 * object is found before the target changes.
 */
async function prepare(addition: AddClusterOptions, options: CallOptions): Promise<ExistingObjects> {
  const { hub, serviceAccount } = addition;
  const credential = serviceAccount === undefined ? { token: TOKEN_PLACEHOLDER } : { serviceAccount };
  return await retryConflicts(hub, async (client) => {
    const found = await readExisting(client, addition, options);
    const { secret, cluster } = toObjects(addition, found, credential);
    await client.dryRun(Secrets, secret, options);
    if (!isSameCluster(found.cluster, cluster)) await client.dryRun(Clusters, cluster, options);
    return found;
  });
}

async function readExisting(client: KubeClient, { registration }: AddClusterOptions, options: CallOptions): Promise<ExistingObjects> {
  const cluster = await findCluster(client, registration.name, options);
  const secretName = resolveSecretName(registration, cluster);
  const secret = await ignoreReasons(client.get(Secrets, secretName, options), 'NotFound');
  return { cluster, secret, secretName };
}

/** Repeats a read and the write that follows it if the write conflicts: Purser may update the Cluster's status in between. */
async function retryConflicts<T>(hub: Peer, send: (client: KubeClient) => Promise<T>): Promise<T> {
  return await callPeer(hub, async (client) => {
    for (let attempt = 1; ; attempt++)
      try {
        return await send(client);
      } catch (error) {
        if (attempt === MAX_ATTEMPTS || !hasReason(error, 'Conflict')) throw error;
      }
  });
}

const MAX_ATTEMPTS = 5;

/** Applies Purser's permissions on the target and, for federation, on the hub. */
async function grant({ hub, target, registration, serviceAccount }: AddClusterOptions, host: CommandHost): Promise<void> {
  const options = { signal: host.signal };
  const objects = await toAccessObjects({ ...registration, serviceAccount });
  await callPeer(target, (client) => grantAccess(client, objects, options));
  host.print(`Purser's permissions applied to the target cluster, ${formatContext(target)}.\n`);
  if (registration.namespaces !== undefined && serviceAccount === undefined) await warnOfWideBinding(target, host);
  if (serviceAccount === undefined) return;
  const onHub = await toHubObjects(registration, serviceAccount);
  await callPeer(hub, (client) => applyMissing(client, onHub, options));
}

async function warnOfWideBinding(target: Peer, host: CommandHost): Promise<void> {
  const { name, namespace } = SERVICE_ACCOUNT;
  const { signal } = host;
  const find = (client: KubeClient) => ignoreReasons(client.get(ClusterRoleBindings, { name }, { signal }), 'NotFound', 'Forbidden');
  const isOwn = (subject: { readonly kind: string; readonly name: string; readonly namespace?: string }) =>
    subject.kind === 'ServiceAccount' && subject.name === name && subject.namespace === namespace;
  if ((await callPeer(target, find))?.subjects?.some(isOwn) !== true) return;
  host.warn(
    `warning: ClusterRoleBinding ${name} on the target cluster still grants Purser access to all namespaces. To limit Purser, run kubectl ${formatContextOption(target)}delete clusterrolebinding ${name}\n`,
  );
}

/**
 * Returns the credential for the Secret: the service account for federation, the existing token if the Cluster's Authorized condition is
 * True, or else a new one-hour token.
 */
async function resolveCredential(
  { target, serviceAccount }: AddClusterOptions,
  { cluster, secret }: ExistingObjects,
  host: CommandHost,
): Promise<SuppliedCredential> {
  if (serviceAccount !== undefined) return { serviceAccount };
  const existing = decodeKey(secret, CredentialSecretKey.token);
  if (existing !== '' && isAuthorized(cluster)) return { token: existing };
  return { token: await issueBootstrapToken(target, SERVICE_ACCOUNT, host) };
}

function isAuthorized(cluster: Cluster | undefined): boolean {
  return cluster?.status?.conditions?.some(({ type, status }) => type === ClusterConditionType.authorized && status === 'True') === true;
}

/**
 * Writes the Secret, then the Cluster, if they differ from the objects on the hub: Purser needs the Secret as soon as the Cluster exists.
 * Returns the resourceVersion of the Cluster if its conditions are older than the change, and undefined otherwise.
 */
async function register(
  addition: AddClusterOptions,
  found: ExistingObjects,
  credential: SuppliedCredential,
  host: CommandHost,
): Promise<string | undefined> {
  const { hub, registration } = addition;
  const options = { signal: host.signal };
  const { namespace, name } = found.secretName;
  const { secret } = toObjects(addition, found, credential);
  const isSecretSame = isSameData(found.secret, secret);
  if (!isSecretSame) await callPeer(hub, (client) => write(client, Secrets, { object: secret, found: found.secret }, options));
  host.print(`Secret ${namespace}/${name} ${describeOutcome(found.secret, isSecretSame)}.\n`);
  const { stored, isSame, isSpecSame } = await retryConflicts(hub, async (client) => {
    const latest = { ...(found.cluster === undefined ? found : await readExisting(client, addition, options)), secret: found.secret };
    const { cluster } = toObjects(addition, latest, credential);
    if (isSameCluster(latest.cluster, cluster)) return { stored: found.cluster, isSame: true, isSpecSame: true };
    const written = await write(client, Clusters, { object: cluster, found: latest.cluster }, options);
    return { stored: written, isSame: false, isSpecSame: isSameSpec(latest.cluster, cluster) };
  });
  host.print(`Cluster ${registration.name} ${describeOutcome(found.cluster, isSame)}.\n`);
  const isOutdated = !isSecretSame || !isSpecSame;
  return isOutdated && stored !== undefined ? outdatedVersionOf(stored) : undefined;
}

function toObjects({ registration }: AddClusterOptions, { cluster, secret, secretName }: ExistingObjects, credential: SuppliedCredential) {
  const kept = withKeptAuthorities(registration, secret);
  return { secret: toSecret(kept, secretName, credential, secret), cluster: toCluster(kept, secretName, cluster) };
}

/** Creates an object, or replaces the version that was read. Throws a StatusError if another client created or changed the object since. */
async function write<T extends ApiObject>(
  client: KubeClient,
  resource: Resource<T>,
  { object, found }: { readonly object: T; readonly found: Stored<T> | undefined },
  options: CallOptions,
): Promise<Stored<T>> {
  return found === undefined ? await client.create(resource, object, options) : await client.update(resource, object, options);
}

function describeOutcome(found: unknown, isSame: boolean): string {
  if (found === undefined) return 'created';
  return isSame ? 'unchanged' : 'updated';
}

async function toHubObjects({ namespace }: TargetRegistration, serviceAccount: string | undefined): Promise<readonly ApiObject[]> {
  return serviceAccount === undefined ? [] : parseManifests(await renderHubAccess({ serviceAccount: [serviceAccount], namespace }));
}

/** Returns instructions to make the target trust the hub. */
async function renderTrustNote({ hub, target, registration, serviceAccount }: AddClusterOptions, options: CallOptions): Promise<string> {
  const { issuer = '' } = await callPeer(hub, (client) => readJson(client, ISSUER_PATH, options));
  const { gitVersion = '' } = await callPeer(target, (client) => readJson(client, '/version', options));
  const version = /^v?(\d+\.\d+)/.exec(gitVersion)?.[1];
  const isKnown = ISSUER.test(issuer);
  const words = [
    `purser print authentication-config --issuer ${isKnown ? issuer : 'ISSUER'} --server ${registration.server}`,
    `--service-account ${serviceAccount} --namespace ${registration.namespace}`,
    ...(version === undefined ? [] : [`--kubernetes-version ${version}`]),
  ];
  const notes = [
    ...(isKnown
      ? []
      : [
          `Replace ISSUER with the issuer of the hub: the field issuer in the output of kubectl ${formatContextOption(hub)}get --raw ${ISSUER_PATH}, which requires permission to get this path.`,
        ]),
    ...(version === undefined ? ['If the target cluster is older than Kubernetes 1.34, add --kubernetes-version with its version.'] : []),
  ];
  return `To make the target cluster trust the hub, configure its API server with the output of:
  ${words.join(' ')}
${notes.map((note) => `${note}\n`).join('')}If a private CA signed the certificate of the issuer, add --ca FILE with the CA certificate.
`;
}

const ISSUER_PATH = '/.well-known/openid-configuration';
/** Matches an issuer's URL that is safe to print as part of a shell command. */
const ISSUER = /^https:\/\/[\w.~:/%[\]-]+$/;

/** Returns an object of strings; empty if the caller may not read the path, or if the response is not JSON. */
async function readJson(client: KubeClient, path: string, options: CallOptions): Promise<Readonly<Record<string, string | undefined>>> {
  const text = (await ignoreReasons(client.getText(path, options), 'Forbidden', 'NotFound')) ?? '';
  try {
    return { ...(JSON.parse(text) as Readonly<Record<string, string>> | null) };
  } catch {
    return {};
  }
}
