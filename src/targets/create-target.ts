// From a registration to a target: every address, certificate and credential is checked before anything is sent.

import type { Cluster } from '../api/cluster.gen.ts';
import { FieldManager } from '../api/names.ts';
import type { Secret } from '../api/resources.ts';
import { KubeClient } from '../kube/client.ts';
import { fixed, type KubeConfigSource } from '../kube/kube-config.ts';
import { createTransport } from '../kube/transport.ts';
import type { Clock } from '../std/clock.ts';
import { type Credential, readCredential, readPins } from './credential.ts';
import { dialPolicy } from './dial-policy.ts';
import { HubIdentity, type HubSettings, hubEndpoints, isHubAddress } from './hub.ts';
import { IssueError } from './issue-error.ts';
import { pinnedEndpoints } from './pinned-endpoints.ts';
import type { ProxyPolicy } from './proxy-policy.ts';
import { isManaged, type RegisteredCluster } from './registered-cluster.ts';
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
  /** Where credentials are taken from. */
  readonly credentialNamespaces: readonly string[];
  /** The hub; undefined in tests that have none. */
  readonly hub?: HubSettings;
}

/** The target that a registration describes; nothing is dialled yet. Throws an IssueError that says what is missing or not allowed. */
export function createTarget({ cluster, credential: secret }: RegisteredCluster, settings: TargetSettings): Target {
  const { clock } = settings;
  const controller = cluster.spec.authInfo?.controller;
  if (controller === undefined) throw new IssueError('CredentialMissing', 'the Cluster names none');
  if (controller.kind === 'ServiceAccount') return hubTarget(cluster, settings);
  const referred = referredSecret(controller, secret, settings.credentialNamespaces);
  const credential = readCredential(referred);
  const pins = readPins(referred);
  const endpoints = pinnedEndpoints(cluster, pins, settings.ownAddress);
  const { servers, caBundle } = endpoints;
  const connect: TargetOptions['connect'] = (server, purpose) =>
    connectTo(configOf(clusterOf(server, caBundle, settings), credential), CONNECTIONS[purpose], settings);
  return new Target({
    clock,
    servers,
    connect,
    credential,
    endpoints: () => endpoints,
    namespaces: pins.namespaces,
    usesSystemRoots: caBundle === undefined,
    ...(settings.hub && { hub: new HubIdentity(settings.hub, isNamedHub(cluster, settings) || isHubAddress(settings.hub, servers)) }),
  });
}

/** Whether a Cluster is the one that --hub-cluster names. */
export function isNamedHub({ metadata }: Cluster, { hub }: TargetSettings): boolean {
  return hub !== undefined && hub.clusterName !== undefined && hub.clusterName === metadata.name;
}

type NamedCluster = Parameters<typeof fixed>[0];
type Reference = NonNullable<NonNullable<Cluster['spec']['authInfo']>['controller']>;

const TIMEOUT_MS = 10_000;
const MAX_BYTES = 65_536;

/** Uses the client that Purser has for the hub anyway: the addresses of the Cluster are published, never dialled. */
function hubTarget(cluster: Cluster, settings: TargetSettings): Target {
  const { clock, hub } = settings;
  if (hub === undefined || !isNamedHub(cluster, settings)) throw notTheHub(cluster);
  return new Target({
    clock,
    servers: [hub.client.transport.server],
    connect: () => hub.client,
    isShared: true,
    endpoints: () => hubEndpoints(hub),
    hub: new HubIdentity(hub, true),
  });
}

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
  if (isManaged(secret)) throw new IssueError('CredentialMissing', `the Secret ${namespace}/${name} belongs to a ManagedToken`);
  return secret;
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
