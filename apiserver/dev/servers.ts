// The API servers of a local run: the hub and the target clusters.

import { DefaultNamespace, FederatedServiceAccount, OwnAudiencePrefix } from '../../src/api/names.ts';
import { isListenError, StartError, toListenError } from '../../src/config/start-error.ts';
import { KubeClient } from '../../src/kube/client.ts';
import { createFixedConfig, type KubeConfigSource } from '../../src/kube/kube-config.ts';
import { createTransport } from '../../src/kube/transport.ts';
import { systemClock } from '../../src/std/clock.ts';
import type { Logger } from '../../src/telemetry/logger.ts';
import type { TrustedIssuer } from '../access/trusted-issuer.ts';
import type { User } from '../access/user.ts';
import { type ApiServer, startApiServer } from '../server.ts';
import { DataFolderError } from '../storage/journal.ts';
import type { DataFolder } from './data-folder.ts';

/** A running API server with the credentials of its users. */
export interface LocalServer {
  readonly name: string;
  readonly url: string;
  readonly port: number;
  /** The certificate authority, as PEM. */
  readonly ca: string;
  readonly tokens: Tokens;
  /** Kubeconfig of the administrator. */
  readonly admin: KubeConfigSource;
  /** Issues a serving certificate for another server on this machine. */
  readonly issueServingCertificate: ApiServer['issueServingCertificate'];
}

export interface ServersOptions {
  readonly folder: DataFolder;
  readonly apiPort: number;
  readonly targets: readonly string[];
  /** Users' tokens, by server. */
  readonly tokens: Readonly<Record<string, Tokens>>;
  readonly log: Logger;
  /** Stack that closes the servers. */
  readonly closing: AsyncDisposableStack;
}

/** Starts the hub and all targets. Throws a StartError for a port or a folder that cannot be used. */
export async function startServers(options: ServersOptions): Promise<{ hub: LocalServer; targets: readonly LocalServer[] }> {
  const starting = startServer(HUB, options);
  const trusts = toTrustedIssuer(starting);
  const attempts = await Promise.allSettled([
    starting,
    ...options.targets.map((name) => startServer(name, isFederated(name) ? { ...options, trusts } : options)),
  ]);
  const started = attempts.filter((attempt) => attempt.status === 'fulfilled').map(({ value }) => value);
  // Servers close in parallel: each waits for its active requests.
  options.closing.defer(async () => void (await Promise.all(started.map(({ close }) => close()))));
  const failed = attempts.find((attempt) => attempt.status === 'rejected');
  if (failed !== undefined) throw toStartError(failed.reason, options.apiPort);
  const [hub, ...targets] = started.map(({ server }) => server);
  if (hub === undefined) throw new Error('the hub was not started');
  return { hub, targets };
}

/** Creates a client for the administrator of a server; `manager` is the field manager. */
export function createAdminClient(server: LocalServer, manager: string, closing: AsyncDisposableStack): KubeClient {
  const transport = createTransport(server.admin, { clock: systemClock });
  closing.defer(() => transport.close());
  return new KubeClient(transport, manager);
}

/** Issuer and audience of every target, and the audience of the sample tokens. */
const ISSUER = 'https://kubernetes.default.svc';

/** Issuer of the hub. It differs from the targets' issuer: an API server rejects its own issuer as a trusted one. */
const HUB_ISSUER = 'https://hub.local';

/** User name on the hub of the service account whose tokens Purser sends to the target that trusts the hub. */
const FEDERATED_SUBJECT = `system:serviceaccount:${DefaultNamespace}:${FederatedServiceAccount}`;
/** User name of Purser on the target that trusts the hub. */
export const FEDERATED_USER = `hub:${FEDERATED_SUBJECT}`;

/** Returns true for the target that trusts the hub; the hub stores no token for that target. */
export function isFederated(target: string): boolean {
  return target === 'target-2';
}

interface Started {
  readonly server: LocalServer;
  readonly close: () => Promise<void>;
}

/** Returns the issuer configuration of a target that trusts the hub. The hub may still be starting. */
function toTrustedIssuer(hub: Promise<Started>): TrustedIssuer {
  return {
    url: HUB_ISSUER,
    discovery: async () => {
      const { server } = await hub;
      return { url: `${server.url}/.well-known/openid-configuration`, ca: server.ca };
    },
    audiences: (url) => [`${OwnAudiencePrefix}${url}`],
    subject: FEDERATED_SUBJECT,
    usernamePrefix: 'hub:',
  };
}

interface ServerOptions extends ServersOptions {
  /** Issuer whose tokens the server accepts in addition to its own. */
  readonly trusts?: TrustedIssuer;
}

async function startServer(name: string, options: ServerOptions): Promise<Started> {
  const tokens = options.tokens[name] ?? {};
  const server = name === HUB ? await listenOn(options.apiPort, name, options) : await listenOnLastPort(name, options);
  const { url, port, ca, issueServingCertificate } = server;
  const cluster = { name, server: url, caData: Buffer.from(ca).toString('base64'), skipTLSVerify: false };
  const admin = createFixedConfig(cluster, { name: 'admin', token: tokens['admin'] ?? '' });
  return { server: { name, url, port, ca, tokens, admin, issueServingCertificate }, close: () => server.close() };
}

/** Listens on the port of the last run, or on any free port if there is no such port or it cannot be used. */
async function listenOnLastPort(name: string, options: ServerOptions): Promise<ApiServer> {
  try {
    return await listenOn(options.folder.state.ports[name] ?? 0, name, options);
  } catch (error) {
    if (!isListenError(error)) throw error;
    return await listenOn(0, name, options);
  }
}

function listenOn(port: number, name: string, { folder, tokens, log, trusts }: ServerOptions): Promise<ApiServer> {
  const report = (error: unknown) => log.error({ server: name, error }, 'unexpected error in local API server');
  const issuer = name === HUB ? HUB_ISSUER : ISSUER;
  return startApiServer({ folder: folder.pathOf(name), port, issuer, tokens: toUsersByToken(tokens[name] ?? {}), trusts, report });
}

/** Returns a StartError for errors that the user can correct, and any other error unchanged. */
function toStartError(error: unknown, apiPort: number): unknown {
  if (error instanceof DataFolderError) return new StartError(`${error.message} (see --data-dir)`, { cause: error });
  return toListenError(error, { apiPort, facadePort: 0, metricsPort: 0 });
}

/** Tokens by user. */
export type Tokens = Readonly<Record<string, string>>;

/** Name of the hub's server. */
export const HUB = 'hub';

/** Returns the known tokens, with a new token for each user of `servers` who has none. */
export function addMissingTokens(
  servers: readonly string[],
  known: Readonly<Record<string, Tokens>>,
  newToken: () => string,
): Readonly<Record<string, Tokens>> {
  const tokens = servers.map((server) => {
    const users = Object.keys(server === HUB ? HUB_USERS : TARGET_USERS);
    return [server, Object.fromEntries(users.map((user) => [user, known[server]?.[user] ?? newToken()]))] as const;
  });
  return { ...known, ...Object.fromEntries(tokens) };
}

/** Returns the users of a server by their tokens. */
export function toUsersByToken(tokens: Tokens): ReadonlyMap<string, User> {
  return new Map(Object.entries(tokens).map(([name, token]) => [token, { name, groups: HUB_USERS[name] ?? [] }]));
}

/** Groups by user of the hub. Without further bindings, alice and bob have only the permissions of every authenticated user. */
const HUB_USERS: Readonly<Record<string, readonly string[]>> = { admin: ['system:masters'], alice: [], bob: [] };
const TARGET_USERS = { admin: HUB_USERS['admin'] };
