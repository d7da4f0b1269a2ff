// Programs that tests run. They end with the test process, even if it is killed: a guardian process for each program reads from a pipe
// of the test process, and kills the program when the pipe closes.

import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { existsSync, readFileSync } from 'node:fs';
import { open, readFile } from 'node:fs/promises';
import { scanForLeaks } from './leaks.ts';

/** A running program. */
export interface Program {
  readonly pid: number;
  /** Resolves when the program has exited. */
  readonly ended: Promise<void>;
  readonly isRunning: () => boolean;
  readonly signal: (signal: NodeJS.Signals) => void;
  /** Sends SIGTERM, and SIGKILL after `graceMs`. */
  readonly stop: (graceMs?: number) => Promise<void>;
  /** Returns the output so far. */
  readonly output: () => Promise<string>;
}

/** Optional settings of a program. */
export interface ProgramOptions {
  readonly env?: NodeJS.ProcessEnv;
  readonly cwd?: string;
}

/** Starts a program with its output in `logFile`. */
export async function startProgram(path: string, args: readonly string[], logFile: string, options: ProgramOptions = {}): Promise<Program> {
  const log = await open(logFile, 'a');
  const child = spawn(path, args, { ...options, stdio: ['ignore', log.fd, log.fd] });
  const { promise: ended, resolve } = Promise.withResolvers<void>();
  child.once('exit', () => {
    if (existsSync(logFile)) scanForLeaks(readFileSync(logFile, 'utf8'), `output of ${path}`);
    resolve();
  });
  try {
    await once(child, 'spawn');
  } finally {
    await log.close();
  }
  const pid = child.pid as number;
  const dismiss = runOnExit('kill -9 "$1"', String(pid));
  void ended.then(dismiss);
  return {
    pid,
    ended,
    isRunning: () => isRunning(child),
    signal: (signal) => void child.kill(signal),
    stop: (graceMs = 10_000) => stop(child, ended, graceMs),
    output: () => readFile(logFile, 'utf8'),
  };
}

/** Removes a folder if the test process ends without removing the folder. Returns a function that cancels the removal. */
export function removeOnExit(folder: string): () => void {
  // Programs that write to the folder are killed at the same time.
  return runOnExit('sleep 1; rm -rf "$1"', folder);
}

function runOnExit(command: string, argument: string): () => void {
  endWithJest();
  // Ctrl-C reaches the whole process group; the guardian must survive it to see the pipe close.
  const script = `trap '' INT TERM HUP; read -r nothing; ${command}`;
  const guardian = spawn('/bin/sh', ['-c', script, 'guardian', argument], { stdio: ['pipe', 'ignore', 'ignore'] });
  guardian.unref();
  return () => {
    guardian.kill('SIGKILL');
    guardian.stdin.destroy();
  };
}

let isWatched = false;

/** Ends this Jest worker with Jest itself: a worker otherwise survives until its test file is done. */
function endWithJest(): void {
  if (isWatched || !process.connected) return;
  isWatched = true;
  const script = 'while kill -0 "$1" && kill -0 "$2"; do sleep 1; done; kill -9 "$2"';
  spawn('/bin/sh', ['-c', script, 'guardian', String(process.ppid), String(process.pid)], { stdio: 'ignore' }).unref();
}

function isRunning(child: ChildProcess): boolean {
  return child.exitCode === null && child.signalCode === null;
}

async function stop(child: ChildProcess, ended: Promise<void>, graceMs: number): Promise<void> {
  if (!isRunning(child)) return;
  child.kill('SIGTERM');
  // A paused process handles SIGTERM only after SIGCONT.
  child.kill('SIGCONT');
  const killTimer = setTimeout(() => child.kill('SIGKILL'), graceMs);
  await ended;
  clearTimeout(killTimer);
}
