// Child processes of the benches: one that sends a message when it is ready, or one that prints JSON.

import { fork } from 'node:child_process';
import { once } from 'node:events';

/** Child process after its first message. */
export interface Helper<T> {
  readonly pid: number;
  readonly said: T;
  /** Resolves when the process exits. */
  readonly ended: Promise<unknown>;
  readonly stop: () => Promise<void>;
}

/** Starts a program of this repository, and waits for its message. The process ends with the bench. Rejects if it exits before. */
export async function startHelper<T>(path: string, args: readonly string[]): Promise<Helper<T>> {
  const child = fork(path, args);
  const kill = () => child.kill();
  process.once('exit', kill);
  const ended = once(child, 'exit').then(() => process.off('exit', kill));
  const silent = ended.then(() => Promise.reject(new Error(`${path} exited without a message`)));
  silent.catch(() => {});
  const [said] = (await Promise.race([once(child, 'message'), silent])) as [T];
  const stop = async () => {
    kill();
    await ended;
  };
  return { pid: child.pid as number, said, ended, stop };
}
