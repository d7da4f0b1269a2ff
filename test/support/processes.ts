// Programs that tests run. They end with the test process, however that one ends: a guardian beside each program holds
// a pipe from us, and kills the program when the pipe closes.

import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { open, readFile } from 'node:fs/promises';

/** A running program. */
export interface Program {
  readonly pid: number;
  /** Resolves once the program has ended, for whatever reason. */
  readonly ended: Promise<void>;
  readonly isRunning: () => boolean;
  readonly signal: (signal: NodeJS.Signals) => void;
  /** Asks the program to end, and insists after `patienceMs`. */
  readonly stop: (patienceMs?: number) => Promise<void>;
  /** What it has printed so far. */
  readonly output: () => Promise<string>;
}

/** Starts a program whose output goes to `logFile`. */
export async function startProgram(path: string, args: readonly string[], logFile: string): Promise<Program> {
  const log = await open(logFile, 'a');
  const child = spawn(path, args, { stdio: ['ignore', log.fd, log.fd] });
  const ended = once(child, 'exit').then(() => undefined);
  await once(child, 'spawn');
  await log.close();
  const pid = child.pid as number;
  const guardian = guard(pid);
  void ended.then(() => guardian.kill('SIGKILL'));
  return {
    pid,
    ended,
    isRunning: () => isRunning(child),
    signal: (signal) => void child.kill(signal),
    stop: (patienceMs = 10_000) => stop(child, ended, patienceMs),
    output: () => readFile(logFile, 'utf8'),
  };
}

function guard(pid: number): ChildProcess {
  // Ctrl-C reaches the whole process group; the guardian has to outlive it to see the pipe close.
  const script = `trap '' INT TERM HUP; cat >/dev/null; kill -9 ${pid}`;
  const guardian = spawn('/bin/sh', ['-c', script], { stdio: ['pipe', 'ignore', 'ignore'] });
  guardian.unref();
  return guardian;
}

function isRunning(child: ChildProcess): boolean {
  return child.exitCode === null && child.signalCode === null;
}

async function stop(child: ChildProcess, ended: Promise<void>, patienceMs: number): Promise<void> {
  if (!isRunning(child)) return;
  child.kill('SIGTERM');
  // A stopped process takes no SIGTERM until it goes on.
  child.kill('SIGCONT');
  const insist = setTimeout(() => child.kill('SIGKILL'), patienceMs);
  await ended;
  clearTimeout(insist);
}
