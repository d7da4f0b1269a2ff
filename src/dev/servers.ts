// The API servers of a local run: the hub, and those that play target clusters.

import { type ApiServer, startApiServer } from '../apiserver/server.ts';
import { DataFolderError } from '../apiserver/storage/journal.ts';
import { StartError } from '../config.ts';
import { KubeClient } from '../kube/client.ts';
import { fixed, type KubeConfigSource } from '../kube/kube-config.ts';
import { createTransport } from '../kube/transport.ts';
import { systemClock } from '../std/clock.ts';
import type { Logger } from '../telemetry/logger.ts';
import type { DataFolder } from './data-folder.ts';
import { HUB, type Tokens, usersByToken } from './users.ts';

/** An API server that serves, and how its administrator reaches it. */
export interface LocalServer {
  readonly name: string;
  readonly url: string;
  readonly port: number;
  /** The certificate authority, as PEM. */
  readonly ca: string;
  readonly tokens: Tokens;
  readonly admin: KubeConfigSource;
}

export interface ServersOptions {
  readonly folder: DataFolder;
  readonly apiPort: number;
  readonly targets: readonly string[];
  readonly log: Logger;
  /** Takes what must be closed in the end. */
  readonly closing: AsyncDisposableStack;
}

/** Starts the hub and all targets. Throws a StartError for a port or a folder that cannot be used. */
export async function startServers(options: ServersOptions): Promise<{ hub: LocalServer; targets: readonly LocalServer[] }> {
  const servers = await Promise.allSettled([HUB, ...options.targets].map((name) => startServer(name, options)));
  const started = servers.filter((server) => server.status === 'fulfilled').map(({ value }) => value);
  // All at once: each may take a moment to let its requests finish.
  options.closing.defer(async () => void (await Promise.all(started.map(({ close }) => close()))));
  const failed = servers.find((server) => server.status === 'rejected');
  if (failed !== undefined) throw failed.reason;
  const [hub, ...targets] = started.map(({ server }) => server);
  if (hub === undefined) throw new Error('there is no hub');
  return { hub, targets };
}

/** Makes a client for a server's administrator, whose fields are owned by `manager`. */
export function adminClient(server: LocalServer, manager: string, closing: AsyncDisposableStack): KubeClient {
  const transport = createTransport(server.admin, { clock: systemClock });
  closing.defer(() => transport.close());
  return new KubeClient(transport, manager);
}

/** The audience of the samples: their tokens are accepted by the cluster that they are for. */
const ISSUER = 'https://kubernetes.default.svc';

async function startServer(name: string, options: ServersOptions): Promise<{ server: LocalServer; close: () => Promise<void> }> {
  const tokens = options.folder.memory.tokens[name] ?? {};
  const server = await (name === HUB ? listenOn(options.apiPort, name, options) : listenAgain(name, options));
  const { url, port, ca } = server;
  const cluster = { name, server: url, caData: Buffer.from(ca).toString('base64'), skipTLSVerify: false };
  const admin = fixed(cluster, { name: 'admin', token: tokens['admin'] ?? '' });
  return { server: { name, url, port, ca, tokens, admin }, close: () => server.close() };
}

/** A target keeps its port from run to run, as long as nobody else takes it. */
async function listenAgain(name: string, options: ServersOptions): Promise<ApiServer> {
  try {
    return await listenOn(options.folder.memory.ports[name] ?? 0, name, options);
  } catch (error) {
    if (!isPortError(error)) throw error;
    return await listenOn(0, name, options);
  }
}

async function listenOn(port: number, name: string, { folder, log }: ServersOptions): Promise<ApiServer> {
  const report = (error: unknown) => log.error({ server: name, error }, 'an API server met an error that it did not expect');
  try {
    return await startApiServer({
      folder: folder.file(name),
      port,
      issuer: ISSUER,
      tokens: usersByToken(folder.memory.tokens[name] ?? {}),
      report,
    });
  } catch (error) {
    if (error instanceof DataFolderError)
      throw new StartError(`${error.message} (--data-dir DIR chooses another folder)`, { cause: error });
    if (isPortError(error)) throw new PortError(port, error);
    throw error;
  }
}

class PortError extends StartError {
  constructor(port: number, cause: NodeJS.ErrnoException) {
    const why = cause.code === 'EADDRINUSE' ? 'is taken' : `cannot be used (${cause.message})`;
    super(`port ${port} ${why}; choose another one with --api-port PORT, or --api-port 0 for any that is free`, { cause });
  }
}

function isPortError(error: unknown): error is NodeJS.ErrnoException {
  if (error instanceof PortError) return true;
  return (
    error instanceof Error &&
    'code' in error &&
    ['EADDRINUSE', 'EACCES'].includes(String(error.code)) &&
    'syscall' in error &&
    error.syscall === 'listen'
  );
}
