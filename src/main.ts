// Entry point of Purser on a cluster: the cluster that KUBECONFIG selects, or the cluster of the pod.

import { type App, startApp } from './app/app.ts';
import { runClusterCommand } from './cli/cluster.ts';
import { printManifests } from './cli/print.ts';
import { type Running, runProgram } from './cli/program.ts';
import { prepareReadyFile } from './cli/ready-file.ts';
import { type Config, parseConfig } from './config/config.ts';
import { helpText } from './config/help.ts';
import { checkCertificateFiles, checkEnvironment } from './config/preflight.ts';
import { StartError, toListenError } from './config/start-error.ts';
import { localAddressFor } from './kube/addresses.ts';
import { inClusterConfig, loadKubeConfig } from './kube/kube-config.ts';
import { systemClock } from './std/clock.ts';
import { defined } from './std/defined.ts';
import { versionText } from './telemetry/build.ts';
import { createLogger, type Logger } from './telemetry/logger.ts';

/** Shorter than the Deployment's termination grace period of 35 seconds. */
const STOP_MS = 25_000;
const DRAIN_MS = 20_000;

async function start(stopped: AbortSignal): Promise<Running | undefined> {
  const args = process.argv.slice(2);
  if (await runCommand(args, stopped)) return undefined;
  const config = parseConfig(args, process.env);
  if (config.help) {
    process.stdout.write(helpText(config.command));
    return undefined;
  }
  if (config.version) {
    process.stdout.write(versionText());
    return undefined;
  }
  if (config.command !== 'run')
    throw new StartError('to run Purser on a cluster, use purser run; for a local run, use npm start in a checkout');
  checkEnvironment(process.env);
  const log = createLogger({
    level: config.logLevel ?? 'info',
    readable: process.stderr.isTTY,
    write: (line) => process.stderr.write(line),
  });
  if (config.localOnly.length > 0) log.warn({ options: config.localOnly }, 'ignoring options of the local run');
  if (config.unknownVariables.length > 0) log.warn({ variables: config.unknownVariables }, 'ignoring unknown environment variables');
  await checkCertificateFiles(config);
  const readyFile = await prepareReadyFile(config.readyFile);
  const app = await startOnCluster(config, log);
  stopped.addEventListener('abort', () => void app.stop());
  log.info({ hub: app.server }, 'starting');
  const served = await app.ready.catch((error: unknown) => {
    throw toListenError(error, config);
  });
  await readyFile.write({ ...defined({ kubeconfig: config.kubeConfig }), api: app.server, ...served });
  return {
    stop: async () => {
      await app.stop();
      await readyFile.remove();
    },
  };
}

/** Runs a command other than `run`; returns false without one. */
async function runCommand(args: readonly string[], stopped: AbortSignal): Promise<boolean> {
  const manifests = await printManifests(args);
  if (manifests !== undefined) process.stdout.write(manifests);
  const code = await runClusterCommand(args, {
    clock: systemClock,
    env: process.env,
    print: (text) => process.stdout.write(text),
    warn: (text) => process.stderr.write(text),
    signal: stopped,
  });
  if (code !== undefined) process.exitCode = code;
  return manifests !== undefined || code !== undefined;
}

async function startOnCluster(config: Config, log: Logger): Promise<App> {
  const { kubeConfig } = config;
  try {
    const hub = kubeConfig === undefined ? inClusterConfig(process.env) : await loadKubeConfig(kubeConfig);
    const ownAddress = await localAddressFor(hub.getCurrentCluster()?.server ?? '');
    const { metricsAuth = 'token' } = config;
    const settings = { ...config, metricsAuth, ownAddress, drainMs: DRAIN_MS, memoryBytes: process.constrainedMemory() || undefined };
    return startApp({ hub, clock: systemClock, random: Math.random, log, execEnv: process.env, settings, onDefect: fatal(log) });
  } catch (cause) {
    const problem = kubeConfig === undefined ? 'no cluster to run on' : `cannot use KUBECONFIG=${kubeConfig}`;
    throw new StartError(`${problem}: ${(cause as Error).message}`, { cause });
  }
}

/** Exits after an unrecoverable error; Kubernetes restarts the process. */
function fatal(log: Logger): (error: unknown) => void {
  return (error) => {
    log.fatal({ error }, 'controllers failed');
    process.exit(1);
  };
}

await runProgram({ host: process, clock: systemClock, stopMs: STOP_MS }, start);
