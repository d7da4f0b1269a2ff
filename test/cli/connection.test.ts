import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { beforeAll, describe, expect, it } from '@jest/globals';
import type { CommandHost } from '../../src/cli/command.ts';
import { Connections } from '../../src/cli/connection.ts';
import { StartError } from '../../src/config/start-error.ts';
import { FakeClock } from '../support/clock.ts';
import { newFolder } from '../support/folders.ts';

let file: string;
beforeAll(async () => {
  file = join(await newFolder(), 'config');
  const clusters = [{ name: 'a', cluster: { server: 'https://a.example.com:6443' } }];
  const contexts = [
    { name: 'one', context: { cluster: 'a', user: '', namespace: 'team-a' } },
    { name: 'two', context: { cluster: 'a', user: '' } },
  ];
  await writeFile(file, JSON.stringify({ clusters, contexts, users: [], 'current-context': 'one' }));
});

function connect(kubeconfig: string | undefined, env: CommandHost['env'] = {}): Connections {
  return new Connections({ clock: new FakeClock(), env } as unknown as CommandHost, kubeconfig);
}

describe('Connections', () => {
  it('opens the named context, or the current one, of KUBECONFIG', async () => {
    await using connections = connect(undefined, { KUBECONFIG: file });
    expect((await connections.open('two')).transport.server).toBe('https://a.example.com:6443');
    expect((await connections.open(undefined)).transport.server).toBe('https://a.example.com:6443');
  });

  it('throws a StartError if HOME is empty and no kubeconfig is set', () => {
    const home = process.env['HOME'];
    try {
      process.env['HOME'] = '';
      expect(() => connect(undefined)).toThrow('no kubeconfig: HOME is not an absolute path. Set HOME, KUBECONFIG or --kubeconfig');
    } finally {
      process.env['HOME'] = home;
    }
  });

  it('returns the contexts and their namespaces', async () => {
    await using connections = connect(file);
    const { current, contexts } = await connections.readContexts();
    expect([current, contexts.map(({ name }) => name)]).toEqual(['one', ['one', 'two']]);
    expect([await connections.readNamespace(undefined), await connections.readNamespace('two')]).toEqual(['team-a', 'default']);
  });

  it('finds a context by the address of its server, and ignores contexts that are not usable', async () => {
    const path = join(await newFolder(), 'config');
    const contexts = ['broken', 'b'].map((name) => ({ name, context: { cluster: name, user: '' } }));
    await writeFile(path, JSON.stringify({ clusters: [{ name: 'b', cluster: { server: 'https://b.example.com' } }], contexts }));
    await using connections = connect(path);
    expect(await connections.findContext(['https://c.example.com', 'b.example.com:443'])).toBe('b');
    expect(await connections.findContext(['https://c.example.com'])).toBeUndefined();
  });

  it('throws a StartError that names the kubeconfig for an unknown context', async () => {
    await using connections = connect(file);
    const opened = connections.open('three');
    await expect(opened).rejects.toThrow(StartError);
    await expect(opened).rejects.toThrow(`cannot use the kubeconfig ${file}: the kubeconfig has no context "three"`);
  });

  it('suggests the context with the most similar name', async () => {
    await using connections = connect(file);
    await expect(connections.open('tow')).rejects.toThrow('the kubeconfig has no context "tow"; did you mean "two"?');
  });
});
