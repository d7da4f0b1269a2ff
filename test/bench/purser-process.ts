// Purser as a separate process, with the Node.js options of `npm start` and the image.

import { mkdtemp, readFile, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import { type Program, startProgram } from '../support/processes.ts';

/** Running process of Purser. */
export interface Purser {
  readonly pid: number;
  /** Resolves when Purser has synced and serves, with the time since its start. */
  readonly ready: Promise<PurserReady>;
  /** Stops the process cleanly. Throws if it has exited by itself. */
  readonly stop: () => Promise<void>;
  readonly assertRunning: () => Promise<void>;
  /** Returns readiness, leadership, queue depth and the end of the log, for error messages. */
  readonly state: () => Promise<string>;
}

export interface PurserReady {
  readonly afterMs: number;
  readonly facade: string | undefined;
  /** URL of the metrics server. */
  readonly metrics: string | undefined;
}

const READY_MS = 180_000;
const STOP_MS = 30_000;

/**
 * Starts Purser on the hub of a kubeconfig: the compiled program, as in the image, if BENCH_PROGRAM contains its path, otherwise the sources.
 * BENCH_NODE_OPTIONS may contain additional Node.js options, such as `--cpu-prof`.
 */
export async function startPurser(kubeconfig: string, options: readonly string[] = []): Promise<Purser> {
  const folder = await mkdtemp(join(tmpdir(), 'purser-bench-'));
  const [readyFile, logFile] = [join(folder, 'ready.json'), join(folder, 'purser.log')];
  const common = ['--allow-loopback', '--facade-port', '0', '--metrics-port', '0', '--metrics-auth', 'none', '--facade-rate', '0'];
  const env = { ...process.env, KUBECONFIG: kubeconfig, PURSER_LOG_LEVEL: 'warn' };
  const args = [
    ...(await nodeOptions()),
    process.env['BENCH_PROGRAM'] ?? 'bin/purser.cjs',
    'run',
    ...common,
    '--ready-file',
    readyFile,
    ...options,
  ];
  const startedAt = performance.now();
  const program = await startProgram(process.execPath, args, logFile, { env });
  const assertRunning = async () => {
    if (!program.isRunning()) throw new Error(`Purser exited:\n${await readLogEnd(program)}`);
  };
  const ready = waitUntilReady(program, readyFile, startedAt);
  ready.catch(() => {});
  const stop = async () => {
    await assertRunning();
    await program.stop(STOP_MS);
    await rm(folder, { recursive: true, force: true });
  };
  return {
    pid: program.pid,
    ready,
    stop,
    assertRunning,
    state: async () => `${await readProgress(readyFile)}\n${await readLogEnd(program)}`,
  };
}

/** Returns the Node.js options of the start script, with those of BENCH_NODE_OPTIONS. */
export async function nodeOptions(): Promise<readonly string[]> {
  const { scripts } = JSON.parse(await readFile('package.json', 'utf8')) as { readonly scripts: { readonly start: string } };
  const more = process.env['BENCH_NODE_OPTIONS']?.split(' ') ?? [];
  return [...(scripts.start.match(/--\S+/g) ?? []), ...more];
}

async function waitUntilReady(program: Program, readyFile: string, startedAt: number): Promise<PurserReady> {
  const giveUpAt = startedAt + READY_MS;
  while (performance.now() < giveUpAt && program.isRunning()) {
    const served = await readAddresses(readyFile);
    if (served !== undefined) return { afterMs: performance.now() - startedAt, facade: served.facade, metrics: served.metrics };
    await delay(20);
  }
  throw new Error(`Purser is not ready:\n${await readLogEnd(program)}`);
}

type Addresses = Pick<PurserReady, 'facade' | 'metrics'>;

/** Returns the addresses in the ready file, or undefined before Purser is ready. */
async function readAddresses(readyFile: string): Promise<Addresses | undefined> {
  const text = await readFile(readyFile, 'utf8').catch(() => '');
  return text === '' ? undefined : (JSON.parse(text) as Addresses);
}

/** Reads the progress from metrics, which cost nothing until they are scraped. */
async function readProgress(readyFile: string): Promise<string> {
  const served = await readAddresses(readyFile);
  if (served === undefined) return 'Purser is not ready';
  // Metrics that are not sent within ten seconds end early.
  const text = await fetch(`${served.metrics}/metrics`)
    .then((response) => response.text())
    .catch(() => 'Purser is ready but does not serve metrics');
  const lines = text.split('\n');
  return lines.filter((line) => !line.startsWith('#') && PROGRESS.test(line)).join('\n');
}

const PROGRESS = /^(Purser is|purser_leader|purser_workqueue_depth|purser_reconcile_total)/;

async function readLogEnd(program: Program): Promise<string> {
  return (await program.output()).slice(-4_000);
}
