import { readFile, stat, writeFile } from 'node:fs/promises';
import { describe, expect, it } from '@jest/globals';
import { parse } from 'yaml';
import { createFixedConfig, loadKubeConfig } from '../../../src/kube/kube-config.ts';
import { newFolder } from '../../../test/support/folders.ts';
import { createKubeconfig, writeAccessFiles } from '../../dev/access-files.ts';
import { openDataFolder } from '../../dev/data-folder.ts';
import type { LocalServer } from '../../dev/servers.ts';

const hub: Omit<LocalServer, 'issueServingCertificate'> = {
  name: 'hub',
  url: 'https://127.0.0.1:7443',
  port: 7443,
  ca: 'PEM\n',
  tokens: { admin: 'opaque-a', alice: 'opaque-b' },
  admin: createFixedConfig({ name: 'hub', server: 'https://127.0.0.1:7443', skipTLSVerify: false }, { name: 'admin' }),
};
const target: Omit<LocalServer, 'issueServingCertificate'> = {
  ...hub,
  name: 'target-1',
  url: 'https://127.0.0.1:9',
  tokens: { admin: 'opaque-c' },
};

describe('createKubeconfig', () => {
  it("returns a context for each user of the hub, the administrator's first", () => {
    const config = createKubeconfig(hub);

    expect(config.contexts).toEqual([
      { name: 'admin', context: { cluster: 'hub', user: 'admin' } },
      { name: 'alice', context: { cluster: 'hub', user: 'alice' } },
    ]);
    expect(config['current-context']).toBe('admin');
  });

  it('uses different names for the hub and a target', () => {
    const names = ({ clusters, users, contexts }: ReturnType<typeof createKubeconfig>) =>
      [...clusters, ...users, ...contexts].map(({ name }) => name);

    expect(names(createKubeconfig(target))).toEqual(['target-1', 'target-1-admin', 'target-1']);
    expect(names(createKubeconfig(hub)).filter((name) => names(createKubeconfig(target)).includes(name))).toEqual([]);
  });

  it('returns a kubeconfig that Purser can load', async () => {
    const folder = await openDataFolder(await newFolder());
    const { kubeconfig } = await writeAccessFiles(folder, hub);
    const config = await loadKubeConfig(kubeconfig);

    expect(config.getCurrentCluster()).toMatchObject({
      server: hub.url,
      caData: Buffer.from(hub.ca).toString('base64'),
      skipTLSVerify: false,
    });
    expect(config.getCurrentUser()).toMatchObject({ name: 'admin', token: 'opaque-a' });
  });
});

describe('writeAccessFiles', () => {
  it('writes private files and returns their paths', async () => {
    const folder = await openDataFolder(await newFolder());
    const files = await writeAccessFiles(folder, target);

    expect(files).toMatchObject({
      name: 'target-1',
      kubeconfig: folder.pathOf('target-1.kubeconfig'),
      ca: folder.pathOf('target-1.ca.crt'),
    });
    expect(parse(await readFile(files.kubeconfig, 'utf8'))).toEqual(createKubeconfig(target));
    expect(await readFile(files.ca, 'utf8')).toBe('PEM\n');
    expect((await stat(files.kubeconfig)).mode & 0o777).toBe(0o600);
  });

  it('keeps changes that the user made to a kubeconfig that still works', async () => {
    const folder = await openDataFolder(await newFolder());
    const { kubeconfig } = await writeAccessFiles(folder, hub);
    const changed = (await readFile(kubeconfig, 'utf8')).replace('current-context: admin', 'current-context: alice');
    await writeFile(kubeconfig, changed);
    await writeAccessFiles(folder, hub);

    expect(await readFile(kubeconfig, 'utf8')).toBe(changed);
  });

  it.each([
    ['at another address', { url: 'https://127.0.0.1:1' }],
    ['with another authority', { ca: 'other\n' }],
    ['with other tokens', { tokens: { admin: 'opaque-x', alice: 'opaque-b' } }],
  ])('rewrites the files of a server %s', async (_name, change) => {
    const folder = await openDataFolder(await newFolder());
    const { kubeconfig, ca } = await writeAccessFiles(folder, hub);
    await writeAccessFiles(folder, { ...hub, ...change });

    expect(parse(await readFile(kubeconfig, 'utf8'))).toEqual(createKubeconfig({ ...hub, ...change }));
    expect(await readFile(ca, 'utf8')).toBe({ ...hub, ...change }.ca);
  });

  it.each(['', 'not: [yaml', 'null', 'clusters: 7'])('replaces an invalid kubeconfig: %j', async (text) => {
    const folder = await openDataFolder(await newFolder());
    await writeFile(folder.pathOf('kubeconfig'), text);
    await writeAccessFiles(folder, hub);

    expect(parse(await readFile(folder.pathOf('kubeconfig'), 'utf8'))).toEqual(createKubeconfig(hub));
  });
});
