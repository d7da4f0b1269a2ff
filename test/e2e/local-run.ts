// The command line as a separate process, such as `npm start`.

import { type ChildProcessWithoutNullStreams, spawn } from 'node:child_process';
import { once } from 'node:events';
import { readFile } from 'node:fs/promises';
import { Agent } from 'node:https';
import { join } from 'node:path';
import { text } from 'node:stream/consumers';
import { type ApiResponse, sendRequest } from '../support/api-request.ts';
import { addStaticTokens, scanForLeaks } from '../support/leaks.ts';

/** Content of the ready file of a local run. */
export interface Ready extends LocalCluster {
  readonly facade: string;
  readonly metrics: string;
  readonly clusters: Readonly<Record<string, LocalCluster>>;
}

export interface LocalCluster {
  readonly kubeconfig: string;
  readonly ca: string;
  readonly api: string;
  readonly tokens: Readonly<Record<string, string>>;
}

/** Local run that is ready. */
export interface LocalRun {
  readonly ready: Ready;
  readonly pid: number;
  /** Sends a signal, and waits for the exit. */
  end(signal: NodeJS.Signals): Promise<ExitResult>;
}

export interface ExitResult {
  readonly code: number | null;
  readonly stdout: string;
  readonly stderr: string;
  readonly tookMs: number;
}

/** Starts a local run, and waits until it is ready. Throws with its output if it exits first. */
export async function startLocalRun(folder: string, ...args: readonly string[]): Promise<LocalRun> {
  const readyFile = join(folder, 'ready.json');
  const child = launch({}, 'dev', '--data-dir', join(folder, 'data'), '--api-port', '0', '--ready-file', readyFile, ...args);
  const ended = waitForExit(child);
  const serves = new Promise<void>((resolve) => {
    // Purser prints this line when all servers are ready.
    child.stdout.on('data', (chunk: Buffer) => chunk.includes('Ctrl-C') && resolve());
  });
  const early = await Promise.race([serves, ended]);
  if (early !== undefined) throw new Error(`the local run exited with ${early.code}: ${early.stderr}`);
  const ready = JSON.parse(await readFile(readyFile, 'utf8')) as Ready;
  for (const { tokens } of [ready, ...Object.values(ready.clusters)]) addStaticTokens(Object.values(tokens));
  return {
    ready,
    pid: child.pid as number,
    end: (signal) => endBySignal(child, ended, signal),
  };
}

/** Purser on a cluster, as a separate process. */
export interface ClusterRun {
  /** Waits until the log contains a string. */
  waitForLog(text: string): Promise<void>;
  /** Sends a signal without waiting for the exit. */
  signal(signal: NodeJS.Signals): void;
  end(signal: NodeJS.Signals): Promise<ExitResult>;
}

/** Starts Purser on the cluster of a kubeconfig. */
export function startOnCluster(kubeconfig: string, ...args: readonly string[]): ClusterRun {
  const child = launch({ KUBECONFIG: kubeconfig }, 'run', ...args);
  const ended = waitForExit(child);
  let log = '';
  child.stderr.on('data', (chunk: Buffer) => (log += chunk.toString()));
  return {
    waitForLog: async (wanted) => {
      while (!log.includes(wanted)) {
        const early = await Promise.race([once(child.stderr, 'data').then(() => undefined), ended]);
        if (early !== undefined) throw new Error(`Purser exited with ${early.code}: ${early.stderr}`);
      }
    },
    signal: (signal) => void child.kill(signal),
    end: (signal) => endBySignal(child, ended, signal),
  };
}

/** Runs a command line, and waits for its exit. */
export async function runToExit(args: readonly string[], env: Env = {}): Promise<ExitResult> {
  return await waitForExit(launch(env, ...args));
}

/** Sends a request, such as `GET /readyz`, as a user of a cluster. */
export async function send(cluster: LocalCluster, user: string, line: string, body?: unknown): Promise<ApiResponse> {
  const [method = '', path = ''] = line.split(' ');
  const agent = new Agent({ ca: await readFile(cluster.ca) });
  try {
    const headers = { authorization: `Bearer ${cluster.tokens[user]}`, ...(body !== undefined && { 'content-type': 'application/json' }) };
    const request = { headers, ...(body !== undefined && { body: JSON.stringify(body) }) };
    return await sendRequest({ url: cluster.api, agent }, method, path, request);
  } finally {
    agent.destroy();
  }
}

type Env = Readonly<Record<string, string>>;

/** Free ports, so that several runs do not conflict. */
const ANY_PORTS = { PURSER_FACADE_PORT: '0', PURSER_METRICS_PORT: '0' };

const START = join(import.meta.dirname, '../../bin/purser.cjs');

function launch(env: Env, ...args: readonly string[]): ChildProcessWithoutNullStreams {
  const { NODE_OPTIONS: _, ...inherited } = process.env;
  return spawn(process.execPath, [START, ...args], { env: { ...inherited, ...ANY_PORTS, ...env } });
}

async function endBySignal(child: ChildProcessWithoutNullStreams, ended: Promise<ExitResult>, signal: NodeJS.Signals): Promise<ExitResult> {
  const sentAt = performance.now();
  child.kill(signal);
  return { ...(await ended), tookMs: performance.now() - sentAt };
}

async function waitForExit(child: ChildProcessWithoutNullStreams): Promise<ExitResult> {
  const startedAt = performance.now();
  const [[code], stdout, stderr] = await Promise.all([once(child, 'exit'), text(child.stdout), text(child.stderr)]);
  scanForLeaks(`${stdout}${stderr}`, `output of ${child.spawnargs.join(' ')}`);
  return { code: code as number | null, stdout, stderr, tookMs: performance.now() - startedAt };
}
