// Node.js with the options of the image: no debugger on signals, and no files with tokens after a crash.

import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdir, readdir } from 'node:fs/promises';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import { describe, expect, it } from '@jest/globals';
import { parseDockerfile, type Stage, wordsOf } from '../support/dockerfile.ts';
import { newFolder } from '../support/folders.ts';
import { readText } from '../support/repository.ts';

const OPTIONS = wordsOf(parseDockerfile(readText('Dockerfile')).stages.at(-1) as Stage, 'ENTRYPOINT').filter((word) =>
  word.startsWith('--'),
);
const TOKEN = 'eyJhbGciOiJub25lIn0.eyJzdWIiOiJhIn0.a-token';

/** Shell command that disables core dumps, which the kernel writes; a pod has no writable file system for them. */
const WITHOUT_CORE = 'ulimit -c 0; exec "$0" "$@"';

/** Starts a program in place of Purser, in its own folder. */
async function start(program: string, options: readonly string[] = []) {
  const folder = join(await newFolder(), 'cwd');
  await mkdir(folder);
  const child = spawn('sh', ['-c', WITHOUT_CORE, process.execPath, ...OPTIONS, ...options, '--eval', program], {
    cwd: folder,
    env: { PATH: process.env['PATH'], SECRET: TOKEN },
    stdio: ['ignore', 'pipe', 'pipe'],
  });
  let stderr = '';
  child.stderr.on('data', (chunk: Buffer) => (stderr += chunk.toString()));
  const ended = once(child, 'close');
  return { child, lines: createInterface({ input: child.stdout }), stderr: () => stderr, ended, folder };
}

describe('process of the image', () => {
  it('opens no debugger for SIGUSR1', async () => {
    // The program responds to the second signal after it has handled the first.
    const program = `
      process.on('SIGUSR2', () => setTimeout(() => console.log(String(require('node:inspector').url())), 200));
      setInterval(() => {}, 1000);
      console.log('up');
    `;
    const purser = await start(program);
    await once(purser.lines, 'line');
    purser.child.kill('SIGUSR1');
    purser.child.kill('SIGUSR2');
    expect(await once(purser.lines, 'line')).toEqual(['undefined']);
    purser.child.kill('SIGKILL');
    await purser.ended;
    expect(purser.stderr()).not.toContain('Debugger');
  });

  it.each([
    ['an uncaught error', `const token = process.env.SECRET; setTimeout(() => { throw new Error('oops'); }, 1);`, []],
    ['an unhandled rejection', `const token = process.env.SECRET; Promise.reject(new Error('oops'));`, []],
    [
      'an exhausted heap',
      `const kept = []; for (;;) kept.push(process.env.SECRET + Math.random(), new Array(10_000).fill({}));`,
      ['--max-old-space-size=24'],
    ],
  ])('leaves no file and prints no token after a crash caused by %s', async (_what, program, options) => {
    const purser = await start(program, options);
    const [code, signal] = (await purser.ended) as [number | null, string | null];
    expect([code, signal]).not.toEqual([0, null]);
    expect(await readdir(purser.folder)).toEqual([]);
    expect(purser.stderr()).not.toContain(TOKEN);
  });

  it('excludes the environment from diagnostic reports', async () => {
    const purser = await start(`console.log(JSON.stringify(process.report.getReport()).includes(process.env.SECRET));`);
    expect(await once(purser.lines, 'line')).toEqual(['false']);
    await purser.ended;
  });
});
