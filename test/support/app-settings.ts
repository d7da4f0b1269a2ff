// Settings of Purser in tests: the defaults, on free ports of loopback.

import type { AppSettings } from '../../src/app/options.ts';
import { parseConfig } from '../../src/config/config.ts';

/** Returns the settings, with those that a test overrides. */
export function appSettings(overrides: Partial<AppSettings>): AppSettings {
  const loopback = { bindAddress: '127.0.0.1', ownAddress: '127.0.0.1', allowLoopback: true, facadePort: 0, metricsPort: 0 };
  const credentials = overrides.namespace === undefined ? {} : { credentialNamespaces: [overrides.namespace] };
  return {
    ...parseConfig(new Map(), {}),
    ...loopback,
    ...credentials,
    metricsAuth: 'none',
    verifyIntervalMs: 0,
    drainMs: 5_000,
    ...overrides,
  };
}
