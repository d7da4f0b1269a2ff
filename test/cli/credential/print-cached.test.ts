import { mkdir, readdir, readFile, rm, symlink, writeFile } from 'node:fs/promises';
import { basename, dirname, join } from 'node:path';
import { describe, expect, it } from '@jest/globals';
import { CachedCredential } from '../../../src/cli/credential/cache.mjs';
import { readStartTime } from '../../../src/cli/credential/lock.mjs';
import { printForArguments, printFromCache } from '../../../src/cli/credential/print-cached.mjs';
import { newFolder } from '../../support/folders.ts';

const NOW = Date.parse('2026-03-01T12:00:00Z');
const REQUEST = { cluster: 'target-1', account: 'deploy/deployer', audience: [] };
const UNSET = {
  duration: undefined,
  kubeconfig: undefined,
  context: undefined,
  facade: undefined,
  facadeCa: undefined,
  facadePath: undefined,
  serviceAccount: undefined,
  purserNamespace: undefined,
};

/** Returns a host with an empty cache, and its output. */
async function newHost(env: Readonly<Record<string, string>> = {}) {
  const base = await newFolder();
  const texts = { output: '', warnings: '', notices: '' };
  const host = {
    env: { XDG_CACHE_HOME: base, HOME: base, ...env },
    now: () => NOW,
    print: (text: string) => void (texts.output += text),
    warn: (text: string) => void (texts.warnings += text),
    notify: (text: string) => void (texts.notices += text),
  };
  return { host, texts, folder: join(base, 'purser', 'credentials') };
}

describe('printForArguments', () => {
  it.each([
    [['target-1']],
    [['target-1', 'deploy/deployer', 'more']],
    [['target-1', 'deploy/deployer', '--force-refresh']],
    [['target-1', 'deploy/deployer', '--context', 'a']],
    [['target-1', 'deploy/deployer', '--context=']],
    [['target-1', 'deploy/deployer', '--unknown=a']],
    [['target-1', 'deploy/deployer', '--constructor=a']],
    [['clean']],
    [['--help']],
  ])('returns undefined for the arguments %p, which only the full command line parses, and leaves the cache unchanged', async (args) => {
    const { host, texts, folder } = await newHost();
    expect(printForArguments(args, host)).toBeUndefined();
    expect(texts).toEqual({ output: '', warnings: '', notices: '' });
    await expect(readdir(folder)).rejects.toThrow('ENOENT');
  });

  it.each([
    ['--facade=https://a', { PURSER_FACADE: 'https://a' }],
    ['--facade-ca=/ca.crt', { PURSER_FACADE_CA: '/ca.crt' }],
    ['--facade-path=a', { PURSER_FACADE_PATH: 'a' }],
    ['--purser-namespace=a', { PURSER_NAMESPACE: 'a' }],
    ['--kubeconfig=/config', { KUBECONFIG: '/config' }],
  ])('uses the same cache files for %s and for its environment variable', async (option, env) => {
    const { host, folder } = await newHost();
    printForArguments(['target-1', 'deploy/deployer', option], host);
    printForArguments(['target-1', 'deploy/deployer'], { ...host, env: { ...host.env, ...env } });
    expect(await readdir(folder)).toHaveLength(1);
    printForArguments(['target-1', 'deploy/deployer'], host);
    expect(await readdir(folder)).toHaveLength(2);
  });
});

describe('printFromCache', () => {
  it('acquires the lock if no credential is cached', async () => {
    const { host, folder } = await newHost();
    const { code, cache } = printFromCache({ ...UNSET, ...REQUEST }, host, false);
    expect([code, await readdir(folder)]).toEqual([undefined, [expect.stringMatching(/\.lock$/)]]);
    cache?.lock.release();
    expect(await readdir(folder)).toEqual([]);
  });

  it('reports the failure of the process that holds the lock', async () => {
    const { host, texts, folder } = await newHost();
    const { cache } = printFromCache({ ...UNSET, ...REQUEST }, host, false);
    // Process 1 always runs.
    await writeFile(cache?.lock.file ?? '', JSON.stringify({ pid: 1, startedAt: readStartTime(1), client: '' }), { mode: 0o600 });
    cache?.writeFailure('the façade\u001b]0;x\u0007\n is down', NOW);
    expect(printFromCache({ ...UNSET, ...REQUEST }, host, false)).toMatchObject({ code: 1 });
    expect(texts).toEqual({ output: '', warnings: 'purser: the façade ]0;x is down\n', notices: '' });
    expect(await readdir(folder)).toHaveLength(2);
  });

  it.each([
    ['before the process started', NOW - 1],
    ['after the current time, because the clock was set back', NOW + 86_400_000],
  ])('ignores a failure that was recorded %s', async (_, at) => {
    const { host } = await newHost();
    const first = printFromCache({ ...UNSET, ...REQUEST }, host, false);
    first.cache?.writeFailure('the façade is down', at);
    first.cache?.lock.release();
    expect(printFromCache({ ...UNSET, ...REQUEST }, host, false).code).toBeUndefined();
  });
});

describe('printFromCache with a lock', () => {
  const newLock = async () => {
    const { host, texts } = await newHost();
    const { cache } = printFromCache({ ...UNSET, ...REQUEST }, host, false);
    const file = cache?.lock.file ?? '';
    await rm(file);
    return { host, texts, file };
  };
  const held = JSON.stringify({ pid: 1, startedAt: readStartTime(1), client: '' });

  it('reports once, after three seconds, that another process holds the lock', async () => {
    const { host, texts, file } = await newLock();
    await writeFile(file, held, { mode: 0o600 });
    let waitedMs = 0;
    const noticed: number[] = [];
    const wait = (ms: number) => void (waitedMs += ms);
    const notify = (text: string) => {
      noticed.push(waitedMs);
      host.notify(text);
    };
    // The lock is as old as the real file.
    const clock = { ...host, now: () => Date.now() };
    expect(printFromCache({ ...UNSET, ...REQUEST }, { ...clock, wait, notify }, false)).toEqual({ code: undefined, cache: undefined });
    expect(noticed).toEqual([3_000]);
    expect(texts.notices).toBe(`purser: waiting for another process, which requests the same token and holds ${file}\n`);
  });

  it.each([
    ['other users have access to it', (file: string) => writeFile(file, held, { mode: 0o644 })],
    ['it is too long', (file: string) => writeFile(file, 'x'.repeat(2 ** 20 + 1), { mode: 0o600 })],
    ['it is a symbolic link', (file: string) => symlink('/etc/hostname', file)],
    ['it is a symbolic link', (file: string) => symlink('/nonexistent', file)],
  ])('replaces a lock file immediately, and reports the problem: %s', async (problem, change) => {
    const { host, texts, file } = await newLock();
    await change(file);
    const wait = () => {
      throw new Error('waited');
    };
    const { code, cache } = printFromCache({ ...UNSET, ...REQUEST }, { ...host, wait }, false);
    expect([code, cache?.lock.file]).toEqual([undefined, file]);
    expect(texts).toEqual({
      output: '',
      warnings: '',
      notices: `purser: replacing the lock file ${file}, which is not trusted: ${problem}\n`,
    });
    expect(JSON.parse(await readFile(file, 'utf8'))).toMatchObject({ pid: process.pid });
    expect(await readdir(dirname(file))).toEqual([basename(file)]);
  });

  it('does not use the cache if a folder has the name of the lock', async () => {
    const { host, texts, file } = await newLock();
    await mkdir(file, { mode: 0o700 });
    expect(printFromCache({ ...UNSET, ...REQUEST }, host, false)).toEqual({ code: undefined, cache: undefined });
    expect(texts.warnings).toContain(`${file} is not a file. Remove it`);
  });
});

describe('resolveCacheFolder', () => {
  it('does not use a folder in the working directory if HOME is empty', async () => {
    const { host, texts } = await newHost();
    const home = process.env['HOME'];
    try {
      process.env['HOME'] = '';
      const env = { HOME: '' };
      expect(printFromCache({ ...UNSET, ...REQUEST }, { ...host, env }, false)).toEqual({ code: undefined, cache: undefined });
    } finally {
      process.env['HOME'] = home;
    }
    expect(texts.warnings).toBe('purser: not using a cache: HOME is not an absolute path. Set HOME or XDG_CACHE_HOME\n');
  });
});

describe('CachedCredential.recordClient', () => {
  it.each([
    ['a symbolic link', (file: string, other: string) => symlink(other, file)],
    ['readable by other users', (file: string) => writeFile(file, '', { mode: 0o644 })],
  ])('replaces the list of clients if its file is %s', async (_, change) => {
    const { folder } = await newHost();
    const cache = new CachedCredential(
      folder,
      'key',
      () => {},
      () => {},
    );
    cache.open();
    const other = join(folder, 'other');
    await writeFile(other, '');
    await change(cache.clientsFile, other);
    expect(cache.recordClient('1:2', { issuedAt: NOW }, NOW)).toBe(true);
    expect(await readFile(other, 'utf8')).toBe('');
    expect(cache.recordClient('1:2', { issuedAt: NOW }, NOW + 20_000)).toBe(false);
  });
});

describe('RequestLock', () => {
  const owner = (pid: number) => ({ pid, startedAt: readStartTime(pid), client: '' });

  it('takes over the lock from a running process after two minutes, even if the clock was set back', async () => {
    const { folder } = await newHost();
    const cache = new CachedCredential(
      folder,
      'key',
      () => {},
      () => {},
    );
    cache.open();
    const at = Date.now();
    expect(cache.lock.take(owner(1), at)).toBe(true);
    expect([cache.lock.take(owner(2 ** 21), at), cache.lock.take(owner(2 ** 21), at + 110_000)]).toEqual([false, false]);
    expect(cache.lock.take(owner(2 ** 21), at + 130_000)).toBe(true);
    cache.lock.release();
    cache.lock.take(owner(1), at);
    expect(cache.lock.take(owner(2 ** 21), at - 130_000)).toBe(true);
  });

  it('lets only one process take over a lock of an exited process', async () => {
    const { folder } = await newHost();
    const cache = new CachedCredential(
      folder,
      'key',
      () => {},
      () => {},
    );
    cache.open();
    cache.lock.take(owner(2 ** 21), Date.now());
    expect(cache.lock.take(owner(1), Date.now())).toBe(true);
    expect(cache.lock.take(owner(2 ** 21 + 1), Date.now())).toBe(false);
  });
});
