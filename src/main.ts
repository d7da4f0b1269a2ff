// The process of Purser on a cluster: the one that KUBECONFIG names, or the one that its pod runs in.

import { type App, startApp } from './app.ts';
import { type Config, helpText, parseConfig, StartError } from './config.ts';
import { inClusterConfig, loadKubeConfig } from './kube/kube-config.ts';
import { type Running, runProgram } from './program.ts';
import { prepareReadyFile } from './ready-file.ts';
import { systemClock } from './std/clock.ts';
import { createLogger, type Logger } from './telemetry/logger.ts';

const STOP_MS = 1_800;

async function start(stopped: AbortSignal): Promise<Running | undefined> {
  const config = parseConfig(process.argv.slice(2), process.env);
  if (config.help) {
    process.stdout.write(helpText());
    return undefined;
  }
  const log = createLogger({
    level: config.logLevel ?? 'info',
    readable: process.stderr.isTTY,
    write: (line) => process.stderr.write(line),
  });
  if (config.localOnly.length > 0) log.warn({ options: config.localOnly }, 'options without effect: Purser runs on a cluster');
  const readyFile = await prepareReadyFile(config.readyFile);
  const app = await startOnCluster(config, log);
  stopped.addEventListener('abort', () => void app.stop());
  log.info({ hub: app.server }, 'Purser starts');
  await app.ready;
  await readyFile.write({ ...(config.kubeConfig !== undefined && { kubeconfig: config.kubeConfig }), api: app.server });
  return {
    stop: async () => {
      await app.stop();
      await readyFile.remove();
    },
  };
}

async function startOnCluster({ kubeConfig }: Config, log: Logger): Promise<App> {
  try {
    const hub = kubeConfig === undefined ? inClusterConfig(process.env) : await loadKubeConfig(kubeConfig);
    return startApp({ hub, clock: systemClock, random: Math.random, log, execEnv: process.env });
  } catch (cause) {
    const where = kubeConfig === undefined ? 'there is no cluster to run on' : `KUBECONFIG=${kubeConfig} cannot be used`;
    throw new StartError(`${where}: ${(cause as Error).message}`, { cause });
  }
}

await runProgram({ host: process, clock: systemClock, patienceMs: STOP_MS }, start);
