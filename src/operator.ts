// `purser run`: runs the operator. The hub is the cluster that KUBECONFIG selects or, without KUBECONFIG, the cluster of the pod.

import { type App, startApp } from './app/app.ts';
import { type RunningProgram, runProgram } from './cli/program.ts';
import { prepareReadyFile } from './cli/ready-file.ts';
import type { Config } from './config/config.ts';
import { checkCertificateFiles, checkEnvironment } from './config/preflight.ts';
import { StartError, toListenError } from './config/start-error.ts';
import { findLocalAddress } from './kube/addresses.ts';
import { createInClusterConfig, loadKubeConfig } from './kube/kube-config.ts';
import { systemClock } from './std/clock.ts';
import { omitUndefined } from './std/omit-undefined.ts';
import { createLogger, type Logger } from './telemetry/logger.ts';

/** Maximum time for the shutdown, in milliseconds. The Deployment's grace period leaves 35 seconds after the preStop hook. */
const STOP_MS = 30_000;
/** Maximum time for running reconciles to finish at shutdown, in milliseconds. */
const DRAIN_MS = 20_000;

/** Runs the operator until a signal arrives, then exits the process. */
export async function runOperator(config: Config): Promise<void> {
  await runProgram({ host: process, clock: systemClock, stopMs: STOP_MS }, (stopped) => start(config, stopped));
}

async function start(config: Config, stopped: AbortSignal): Promise<RunningProgram> {
  checkEnvironment(process.env);
  const log = createLogger({
    level: config.logLevel ?? 'info',
    readable: process.stderr.isTTY,
    write: (line) => process.stderr.write(line),
  });
  if (config.localOnly.length > 0) log.warn({ options: config.localOnly }, 'ignoring options that apply only to a local run');
  if (config.unknownVariables.length > 0) log.warn({ variables: config.unknownVariables }, 'ignoring unknown environment variables');
  await checkCertificateFiles(config);
  const readyFile = await prepareReadyFile(config.readyFile);
  const app = await startOnCluster(config, log);
  stopped.addEventListener('abort', () => void app.stop());
  log.info({ hub: app.server }, 'starting');
  const served = await app.ready.catch((error: unknown) => {
    throw toListenError(error, config);
  });
  await readyFile.write({ ...omitUndefined({ kubeconfig: config.kubeConfig }), api: app.server, ...served });
  return {
    stop: async () => {
      await readyFile.remove().catch((error: unknown) => log.warn({ error }, 'cannot remove the ready file'));
      await app.stop();
    },
  };
}

async function startOnCluster(config: Config, log: Logger): Promise<App> {
  const { kubeConfig } = config;
  try {
    const hub = kubeConfig === undefined ? createInClusterConfig(process.env) : await loadKubeConfig(kubeConfig);
    const ownAddress = await findLocalAddress(hub.getCurrentCluster()?.server ?? '');
    const { metricsAuth = 'token' } = config;
    const settings = { ...config, metricsAuth, ownAddress, drainMs: DRAIN_MS, memoryBytes: process.constrainedMemory() || undefined };
    return startApp({
      hub,
      clock: systemClock,
      random: Math.random,
      log,
      execEnv: process.env,
      settings,
      onDefect: createDefectHandler(log),
    });
  } catch (cause) {
    const [problem, remedy] =
      kubeConfig === undefined
        ? ['no hub is configured', 'Set KUBECONFIG, or run Purser in a pod']
        : [`cannot use KUBECONFIG=${kubeConfig}`, 'Correct the file or KUBECONFIG'];
    throw new StartError(`${problem}: ${(cause as Error).message}. ${remedy}`, { cause });
  }
}

/** Returns a function that logs a defect of the controllers and exits, so that Kubernetes restarts the process. */
function createDefectHandler(log: Logger): (error: unknown) => void {
  return (error) => {
    log.fatal({ error }, 'controllers failed');
    process.exit(1);
  };
}
