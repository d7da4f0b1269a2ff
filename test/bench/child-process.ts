// Child processes of the benches: a process sends a message or prints a line when it is ready, or prints JSON before it exits.

import { fork, type ChildProcess as NodeProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import { text } from 'node:stream/consumers';

/** Child process after its first message. */
export interface ChildProcess<T> {
  readonly pid: number;
  readonly message: T;
  /** Resolves when the process exits. */
  readonly ended: Promise<unknown>;
  readonly stop: () => Promise<void>;
}

/**
 * Starts a program of this repository, optionally with Node.js options, and waits for its message. The process ends with the bench. Rejects
 * if it exits first.
 */
export async function startChild<T>(
  path: string,
  args: readonly string[],
  execArgv: readonly string[] = process.execArgv,
): Promise<ChildProcess<T>> {
  const child = fork(path, args, { execArgv: [...execArgv] });
  return await whenReady(child, once(child, 'message') as Promise<[T]>);
}

/** Starts another program, and waits for its first line, the message. */
export async function startBinary(path: string, args: readonly string[]): Promise<ChildProcess<string>> {
  const child = spawn(path, args, { stdio: ['ignore', 'pipe', 'inherit'] });
  return await whenReady(child, once(createInterface({ input: child.stdout }), 'line') as Promise<[string]>);
}

async function whenReady<T>(child: NodeProcess, sent: Promise<[T]>): Promise<ChildProcess<T>> {
  const kill = () => child.kill();
  process.once('exit', kill);
  const ended = once(child, 'exit').then(() => process.off('exit', kill));
  const silent = ended.then(() => Promise.reject(new Error(`${child.spawnargs.join(' ')} exited without a message`)));
  silent.catch(() => {});
  const [message] = await Promise.race([sent, silent]);
  const stop = async () => {
    kill();
    await ended;
  };
  return { pid: child.pid as number, message, ended, stop };
}

/** Runs a program of this folder, optionally through a wrapper command, and parses the JSON that it prints. Its stderr is inherited. */
export async function runScript<T>(name: string, args: readonly number[], wrapper: readonly string[] = []): Promise<T> {
  const [command, ...rest] = [...wrapper, process.execPath, join(import.meta.dirname, name), ...args.map(String)];
  const child = spawn(command as string, rest, { stdio: ['ignore', 'pipe', 'inherit'] });
  const [[code], output] = await Promise.all([once(child, 'close'), text(child.stdout)]);
  if (code !== 0) throw new Error(`${name} exited with code ${code}`);
  return JSON.parse(output) as T;
}
