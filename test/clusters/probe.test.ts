import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { join } from 'node:path';
import { afterEach, expect, it } from '@jest/globals';

const SUPPORT = join(import.meta.dirname, '../support');
const children: ChildProcess[] = [];

/** Starts a test program with this limit on open files and sockets. */
function start(program: string, args: readonly string[], limit: number): ChildProcess {
  const script = `ulimit -n ${limit} && exec "$0" --disable-warning=ExperimentalWarning "$@"`;
  const child = spawn('/bin/sh', ['-c', script, process.execPath, join(SUPPORT, program), ...args], {
    stdio: ['ignore', 'inherit', 'inherit', 'ipc'],
    env: { ...process.env, NODE_OPTIONS: '' },
  });
  children.push(child);
  return child;
}

async function firstMessage<T>(child: ChildProcess): Promise<T> {
  const ended = once(child, 'exit').then(([code]) => Promise.reject(new Error(`the program ended with ${code}`)));
  ended.catch(() => {});
  const [message] = (await Promise.race([once(child, 'message'), ended])) as [T];
  return message;
}

afterEach(() => {
  for (const child of children.splice(0)) child.kill();
});

it('reports ProbeFailed when this machine has no sockets left', async () => {
  const fleet = await firstMessage<object>(start('stub-targets-process.ts', ['100'], 1_000));
  const prober = start('probe-process.ts', [], 80);
  prober.send(fleet);
  const faults = await firstMessage<readonly string[]>(prober);
  expect(faults).toHaveLength(100);
  expect(new Set(faults)).toEqual(new Set(['none', 'ProbeFailed']));
});
