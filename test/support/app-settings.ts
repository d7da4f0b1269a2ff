// The settings of a Purser in a test: those of one that is told nothing, on ports that are free.

import type { AppSettings } from '../../src/app/options.ts';
import { parseConfig } from '../../src/config/config.ts';

/** Settings that say something else where a test needs that. */
export function appSettings(given: Partial<AppSettings>): AppSettings {
  const here = { bindAddress: '127.0.0.1', ownAddress: '127.0.0.1', allowLoopback: true, facadePort: 0, metricsPort: 0 };
  const credentials = given.namespace === undefined ? {} : { credentialNamespaces: [given.namespace] };
  return { ...parseConfig([], {}), ...here, ...credentials, metricsAuth: 'none', verifyIntervalMs: 0, drainMs: 5_000, ...given };
}
