// Programs beside the bench that say one thing when they are ready, or done.

import { fork } from 'node:child_process';
import { once } from 'node:events';

/** A program that has said what it has to say. */
export interface Helper<T> {
  readonly pid: number;
  readonly said: T;
  /** Resolves when it has ended by itself. */
  readonly ended: Promise<unknown>;
  readonly stop: () => Promise<void>;
}

/** Starts a program of this repository, and waits for its message. It ends with us at the latest. Rejects if it ends without a word. */
export async function startHelper<T>(path: string, args: readonly string[]): Promise<Helper<T>> {
  const child = fork(path, args);
  const kill = () => child.kill();
  process.once('exit', kill);
  const ended = once(child, 'exit').then(() => process.off('exit', kill));
  const silent = ended.then(() => Promise.reject(new Error(`${path} ended without a word`)));
  silent.catch(() => {});
  const [said] = (await Promise.race([once(child, 'message'), silent])) as [T];
  const stop = async () => {
    kill();
    await ended;
  };
  return { pid: child.pid as number, said, ended, stop };
}
