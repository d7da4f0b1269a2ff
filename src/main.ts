// The process of Purser on a cluster: the one that KUBECONFIG names, or the one that its pod runs in.

import { type App, startApp } from './app/app.ts';
import { printedText } from './cli/print.ts';
import { type Running, runProgram } from './cli/program.ts';
import { prepareReadyFile } from './cli/ready-file.ts';
import { checkCertificateFiles } from './config/certificate-files.ts';
import { type Config, parseConfig } from './config/config.ts';
import { checkEnvironment } from './config/environment.ts';
import { helpText } from './config/help.ts';
import { explainedPort } from './config/ports.ts';
import { StartError } from './config/start-error.ts';
import { inClusterConfig, loadKubeConfig } from './kube/kube-config.ts';
import { ownAddressTowards } from './kube/own-address.ts';
import { systemClock } from './std/clock.ts';
import { versionText } from './telemetry/build.ts';
import { createLogger, type Logger } from './telemetry/logger.ts';

/** Below the 35 seconds that the Deployment leaves it. */
const STOP_MS = 25_000;
const DRAIN_MS = 20_000;

async function start(stopped: AbortSignal): Promise<Running | undefined> {
  const args = process.argv.slice(2);
  const printed = await printedText(args);
  if (printed !== undefined) {
    process.stdout.write(printed);
    return undefined;
  }
  const config = parseConfig(args, process.env);
  if (config.help) {
    process.stdout.write(helpText(config.command));
    return undefined;
  }
  if (config.version) {
    process.stdout.write(versionText());
    return undefined;
  }
  if (config.command === 'dev') throw new StartError('the local run is not part of this program; npm start -- dev starts it');
  checkEnvironment(process.env);
  const log = createLogger({
    level: config.logLevel ?? 'info',
    readable: process.stderr.isTTY,
    write: (line) => process.stderr.write(line),
  });
  if (config.localOnly.length > 0) log.warn({ options: config.localOnly }, 'options without effect: Purser runs on a cluster');
  if (config.unknownVariables.length > 0)
    log.warn({ variables: config.unknownVariables }, 'variables without effect: there are no such options');
  await checkCertificateFiles(config);
  const readyFile = await prepareReadyFile(config.readyFile);
  const app = await startOnCluster(config, log);
  stopped.addEventListener('abort', () => void app.stop());
  log.info({ hub: app.server }, 'Purser starts');
  const served = await app.ready.catch((error: unknown) => {
    throw explainedPort(error, config);
  });
  await readyFile.write({ ...(config.kubeConfig !== undefined && { kubeconfig: config.kubeConfig }), api: app.server, ...served });
  return {
    stop: async () => {
      await app.stop();
      await readyFile.remove();
    },
  };
}

async function startOnCluster(config: Config, log: Logger): Promise<App> {
  const { kubeConfig } = config;
  try {
    const hub = kubeConfig === undefined ? inClusterConfig(process.env) : await loadKubeConfig(kubeConfig);
    const ownAddress = await ownAddressTowards(hub.getCurrentCluster()?.server ?? '');
    const { metricsAuth = 'token' } = config;
    const settings = { ...config, metricsAuth, ownAddress, drainMs: DRAIN_MS, memoryBytes: process.constrainedMemory() || undefined };
    return startApp({ hub, clock: systemClock, random: Math.random, log, execEnv: process.env, settings, onDefect: fatal(log) });
  } catch (cause) {
    const where = kubeConfig === undefined ? 'there is no cluster to run on' : `KUBECONFIG=${kubeConfig} cannot be used`;
    throw new StartError(`${where}: ${(cause as Error).message}`, { cause });
  }
}

/** Kubernetes starts another process in the place of one that cannot go on. */
function fatal(log: Logger): (error: unknown) => void {
  return (error) => {
    log.fatal({ error }, 'a defect of Purser ended its work');
    process.exit(1);
  };
}

await runProgram({ host: process, clock: systemClock, patienceMs: STOP_MS }, start);
