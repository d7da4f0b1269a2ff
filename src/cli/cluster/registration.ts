// The objects on the hub that register a target cluster: the Secret with Purser's credential, and the Cluster.

import type { Cluster, ClusterServerEndpoint } from '../../api/cluster.gen.ts';
import { CredentialSecretKey, Label, SystemAuthorities } from '../../api/names.ts';
import type { Secret } from '../../api/resources.ts';
import type { NamespacedName } from '../../kube/paths.ts';
import { type Pins, parseBundle, readClusterNames, readCredential, readPins } from '../../targets/credential.ts';
import { IssueError } from '../../targets/issue-error.ts';
import { normalizeServer } from '../../targets/policy/registration.ts';
import { CommandError } from '../command.ts';

/** The cluster to register. */
export interface TargetRegistration {
  /** Name of the Cluster. */
  readonly name: string;
  /** Purser's namespace on the hub. */
  readonly namespace: string;
  /** Address of the API server: an https URL or a host, as spelled in `--server` or in the context. */
  readonly server: string;
  /** PEM certificates of the CAs; undefined for public CAs. */
  readonly ca: string | undefined;
  /** URL of the proxy for Purser's connections to the cluster; undefined if the context has none. */
  readonly proxy: string | undefined;
  /** Namespaces of the service accounts that Purser can issue tokens for; undefined for all. */
  readonly namespaces: readonly string[] | undefined;
  readonly labels: Readonly<Record<string, string>>;
}

/** Credential in the Secret: a token, or the name of a service account on the hub. */
export type SuppliedCredential = { readonly token: string } | { readonly serviceAccount: string };

/** Placeholder for the token in dry runs. */
export const TOKEN_PLACEHOLDER = 'TOKEN';

/**
 * Returns the name of the credential Secret: the one that an existing Cluster refers to, or one derived from the Cluster's name. Throws a
 * CommandError if the existing Cluster is being deleted, does not have the address of the registration, or represents the hub.
 */
export function resolveSecretName({ name, namespace, server }: TargetRegistration, found: Cluster | undefined): NamespacedName {
  const fallback = { namespace, name: `${name}-credential` };
  if (found === undefined) return fallback;
  if (found.metadata.deletionTimestamp !== undefined)
    throw new CommandError(`Cluster ${name} is being deleted. Run the command again later`);
  const addresses = found.spec.orchestratorApiEndpoints.serverEndpoints.map(({ serverAddress }) => serverAddress);
  if (!addresses.map(normalizeServer).includes(normalizeServer(server)))
    throw nameTaken(`Cluster ${name} already exists with the address ${addresses.join(', ')}, not ${server}`, name);
  const controller = found.spec.authInfo?.controller;
  if (controller?.kind === 'ServiceAccount') throw nameTaken(`Cluster ${name} already exists and represents the hub`, name);
  return controller === undefined ? fallback : { namespace: controller.namespace, name: controller.name };
}

/**
 * Returns the registration, with the CAs of the existing Secret if they include all CAs of the registration: an administrator may have
 * added a CA for another address.
 */
export function withKeptAuthorities(registration: TargetRegistration, found: Secret | undefined): TargetRegistration {
  const { ca } = registration;
  if (ca === undefined || found === undefined) return registration;
  const { authorities } = readPinsOrNone(found);
  const wanted = parseBundle(encodeText(ca)) ?? [];
  const isCovered = authorities !== SystemAuthorities && wanted.every(({ fingerprint256 }) => authorities.has(fingerprint256));
  return isCovered ? { ...registration, ca: decodeText(found.data?.[CredentialSecretKey.authority]) } : registration;
}

/**
 * Returns the Secret to write. Throws a CommandError if the existing Secret cannot be used for this cluster, or if the result is invalid.
 */
export function toSecret(
  registration: TargetRegistration,
  secretName: NamespacedName,
  credential: SuppliedCredential,
  found?: Secret,
): Secret {
  checkSecret(registration, secretName, found);
  const { name, server, ca, proxy, namespaces } = registration;
  const kept = Object.fromEntries(Object.entries(found?.data ?? {}).filter(([key]) => KEPT_KEYS.has(key)));
  const keys = {
    ...credential,
    [CredentialSecretKey.authority]: ca ?? SystemAuthorities,
    ...(namespaces && { [CredentialSecretKey.namespaces]: namespaces.join('\n') }),
    ...(proxy !== undefined && { [CredentialSecretKey.proxy]: proxy }),
  };
  const data = { ...encode({ cluster: name, server }), ...kept, ...encode(keys) };
  const secret: Secret = { ...found, metadata: { ...found?.metadata, ...secretName }, type: 'Opaque', data };
  try {
    readCredential(secret);
    readPins(secret);
    return secret;
  } catch (error) {
    if (!(error instanceof IssueError)) throw error;
    throw new CommandError(`the registration of Cluster ${name} is not usable: ${withRemedy(error.detail, found)}`);
  }
}

/** Appends a remedy to the detail of an IssueError, unless the detail contains a remedy. */
function withRemedy(detail: string, found: Secret | undefined): string {
  if (/\. [A-Z]/.test(detail)) return detail;
  return `${detail}. Correct the options${found === undefined ? '' : ', or the keys of the existing Secret'}`;
}

/** Returns the Cluster to write: a new one, or the existing one with the CAs, the credential and the labels of the registration. */
export function toCluster({ name, server, ca, labels }: TargetRegistration, secretName: NamespacedName, found?: Cluster): Cluster {
  const { caBundle: _, ...endpoints } = found?.spec.orchestratorApiEndpoints ?? { serverEndpoints: [toEndpoint(server)] };
  const caBundle = ca === undefined ? {} : { caBundle: encodeText(ca) };
  return {
    apiVersion: 'registry.purser.dev/v1alpha1',
    kind: 'Cluster',
    ...found,
    metadata: { ...found?.metadata, name, ...withLabels(found, labels) },
    spec: {
      ...found?.spec,
      orchestratorApiEndpoints: { ...endpoints, ...caBundle },
      authInfo: { ...found?.spec.authInfo, controller: { kind: 'Secret', ...secretName } },
    },
  };
}

/** Returns whether two Secrets have the same data. */
export function isSameData(a: Secret | undefined, b: Secret): boolean {
  return encodeSorted(a?.data) === encodeSorted(b.data);
}

/** Returns whether two Clusters have the same labels, addresses, CAs and credential. */
export function isSameCluster(a: Cluster | undefined, b: Cluster): boolean {
  return a !== undefined && encodeSorted(a.metadata.labels) === encodeSorted(b.metadata.labels) && isSameSpec(a, b);
}

/** Returns whether two Clusters have the same addresses, CAs and credential. */
export function isSameSpec(a: Cluster | undefined, b: Cluster): boolean {
  return JSON.stringify(selectSpec(a)) === JSON.stringify(selectSpec(b));
}

/** Keys of an existing Secret to keep: they may list additional Clusters and addresses, or a proxy that the context does not have. */
const KEPT_KEYS: ReadonlySet<string> = new Set([CredentialSecretKey.cluster, CredentialSecretKey.server, CredentialSecretKey.proxy]);

function checkSecret({ name, server }: TargetRegistration, secretName: NamespacedName, found: Secret | undefined): void {
  if (found === undefined) return;
  const text = `Secret ${secretName.namespace}/${secretName.name}`;
  if (found.metadata.deletionTimestamp !== undefined) throw new CommandError(`${text} is being deleted. Run the command again later`);
  if (Object.hasOwn(found.metadata.labels ?? {}, Label.managedBy))
    throw new CommandError(`${text} already exists and belongs to a ManagedToken. Choose another name for the Cluster`);
  const { servers } = readPinsOrNone(found);
  if (readClusterNames(found).includes(name) && servers.includes(normalizeServer(server) ?? '')) return;
  const described = [...readClusterNames(found), ...servers].join(', ');
  const problem =
    described === '' ? 'without a credential for a cluster' : `with a credential for ${described}, not for ${name} at ${server}`;
  throw new CommandError(
    `${text} already exists ${problem}. Choose another name for the Cluster, or delete the Secret if it is not in use`,
  );
}

/** Returns the addresses and CAs that a Secret pins; none if the Secret is invalid. */
function readPinsOrNone(secret: Secret): Pick<Pins, 'servers' | 'authorities'> {
  try {
    return readPins(secret);
  } catch (error) {
    if (!(error instanceof IssueError)) throw error;
    return { servers: [], authorities: new Set() };
  }
}

function nameTaken(cause: string, name: string): CommandError {
  return new CommandError(`${cause}. Choose another name, or run purser cluster remove ${name} first`);
}

function toEndpoint(serverAddress: string): ClusterServerEndpoint {
  return { clientCIDR: '0.0.0.0/0', serverAddress };
}

function withLabels(found: Cluster | undefined, labels: Readonly<Record<string, string>>) {
  const all = { ...found?.metadata.labels, ...labels };
  return Object.keys(all).length === 0 ? {} : { labels: all };
}

function encode(keys: Readonly<Record<string, string>>): Readonly<Record<string, string>> {
  return Object.fromEntries(Object.entries(keys).map(([key, value]) => [key, encodeText(value)]));
}

function encodeText(text: string): string {
  return Buffer.from(text).toString('base64');
}

function decodeText(base64 = ''): string {
  return Buffer.from(base64, 'base64').toString('utf8');
}

function encodeSorted(fields: Readonly<Record<string, string>> = {}): string {
  return JSON.stringify(Object.entries(fields).toSorted(([a], [b]) => (a < b ? -1 : 1)));
}

function selectSpec(cluster: Cluster | undefined): unknown {
  const { caBundle, serverEndpoints = [] } = cluster?.spec.orchestratorApiEndpoints ?? {};
  const { kind, namespace, name } = cluster?.spec.authInfo?.controller ?? {};
  return [caBundle, serverEndpoints.map(({ clientCIDR, serverAddress }) => [clientCIDR, serverAddress]), kind, namespace, name];
}
