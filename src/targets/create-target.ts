// Creates a target from a registration. Checks every address, certificate and credential before the first request.

import type { Cluster } from '../api/cluster.gen.ts';
import { FieldManager, RecordKeySecret, SystemAuthorities } from '../api/names.ts';
import type { Secret, Stored } from '../api/resources.ts';
import { KubeClient } from '../kube/client.ts';
import { createFixedConfig, type KubeConfigSource } from '../kube/kube-config.ts';
import { createTransport, type TransportOptions } from '../kube/transport.ts';
import type { Clock } from '../std/clock.ts';
import { omitUndefined } from '../std/omit-undefined.ts';
import {
  type Pins,
  parseBundle,
  readClusterNames,
  readCredentialInUse,
  readPins,
  type ServiceAccountCredential,
  type StoredCredential,
  type TargetCredential,
} from './credential.ts';
import { createDialPolicy, type ProxyPolicy } from './dial-policy.ts';
import { orderServers, type PinnedEndpoints } from './endpoints.ts';
import type { FederatedAddresses } from './federated-addresses.ts';
import { HubIdentity, type HubSettings, isHubAddress, toHubEndpoints } from './hub.ts';
import type { HubTokens } from './hub-tokens.ts';
import { IssueError } from './issue-error.ts';
import { normalizeServer } from './policy/registration.ts';
import { isRenewedSecret } from './policy/renewed-secret.ts';
import { isManaged, type RegisteredCluster } from './registry.ts';
import { type ClientPurpose, MAX_CONNECTIONS, Target, type TargetOptions } from './target.ts';

/** Settings of all targets. */
export interface TargetSettings {
  readonly clock: Clock;
  /** Purser's own IP address, which determines the order of a cluster's addresses by clientCIDR; undefined if unknown. */
  readonly ownAddress?: string | undefined;
  /** True to allow connections to loopback addresses, for clusters on the machine that Purser runs on. */
  readonly allowLoopback: boolean;
  /** Proxies by server, for credentials that name no proxy; none by default. */
  readonly proxyFor?: ProxyPolicy;
  /** Namespaces of credential Secrets. */
  readonly credentialNamespaces: readonly string[];
  /** The hub; undefined in tests without a hub. */
  readonly hub?: HubSettings;
  /** Addresses of all Secrets that name a service account on the hub; undefined in tests without stores. */
  readonly federatedAddresses?: FederatedAddresses;
}

/** Settings of all targets, and the tokens that the hub issues for them. */
export interface TargetContext extends TargetSettings {
  /** Tokens issued by the hub; undefined if there is no hub. */
  readonly hubTokens?: HubTokens | undefined;
}

/**
 * Creates the target without connecting; `override` replaces the credential in use. Throws an IssueError that names the missing or
 * rejected part.
 */
export function createTarget(
  { cluster, credential: secret, renewed }: RegisteredCluster,
  settings: TargetContext,
  override?: StoredCredential,
): Target {
  const { clock } = settings;
  const controller = cluster.spec.authInfo?.controller;
  if (controller === undefined)
    throw new IssueError('CredentialMissing', 'the Cluster has no spec.authInfo.controller. Set it to the credential Secret');
  if (controller.kind === 'ServiceAccount') return createHubTarget(cluster, settings);
  const referred = findReferredSecret(cluster, controller, secret, settings.credentialNamespaces);
  const pins = readPins(referred);
  const endpoints = toPinnedEndpoints(cluster, pins, settings.ownAddress);
  const found = override ?? readCredentialInUse(referred, renewed);
  const credential = found.type === 'serviceAccount' ? toFederatedCredential(found, referred, settings) : found;
  const { servers, caBundle } = endpoints;
  const { proxy } = pins;
  const proxyFor = proxy === undefined ? settings.proxyFor : () => proxy.reveal();
  const connect: TargetOptions['connect'] = (server, purpose, connections) =>
    createClient(toConfig(toNamedCluster(server, caBundle, proxyFor), credential), {
      ...toTransportOptions(purpose, pins, settings),
      ...toBearerOptions(server, credential),
      ...connections,
    });
  const { hub } = settings;
  return new Target(
    omitUndefined({
      clock,
      servers,
      connect,
      credential,
      endpoints: () => endpoints,
      namespaces: pins.namespaces,
      usesSystemRoots: caBundle === undefined,
      hub: hub && new HubIdentity(hub, isNamedHub(cluster, settings) || isHubAddress(hub, servers)),
    }),
  );
}

/** Returns whether --hub-cluster names this Cluster. */
export function isNamedHub({ metadata }: Cluster, { hub }: TargetSettings): boolean {
  return hub !== undefined && hub.clusterName !== undefined && hub.clusterName === metadata.name;
}

type NamedCluster = Parameters<typeof createFixedConfig>[0];
type Reference = NonNullable<NonNullable<Cluster['spec']['authInfo']>['controller']>;

const TIMEOUT_MS = 10_000;
const MAX_BYTES = 65_536;

/**
 * Creates the target of the hub, with Purser's own client. Purser never connects to the addresses of this Cluster, and writes the address
 * of its own client to Secrets.
 */
function createHubTarget(cluster: Cluster, settings: TargetSettings): Target {
  const { clock, hub } = settings;
  if (hub === undefined || !isNamedHub(cluster, settings)) throw notHubCluster(cluster);
  return new Target({
    clock,
    servers: [hub.client.transport.server],
    connect: () => hub.client,
    isShared: true,
    endpoints: () => toHubEndpoints(hub),
    hub: new HubIdentity(hub, true),
  });
}

function notHubCluster({ metadata }: Cluster): IssueError {
  const text = 'spec.authInfo.controller.kind can be ServiceAccount only in the Cluster that --hub-cluster names';
  return new IssueError(
    'CredentialMissing',
    `${text}. Set spec.authInfo.controller.kind to Secret or, if ${metadata.name} represents the hub, set --hub-cluster to ${metadata.name}`,
  );
}

function credentialElsewhere(namespace: string, allowed: readonly string[]): IssueError {
  const text = `Purser reads credential Secrets only in the namespace ${allowed.join(' or ')}, not in ${namespace}`;
  return new IssueError(
    'CredentialMissing',
    `${text}. Move the Secret and change spec.authInfo.controller, or add its namespace to --credential-namespaces`,
  );
}

/**
 * Returns the Secret that a Cluster refers to. Throws the same IssueError for a Secret that does not exist and for one that does not name
 * the Cluster, before it reads anything else from the Secret: a user who can change the reference of one Cluster must not learn about other
 * Secrets.
 */
function findReferredSecret(
  cluster: Stored<Cluster>,
  { namespace, name }: Reference,
  secret: Stored<Secret> | undefined,
  allowed: readonly string[],
): Stored<Secret> {
  if (!allowed.includes(namespace)) throw credentialElsewhere(namespace, allowed);
  const key = `Secret ${namespace}/${name}`;
  if (name === RecordKeySecret.name)
    throw new IssueError('CredentialMissing', `${key} is reserved for Purser's record key. Set spec.authInfo.controller to another Secret`);
  if (isRenewedSecret({ metadata: { namespace, name } })) throw renewedReference(key);
  const isReferred = secret?.metadata.namespace === namespace && secret.metadata.name === name;
  if (!isReferred || !readClusterNames(secret).includes(cluster.metadata.name))
    throw new IssueError('CredentialNotForCluster', `${key} was not found, or its cluster key does not list ${cluster.metadata.name}`);
  if (isManaged(secret))
    throw new IssueError('CredentialMissing', `${key} belongs to a ManagedToken. Set spec.authInfo.controller to another Secret`);
  if (isRenewedSecret(secret)) throw renewedReference(key);
  return secret;
}

function renewedReference(key: string): IssueError {
  return new IssueError(
    'CredentialMissing',
    `${key} is reserved for a renewed token. Set spec.authInfo.controller to the registered Secret`,
  );
}

/**
 * Returns the endpoints of a Cluster for a client at `ownAddress`. Throws an IssueError unless the pins cover every address and every
 * certificate: users who can write Clusters could otherwise direct the credential, and tokens issued with it, to another server.
 */
function toPinnedEndpoints(cluster: Cluster, pins: Pins, ownAddress: string | undefined): PinnedEndpoints {
  const { serverEndpoints, caBundle = '' } = cluster.spec.orchestratorApiEndpoints;
  checkPinned(
    serverEndpoints.map(({ serverAddress }) => serverAddress),
    pins.servers,
  );
  return { servers: orderServers(serverEndpoints, ownAddress), caBundle: toPinnedBundle(caBundle, pins.authorities) };
}

const LASTING_FAILURE = { isLasting: true } as const;

function checkPinned(addresses: readonly string[], pinned: readonly string[]): void {
  if (addresses.length === 0) throw new IssueError('AddressNotAllowed', 'the Cluster has no serverEndpoints', LASTING_FAILURE);
  const servers = addresses.map(normalizeServer);
  const invalid = servers.indexOf(undefined);
  if (invalid !== -1) {
    const form = 'an https URL without user, query or fragment, or a host with an optional port';
    const cause = `serverEndpoints[${invalid}].serverAddress must be ${form}, and the host and the port must be valid`;
    throw new IssueError('AddressNotAllowed', cause, LASTING_FAILURE);
  }
  const others = servers.filter((server) => server !== undefined && !pinned.includes(server));
  if (others.length > 0) throw new IssueError('EndpointNotPinned', `the server key of the Secret does not list ${others.join(', ')}`);
}

function toPinnedBundle(caBundle: string, authorities: Pins['authorities']): string | undefined {
  if (caBundle === '') {
    if (authorities === SystemAuthorities) return undefined;
    throw new IssueError('CANotPinned', `the Cluster has no caBundle, and ca.crt of the Secret is not the word ${SystemAuthorities}`);
  }
  const certificates = parseBundle(caBundle);
  if (certificates === undefined)
    throw new IssueError('TLSVerifyFailed', 'caBundle must contain only PEM certificates, encoded as base64', LASTING_FAILURE);
  const isPinned = (fingerprint: string) => authorities !== SystemAuthorities && authorities.has(fingerprint);
  const other = certificates.find(({ fingerprint256 }) => !isPinned(fingerprint256));
  if (other !== undefined)
    throw new IssueError('CANotPinned', `ca.crt of the Secret lacks the certificate with the SHA-256 fingerprint ${other.fingerprint256}`);
  // Re-encodes the certificates to drop any text between them, which another parser might read differently.
  return Buffer.from(certificates.map(String).join('')).toString('base64');
}

/**
 * Returns a credential with the tokens for a service account, one for each address. Throws an IssueError if another Secret names one of the
 * addresses, or if the Secret is outside Purser's namespace: users who write Secrets in other namespaces could otherwise use any service
 * account that a cluster accepts.
 */
function toFederatedCredential(
  { name, audiences }: ServiceAccountCredential,
  secret: Stored<Secret>,
  { hub, hubTokens, federatedAddresses }: TargetContext,
): TargetCredential {
  const { metadata } = secret;
  if (hub === undefined || hubTokens === undefined || metadata.namespace !== hub.namespace)
    throw new IssueError(
      'CredentialMissing',
      `the serviceAccount key is allowed only in Secrets in Purser's namespace, not in ${metadata.namespace}. Move the Secret and change spec.authInfo.controller`,
    );
  if (federatedAddresses?.hasConflict(secret)) throw new IssueError('EndpointConflict');
  const tokens = [...audiences].map(([server, audience]) => [server, hubTokens.token({ serviceAccount: name, audience })] as const);
  return { type: 'serviceAccount', tokens: new Map(tokens) };
}

function toBearerOptions(server: string, credential: TargetCredential): Pick<TransportOptions, 'bearer'> {
  const bearer = credential.type === 'serviceAccount' ? credential.tokens.get(server) : undefined;
  return bearer === undefined ? {} : { bearer };
}

function toNamedCluster(server: string, caData: string | undefined, proxyFor: ProxyPolicy | undefined): NamedCluster {
  const proxyUrl = proxyFor?.(server);
  return omitUndefined({ name: server, server, skipTLSVerify: false, caData, proxyUrl: proxyUrl || undefined });
}

function toConfig(cluster: NamedCluster, credential: TargetCredential): KubeConfigSource {
  if (credential.type === 'serviceAccount') return createFixedConfig(cluster, { name: 'purser' });
  if (credential.type === 'token') return createFixedConfig(cluster, { name: 'purser', token: credential.token.reveal() });
  return createFixedConfig(cluster, {
    name: 'purser',
    certData: encodeBase64(credential.certificate),
    keyData: encodeBase64(credential.key.reveal()),
  });
}

function encodeBase64(text: string): string {
  return Buffer.from(text).toString('base64');
}

function toTransportOptions(purpose: ClientPurpose, { proxy }: Pins, { clock, allowLoopback }: TargetSettings): TransportOptions {
  const mayDial = createDialPolicy({ allowLoopback });
  // A proxy from the environment is not restricted: the administrator chooses it, and it may run in the same Pod.
  const mayDialProxy = proxy && mayDial;
  return omitUndefined({ clock, connections: MAX_CONNECTIONS[purpose], timeoutMs: TIMEOUT_MS, maxBytes: MAX_BYTES, mayDial, mayDialProxy });
}

function createClient(config: KubeConfigSource, options: TransportOptions): KubeClient {
  try {
    return new KubeClient(createTransport(config, options), FieldManager);
  } catch (error) {
    // `createTransport` checks literal IP addresses before the first connection.
    throw new IssueError('AddressNotAllowed', error instanceof Error ? error.message : '');
  }
}
