// Settings of a Purser in tests: the defaults, on free ports of loopback.

import type { AppSettings } from '../../src/app/options.ts';
import { parseConfig } from '../../src/config/config.ts';

/** Returns the settings, with those that a test overrides. */
export function appSettings(given: Partial<AppSettings>): AppSettings {
  const here = { bindAddress: '127.0.0.1', ownAddress: '127.0.0.1', allowLoopback: true, facadePort: 0, metricsPort: 0 };
  const credentials = given.namespace === undefined ? {} : { credentialNamespaces: [given.namespace] };
  return { ...parseConfig([], {}), ...here, ...credentials, metricsAuth: 'none', verifyIntervalMs: 0, drainMs: 5_000, ...given };
}
