// From a registration to a target: every address, certificate and credential is checked before anything is sent.

import type { Cluster } from '../api/cluster.gen.ts';
import { FieldManager } from '../api/names.ts';
import type { Secret } from '../api/resources.ts';
import { KubeClient } from '../kube/client.ts';
import { fixed, type KubeConfigSource } from '../kube/kube-config.ts';
import { createTransport } from '../kube/transport.ts';
import type { Clock } from '../std/clock.ts';
import { caCertificates } from './certificates.ts';
import { type Credential, pinnedServers, readCredential } from './credential.ts';
import { dialPolicy } from './dial-policy.ts';
import { serversFor } from './endpoints.ts';
import { IssueError } from './issue-error.ts';
import type { ProxyPolicy } from './proxy-policy.ts';
import type { RegisteredCluster } from './registered-cluster.ts';
import { CONNECTIONS, Target, type TargetOptions } from './target.ts';

/** What holds for all targets. */
export interface TargetSettings {
  readonly clock: Clock;
  /** The address of ours by which the hub is reached: clusters may have other addresses for other parts of the network. */
  readonly ownAddress?: string | undefined;
  /** Whether clusters may be on this machine. */
  readonly allowLoopback: boolean;
  /** Which servers are reached through a proxy; none by default. */
  readonly proxyFor?: ProxyPolicy;
  /** Whether a credential may be sent to every address that is registered, if its Secret does not name any. */
  readonly allowUnpinned: boolean;
  /** Where credentials are taken from. */
  readonly credentialNamespaces: readonly string[];
  /** The one Cluster that is the hub itself, and Purser's own client and namespace there. */
  readonly hub?: { readonly clusterName: string; readonly client: KubeClient; readonly namespace: string };
}

/** The target that a registration describes; nothing is dialled yet. Throws an IssueError that says what is missing or not allowed. */
export function createTarget({ cluster, credential: secret }: RegisteredCluster, settings: TargetSettings): Target {
  const { clock } = settings;
  const hub = hubOf(cluster, settings);
  const own = hub === undefined ? {} : { ownNamespace: hub.namespace };
  const controller = cluster.spec.authInfo?.controller;
  if (controller === undefined) throw new IssueError('CredentialMissing', 'the Cluster names none');
  if (controller.kind === 'ServiceAccount') {
    if (hub === undefined) throw notTheHub(cluster);
    return new Target({ clock, servers: [hub.client.transport.server], connect: () => hub.client, isShared: true, ...own });
  }
  const referred = referredSecret(controller, secret, settings.credentialNamespaces);
  const credential = readCredential(referred);
  const servers = pinned(serversOf(cluster, settings), referred, settings);
  const caData = caOf(cluster);
  const connect: TargetOptions['connect'] = (server, purpose) =>
    connectTo(configOf(clusterOf(server, caData, settings), credential), CONNECTIONS[purpose], settings);
  return new Target({ clock, servers, connect, credential, usesSystemRoots: caData === undefined, ...own });
}

/** What is to be used of the hub; undefined if the Cluster is another one. */
export function hubOf({ metadata }: Cluster, { hub }: TargetSettings): TargetSettings['hub'] {
  return hub?.clusterName === metadata.name ? hub : undefined;
}

type NamedCluster = Parameters<typeof fixed>[0];
type Reference = NonNullable<NonNullable<Cluster['spec']['authInfo']>['controller']>;

const TIMEOUT_MS = 10_000;
const MAX_BYTES = 65_536;

function notTheHub({ metadata }: Cluster): IssueError {
  const text = 'kind ServiceAccount is for the cluster that Purser runs in, and --hub-cluster does not name this one';
  return new IssueError('CredentialMissing', `${text}. Set it to ${metadata.name}, or use kind Secret`);
}

function credentialElsewhere(namespace: string, allowed: readonly string[]): IssueError {
  const text = `credentials are read from ${allowed.join(', ')}, not from ${namespace}`;
  return new IssueError('CredentialMissing', `${text}. Move the Secret, or add its namespace to --credential-namespaces`);
}

function referredSecret({ namespace, name }: Reference, secret: Secret | undefined, allowed: readonly string[]): Secret {
  if (!allowed.includes(namespace)) throw credentialElsewhere(namespace, allowed);
  const isIt = secret?.metadata.namespace === namespace && secret.metadata.name === name;
  if (!isIt) throw new IssueError('CredentialMissing', `there is no Secret ${namespace}/${name}`);
  return secret;
}

function serversOf({ spec }: Cluster, { ownAddress }: TargetSettings): readonly string[] {
  const servers = serversFor(spec.orchestratorApiEndpoints.serverEndpoints, ownAddress);
  if (servers.length === 0) throw new IssueError('AddressRefused', 'no serverAddress is an https URL without user, query and fragment');
  return servers;
}

function pinned(servers: readonly string[], secret: Secret, { allowUnpinned }: TargetSettings): readonly string[] {
  const pins = pinnedServers(secret);
  if (pins === undefined && allowUnpinned) return servers;
  const allowed = servers.filter((server) => pins?.includes(server));
  if (allowed.length === 0) throw new IssueError('EndpointNotPinned', `the key server of the Secret does not name ${servers.join(', ')}`);
  return allowed;
}

/** As base64 of PEM; undefined for the roots that Node brings along. */
function caOf({ spec }: Cluster): string | undefined {
  const { caBundle = '' } = spec.orchestratorApiEndpoints;
  if (caBundle === '') return undefined;
  if (caCertificates(caBundle) === undefined) throw new IssueError('TLSVerifyFailed', 'caBundle is not base64 of PEM certificates alone');
  return caBundle;
}

function clusterOf(server: string, caData: string | undefined, { proxyFor }: TargetSettings): NamedCluster {
  const proxyUrl = proxyFor?.(server);
  return { name: server, server, skipTLSVerify: false, ...(caData !== undefined && { caData }), ...(proxyUrl && { proxyUrl }) };
}

function configOf(cluster: NamedCluster, credential: Credential): KubeConfigSource {
  if (credential.type === 'token') return fixed(cluster, { name: 'purser', token: credential.token.reveal() });
  const [certData, keyData] = [credential.certificate, credential.key.reveal()].map((pem) => Buffer.from(pem).toString('base64'));
  return fixed(cluster, { name: 'purser', certData: certData ?? '', keyData: keyData ?? '' });
}

function connectTo(config: KubeConfigSource, connections: number, { clock, allowLoopback }: TargetSettings): KubeClient {
  const limits = { connections, timeoutMs: TIMEOUT_MS, maxBytes: MAX_BYTES, mayDial: dialPolicy({ allowLoopback }) };
  try {
    return new KubeClient(createTransport(config, { clock, ...limits }), FieldManager);
  } catch (error) {
    // Addresses that are written out are looked at before the first dial.
    throw new IssueError('AddressRefused', error instanceof Error ? error.message : '');
  }
}
