// `purser credential` as a separate process, as kubectl runs it.

import { readdir, rm, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, it } from '@jest/globals';
import { readStartTime } from '../../src/cli/credential/lock.mjs';
import { AUDIENCE, CallerWorld } from '../cli/facade/caller-world.ts';
import { run } from '../support/run.ts';

const START = join(import.meta.dirname, '../../bin/purser.cjs');
/** Reports each process and each file that it loads. */
const REPORT = `data:text/javascript,${encodeURIComponent(`
  import { registerHooks } from 'node:module';
  process.stderr.write('process\\n');
  registerHooks({ load(url, context, next) { if (url.startsWith('file:')) process.stderr.write(url.replace(/.*\\/(src|bin|node_modules)\\//, '') + '\\n'); return next(url, context); } });
`)}`;
const OLDER = "data:text/javascript,Object.defineProperty(process.versions,'node',{value:'20.20.2'})";

let world: CallerWorld;
beforeEach(async () => {
  world = await CallerWorld.start(Date.now());
});
afterEach(() => world.close());

const ARGS = ['credential', 'target-1', 'deploy/deployer', `--audience=${AUDIENCE}`, '--context=token'];
const start = (options: readonly string[] = [], args = ARGS) =>
  run(process.execPath, [...options, START, ...args], { ...process.env, ...world.env } as Record<string, string>);
const folder = () => join(world.folder, 'cache', 'purser', 'credentials');
/** Removes the cached token and returns the name of its files. */
async function forget(): Promise<string> {
  const name = (await readdir(folder())).find((each) => each.endsWith('.json')) ?? '';
  await rm(join(folder(), name));
  return name.replace('.json', '');
}

describe('purser credential', () => {
  it('sends one request for eight processes at once', async () => {
    const results = await Promise.all(Array.from({ length: 8 }, () => start()));
    // On a busy machine, some processes wait long enough to report it.
    const messages = results.map(({ code, stderr }) => `${code}${stderr.replace(/^purser: waiting for another process, .+\n$/, '')}`);
    expect(new Set(messages)).toEqual(new Set(['0']));
    expect(new Set(results.map(({ output }) => output)).size).toBe(1);
    expect(world.tokenRequests).toHaveLength(1);
    expect((await readdir(folder())).filter((name) => name.endsWith('.lock'))).toEqual([]);
  });

  it('takes over locks of processes that do not run, and reports once that it replaces a lock that other users can read', async () => {
    await start();
    const lock = join(folder(), `${await forget()}.lock`);
    const startedAt = readStartTime(process.pid);
    // Not this process: the started process treats a lock of its parent as the lock of its launcher.
    const owners = [
      ['a process that ended', { pid: 2 ** 22 - 1, startedAt: '1' }],
      ['another process with the same id', { pid: process.ppid, startedAt: `${readStartTime(process.ppid)}0` }],
      ['an unknown process', {}],
    ] as const;
    for (const [name, owner] of owners) {
      await writeFile(lock, JSON.stringify(owner), { mode: 0o600 });
      const { code, stderr } = await start();
      expect({ name, code, stderr }).toEqual({ name, code: 0, stderr: '' });
      await forget();
    }
    await writeFile(lock, JSON.stringify({ pid: process.pid, startedAt }), { mode: 0o644 });
    expect(await start()).toMatchObject({
      code: 0,
      stderr: `purser: replacing the lock file ${lock}, which is not trusted: other users have access to it\n`,
    });
    expect(world.tokenRequests).toHaveLength(5);
  });

  it('loads only the modules of the cache for a cached token', async () => {
    await start();
    const { code, output, stderr } = await start(['--import', REPORT]);
    expect([code, output]).toEqual([0, expect.stringContaining('ExecCredential')]);
    expect(stderr.trim().split('\n')).toEqual([
      'process',
      'purser.cjs',
      'credential.cjs',
      'cli/credential/print-cached.mjs',
      'cli/credential/cache.mjs',
      'cli/credential/lock.mjs',
      'cli/credential/private-file.mjs',
    ]);
  });

  it('returns a cached token on an older Node.js without another process', async () => {
    const first = await start(['--import', OLDER]);
    expect(first).toMatchObject({ code: 0, stderr: '', output: expect.stringContaining('ExecCredential') });
    const { output, stderr } = await start(['--import', OLDER, '--import', REPORT]);
    expect(output).toBe(first.output);
    expect(stderr.match(/^process$/gm)).toHaveLength(1);
    expect(world.tokenRequests).toHaveLength(1);
  });

  it('accepts other spellings of options, and uses the same cache for them', async () => {
    const { output } = await start();
    const other = ['credential', '--context', 'token', 'target-1', 'deploy/deployer', '--audience', AUDIENCE];
    expect(await start([], other)).toMatchObject({ code: 0, output });
    expect(await start([], ['credential', 'clean'])).toMatchObject({ code: 0, output: expect.stringContaining('Removed 1') });
    expect(await start([], ['credential', '--help'])).toMatchObject({ code: 0, output: expect.stringContaining('--force-refresh') });
  });
});
