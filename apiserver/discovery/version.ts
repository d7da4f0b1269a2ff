// What `/version` says. Clients go by gitVersion; the rest says plainly that this is not kube-apiserver.

import { arch, platform } from 'node:os';

const GO_ARCHITECTURES: Readonly<Record<string, string>> = { x64: 'amd64', ia32: '386' };

/** The release whose behaviour is served. */
export const VERSION = {
  major: '1',
  minor: '36',
  emulationMajor: '1',
  emulationMinor: '36',
  minCompatibilityMajor: '1',
  minCompatibilityMinor: '35',
  gitVersion: 'v1.36.4',
  gitCommit: '',
  gitTreeState: 'purser-embedded',
  buildDate: '1970-01-01T00:00:00Z',
  goVersion: 'none',
  compiler: 'node',
  platform: `${platform()}/${GO_ARCHITECTURES[arch()] ?? arch()}`,
} as const;
