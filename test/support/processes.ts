// Programs that tests run. They end with the test process, however that one ends: a guardian beside each program reads
// from a pipe that we hold, and kills the program when the pipe closes.

import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { existsSync, readFileSync } from 'node:fs';
import { open, readFile } from 'node:fs/promises';
import { scanForLeaks } from './leaks.ts';

/** A running program. */
export interface Program {
  readonly pid: number;
  /** Resolves once the program has ended, for whatever reason. */
  readonly ended: Promise<void>;
  readonly isRunning: () => boolean;
  readonly signal: (signal: NodeJS.Signals) => void;
  /** Asks the program to end, and insists after `stopMs`. */
  readonly stop: (stopMs?: number) => Promise<void>;
  /** What it has printed so far. */
  readonly output: () => Promise<string>;
}

/** How a program is started, where that matters. */
export interface ProgramSetting {
  readonly env?: NodeJS.ProcessEnv;
  readonly cwd?: string;
}

/** Starts a program whose output goes to `logFile`. */
export async function startProgram(path: string, args: readonly string[], logFile: string, setting: ProgramSetting = {}): Promise<Program> {
  const log = await open(logFile, 'a');
  const child = spawn(path, args, { ...setting, stdio: ['ignore', log.fd, log.fd] });
  const { promise: ended, resolve } = Promise.withResolvers<void>();
  child.once('exit', () => {
    if (existsSync(logFile)) scanForLeaks(readFileSync(logFile, 'utf8'), `what ${path} printed`);
    resolve();
  });
  try {
    await once(child, 'spawn');
  } finally {
    await log.close();
  }
  const pid = child.pid as number;
  const dismiss = atOurEnd('kill -9 "$1"', String(pid));
  void ended.then(dismiss);
  return {
    pid,
    ended,
    isRunning: () => isRunning(child),
    signal: (signal) => void child.kill(signal),
    stop: (stopMs = 10_000) => stop(child, ended, stopMs),
    output: () => readFile(logFile, 'utf8'),
  };
}

/** Removes a folder when the test process ends without doing so itself. Returns how to call that off. */
export function removeAtOurEnd(folder: string): () => void {
  // The programs that write there are being killed at the same time.
  return atOurEnd('sleep 1; rm -rf "$1"', folder);
}

function atOurEnd(command: string, argument: string): () => void {
  endWithRunner();
  // Ctrl-C reaches the whole process group; the guardian has to outlive it to see the pipe close.
  const script = `trap '' INT TERM HUP; read -r nothing; ${command}`;
  const guardian = spawn('/bin/sh', ['-c', script, 'guardian', argument], { stdio: ['pipe', 'ignore', 'ignore'] });
  guardian.unref();
  return () => {
    guardian.kill('SIGKILL');
    guardian.stdin.destroy();
  };
}

let isWatched = false;

/** A worker of Jest outlives a killed Jest until its test file is done, which may be never. */
function endWithRunner(): void {
  if (isWatched || !process.connected) return;
  isWatched = true;
  const script = 'while kill -0 "$1" && kill -0 "$2"; do sleep 1; done; kill -9 "$2"';
  spawn('/bin/sh', ['-c', script, 'guardian', String(process.ppid), String(process.pid)], { stdio: 'ignore' }).unref();
}

function isRunning(child: ChildProcess): boolean {
  return child.exitCode === null && child.signalCode === null;
}

async function stop(child: ChildProcess, ended: Promise<void>, stopMs: number): Promise<void> {
  if (!isRunning(child)) return;
  child.kill('SIGTERM');
  // A stopped process takes no SIGTERM until it goes on.
  child.kill('SIGCONT');
  const insist = setTimeout(() => child.kill('SIGKILL'), stopMs);
  await ended;
  clearTimeout(insist);
}
