// Purser as a process of its own, started as `npm start` starts it.

import { mkdtemp, readFile, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import { type Program, startProgram } from '../support/processes.ts';

/** A Purser that runs. */
export interface Purser {
  readonly pid: number;
  /** Resolves once it has synced and serves, with how long that took since the process began. */
  readonly ready: Promise<PurserReady>;
  /** Ends it in good order. Throws when it has ended by itself. */
  readonly stop: () => Promise<void>;
  readonly assertRunning: () => Promise<void>;
  /** Whether it is ready and leads, how much waits, and the end of its log: for whoever waits in vain. */
  readonly state: () => Promise<string>;
}

export interface PurserReady {
  readonly afterMs: number;
  readonly facade: string | undefined;
}

const READY_MS = 180_000;
const STOP_MS = 30_000;

/** Starts Purser on the hub of a kubeconfig. BENCH_NODE_OPTIONS may hold further options of Node, such as `--cpu-prof`. */
export async function startPurser(kubeconfig: string, options: readonly string[] = []): Promise<Purser> {
  const folder = await mkdtemp(join(tmpdir(), 'purser-bench-'));
  const [readyFile, logFile] = [join(folder, 'ready.json'), join(folder, 'purser.log')];
  const common = ['--allow-loopback', '--facade-port', '0', '--metrics-port', '0', '--metrics-auth', 'none', '--facade-rate', '0'];
  const env = { ...process.env, KUBECONFIG: kubeconfig, PURSER_LOG_LEVEL: 'warn' };
  const args = [...(await nodeOptions()), 'src/start.mjs', 'run', ...common, '--ready-file', readyFile, ...options];
  const startedAt = performance.now();
  const program = await startProgram(process.execPath, args, logFile, { env });
  const assertRunning = async () => {
    if (!program.isRunning()) throw new Error(`Purser ended:\n${await endOfLog(program)}`);
  };
  const ready = untilReady(program, readyFile, startedAt);
  ready.catch(() => {});
  const stop = async () => {
    await assertRunning();
    await program.stop(STOP_MS);
    await rm(folder, { recursive: true, force: true });
  };
  return { pid: program.pid, ready, stop, assertRunning, state: async () => `${await progress(readyFile)}\n${await endOfLog(program)}` };
}

/** Returns the options of Node in the start script, with those of BENCH_NODE_OPTIONS. */
async function nodeOptions(): Promise<readonly string[]> {
  const { scripts } = JSON.parse(await readFile('package.json', 'utf8')) as { readonly scripts: { readonly start: string } };
  const more = process.env['BENCH_NODE_OPTIONS']?.split(' ') ?? [];
  return [...(scripts.start.match(/--\S+/g) ?? []), ...more];
}

async function untilReady(program: Program, readyFile: string, startedAt: number): Promise<PurserReady> {
  const giveUpAt = startedAt + READY_MS;
  while (performance.now() < giveUpAt && program.isRunning()) {
    const served = await readServed(readyFile);
    if (served !== undefined) return { afterMs: performance.now() - startedAt, facade: served.facade };
    await delay(20);
  }
  throw new Error(`Purser does not get ready:\n${await endOfLog(program)}`);
}

interface Served {
  readonly facade?: string;
  readonly metrics?: string;
}

/** Undefined before it is ready. */
async function readServed(readyFile: string): Promise<Served | undefined> {
  const text = await readFile(readyFile, 'utf8').catch(() => '');
  return text === '' ? undefined : (JSON.parse(text) as Served);
}

/** By its metrics, which cost nothing until they are asked for: a log of every step would. */
async function progress(readyFile: string): Promise<string> {
  const served = await readServed(readyFile);
  if (served === undefined) return 'it is not ready';
  const answer = await fetch(`${served.metrics}/metrics`).catch(() => undefined);
  const lines = (await answer?.text())?.split('\n') ?? ['it is ready and tells no metrics'];
  return lines.filter((line) => !line.startsWith('#') && PROGRESS.test(line)).join('\n');
}

const PROGRESS = /^(it is|purser_leader|purser_workqueue_depth|purser_reconcile_total)/;

async function endOfLog(program: Program): Promise<string> {
  return (await program.output()).slice(-4_000);
}
