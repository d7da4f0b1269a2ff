// A local run: API servers for the hub and the targets, and Purser as a client of the hub.

import { randomBytes } from 'node:crypto';
import { startApp } from '../../src/app/app.ts';
import type { RunningProgram } from '../../src/cli/program.ts';
import { prepareReadyFile } from '../../src/cli/ready-file.ts';
import type { Config } from '../../src/config/config.ts';
import { checkCertificateFiles } from '../../src/config/preflight.ts';
import { toListenError } from '../../src/config/start-error.ts';
import { publishFacadeAccess } from '../../src/facade/access-config-map.ts';
import { hasReason } from '../../src/kubernetes/status.ts';
import { retryUntilDone } from '../../src/std/backoff.ts';
import { systemClock } from '../../src/std/clock.ts';
import type { Logger } from '../../src/telemetry/logger.ts';
import { type AccessibleServer, writeAccessFiles } from './access-files.ts';
import { type DataFolder, openDataFolder } from './data-folder.ts';
import { addHubSamples, addTargetSamples, installOnHub, registerTarget } from './seed.ts';
import { addMissingTokens, createAdminClient, HUB, type LocalServer, startServers } from './servers.ts';
import { formatWelcomeText } from './welcome.ts';

export interface LocalRunOptions {
  readonly config: Config;
  readonly log: Logger;
  /** Working directory; paths below it are printed as relative paths. */
  readonly cwd: string;
  readonly print: (text: string) => unknown;
  readonly stopped: AbortSignal;
}

/** Starts all servers and Purser, and prints the welcome text when they are ready. Stops them and throws if the start fails. */
export async function startLocalRun({ config, log, cwd, print, stopped }: LocalRunOptions): Promise<RunningProgram> {
  await using closing = new AsyncDisposableStack();
  await checkCertificateFiles(config);
  const readyFile = await prepareReadyFile(config.readyFile);
  const folder = await openDataFolder(config.dataDir);
  const isFirstRun = folder.isNew;
  const servers = await startLocalServers(folder, config, log, closing);
  stopped.throwIfAborted();
  const hub = await writeAccessFiles(folder, servers.hub);
  const targets = await Promise.all(servers.targets.map((target) => writeAccessFiles(folder, target)));
  const update = () => seed(servers, folder, config, stopped);
  await update().catch((error: unknown) => {
    // On a full disk, the writes of this start fail, but the objects of the last run are complete.
    if (isFirstRun || !hasReason(error, 'InternalError')) throw error;
    log.warn({ error }, 'local clusters not updated, retrying');
    retryUntilDone(async () => (await update(), true), { clock: systemClock, random: Math.random, signal: stopped }).catch(() => {});
  });

  const { bindAddress = LOOPBACK, metricsAuth = 'none' } = config;
  const localSettings = { allowLoopback: true, ownAddress: LOOPBACK, bindAddress, components: ALL_COMPONENTS, drainMs: DRAIN_MS };
  const settings = { ...config, ...localSettings, metricsAuth };
  const { certificate: cert, key } = servers.hub.issueServingCertificate();
  const facadeCertificate = { cert, key };
  const app = startApp({ hub: servers.hub.admin, clock: systemClock, random: Math.random, log, settings, facadeCertificate });
  closing.defer(() => app.stop());
  stopped.addEventListener('abort', () => void app.stop());
  const served = await app.ready.catch((error: unknown) => {
    throw toListenError(error, config);
  });
  await publishAccess(servers.hub, served.facade, config).catch((error: unknown) => log.warn({ error }, 'cannot publish façade address'));
  closing.defer(() => readyFile.remove());
  await readyFile.write({
    ...toSummary(hub),
    ...served,
    clusters: Object.fromEntries(targets.map((target) => [target.name, toSummary(target)])),
  });
  const addresses = {
    facade: `${served.facade}/${config.facadePath}`,
    page: config.facadeUi ? `${served.facade}/ui/` : undefined,
    metrics: `${served.metrics}/metrics`,
  };
  print(formatWelcomeText({ hub, targets, ...addresses, folder: folder.path, samples: config.samples, cwd }));
  const running = closing.move();
  return { stop: () => running.disposeAsync() };
}

interface Servers {
  readonly hub: LocalServer;
  readonly targets: readonly LocalServer[];
}

const LOOPBACK = '127.0.0.1';
/** Components of a local run: all of them, in one process. */
const ALL_COMPONENTS: Config['components'] = ['controller', 'facade'];
/** Maximum time for active requests to finish after Ctrl-C, in milliseconds. A local run stops within two seconds. */
const DRAIN_MS = 800;
/** Field manager of the objects that a local run installs. */
const LOCAL_RUN = 'purser-local-run';
/** Field manager of the samples, so that the user can change them with kubectl without conflicts. */
const KUBECTL = 'kubectl';

/** Starts the servers with the tokens of the last run, and each target on its port of the last run if that port is free. */
async function startLocalServers(folder: DataFolder, config: Config, log: Logger, closing: AsyncDisposableStack): Promise<Servers> {
  const targetNames = Array.from({ length: config.clusters }, (_, index) => `target-${index + 1}`);
  const tokens = addMissingTokens([HUB, ...targetNames], folder.state.tokens, () => randomBytes(32).toString('base64url'));
  // A saved state marks a new folder as a data folder. Another run may be using an existing folder, so its state is saved
  // only after the servers have locked the folder.
  if (folder.isNew) await folder.saveState({ tokens });
  const servers = await startServers({ folder, apiPort: config.apiPort, targets: targetNames, tokens, log, closing });
  const ports = Object.fromEntries(servers.targets.map(({ name, port }) => [name, port]));
  await folder.saveState({ tokens, ports: { ...folder.state.ports, ...ports } });
  return servers;
}

async function seed({ hub, targets }: Servers, folder: DataFolder, { samples }: Config, stopped: AbortSignal): Promise<void> {
  await using closing = new AsyncDisposableStack();
  const hubClient = createAdminClient(hub, LOCAL_RUN, closing);
  await installOnHub(hubClient, stopped);
  await Promise.all(targets.map((target) => registerTarget(hubClient, createAdminClient(target, LOCAL_RUN, closing), target)));
  stopped.throwIfAborted();
  const { sampled } = folder.state;
  const unsampled = samples ? [hub, ...targets].filter(({ name }) => !sampled.includes(name)) : [];
  await Promise.all(unsampled.map((each) => (each === hub ? addHubSamples : addTargetSamples)(createAdminClient(each, KUBECTL, closing))));
  await folder.saveState({ sampled: [...sampled, ...unsampled.map(({ name }) => name)] });
}

/** Publishes the address and the CA of the façade for Purser's commands, unless the user configured a certificate for the façade. */
async function publishAccess(hub: LocalServer, server: string | undefined, { namespace, facadePath, ...config }: Config): Promise<void> {
  if (config.facadeTlsCert !== undefined || config.facadeTlsSecret !== undefined) return;
  await using closing = new AsyncDisposableStack();
  const access = { server, path: facadePath, audiences: config.facadeAudiences };
  await publishFacadeAccess(createAdminClient(hub, LOCAL_RUN, closing), namespace, { authority: hub.ca, ...access });
}

function toSummary({ kubeconfig, ca, url, tokens }: AccessibleServer): object {
  return { kubeconfig, ca, api: url, tokens };
}
