import { readdir, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { describe, expect, it } from '@jest/globals';
import { CachedCredential, startTimeOf } from '../../../src/cli/credential/cache.mjs';
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
  const texts = { output: '', warnings: '' };
  const host = {
    env: { XDG_CACHE_HOME: base, HOME: base, ...env },
    now: () => NOW,
    print: (text: string) => void (texts.output += text),
    warn: (text: string) => void (texts.warnings += text),
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
  ])('leaves the arguments %p to the command line, without touching the cache', async (args) => {
    const { host, texts, folder } = await newHost();
    expect(printForArguments(args, host)).toBeUndefined();
    expect(texts).toEqual({ output: '', warnings: '' });
    await expect(readdir(folder)).rejects.toThrow('ENOENT');
  });

  it.each([
    ['--facade=https://a', { PURSER_FACADE: 'https://a' }],
    ['--facade-ca=/ca.crt', { PURSER_FACADE_CA: '/ca.crt' }],
    ['--facade-path=a', { PURSER_FACADE_PATH: 'a' }],
    ['--purser-namespace=a', { PURSER_NAMESPACE: 'a' }],
    ['--kubeconfig=/config', { KUBECONFIG: '/config' }],
  ])('uses the same files for %s and for its environment variable', async (option, env) => {
    const { host, folder } = await newHost();
    printForArguments(['target-1', 'deploy/deployer', option], host);
    printForArguments(['target-1', 'deploy/deployer'], { ...host, env: { ...host.env, ...env } });
    expect(await readdir(folder)).toHaveLength(1);
    printForArguments(['target-1', 'deploy/deployer'], host);
    expect(await readdir(folder)).toHaveLength(2);
  });
});

describe('printFromCache', () => {
  it('takes the lock without a cached credential', async () => {
    const { host, folder } = await newHost();
    const { code, cache } = printFromCache({ ...UNSET, ...REQUEST }, host, false);
    expect([code, await readdir(folder)]).toEqual([undefined, [expect.stringMatching(/\.lock$/)]]);
    cache?.unlock();
    expect(await readdir(folder)).toEqual([]);
  });

  it('reports the failure of the process that it waits for', async () => {
    const { host, texts, folder } = await newHost();
    const { cache } = printFromCache({ ...UNSET, ...REQUEST }, host, false);
    // Process 1 always runs.
    await writeFile(cache?.lockFile ?? '', JSON.stringify({ pid: 1, startedAt: startTimeOf(1), client: '' }), { mode: 0o600 });
    cache?.writeFailure('the façade is down', NOW);
    expect(printFromCache({ ...UNSET, ...REQUEST }, host, false)).toMatchObject({ code: 1 });
    expect(texts).toEqual({ output: '', warnings: 'purser: the façade is down\n' });
    expect(await readdir(folder)).toHaveLength(2);
  });

  it('ignores a failure before it started', async () => {
    const { host } = await newHost();
    const first = printFromCache({ ...UNSET, ...REQUEST }, host, false);
    first.cache?.writeFailure('the façade is down', NOW - 1);
    first.cache?.unlock();
    expect(printFromCache({ ...UNSET, ...REQUEST }, host, false).code).toBeUndefined();
  });
});

describe('CachedCredential.lock', () => {
  const owner = (pid: number) => ({ pid, startedAt: startTimeOf(pid), client: '' });

  it('is taken over from a running process after two minutes, also if the clock was set back', async () => {
    const { folder } = await newHost();
    const cache = new CachedCredential(folder, 'key', () => {});
    cache.open();
    const at = Date.now();
    expect(cache.lock(owner(1), at)).toBe(true);
    expect([cache.lock(owner(2 ** 21), at), cache.lock(owner(2 ** 21), at + 110_000)]).toEqual([false, false]);
    expect(cache.lock(owner(2 ** 21), at + 130_000)).toBe(true);
    cache.unlock();
    cache.lock(owner(1), at);
    expect(cache.lock(owner(2 ** 21), at - 130_000)).toBe(true);
  });

  it('is taken over by one of several processes', async () => {
    const { folder } = await newHost();
    const cache = new CachedCredential(folder, 'key', () => {});
    cache.open();
    cache.lock(owner(2 ** 21), Date.now());
    expect(cache.lock(owner(1), Date.now())).toBe(true);
    expect(cache.lock(owner(2 ** 21 + 1), Date.now())).toBe(false);
  });
});
