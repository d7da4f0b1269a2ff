// A log that nobody reads.

import { createLogger } from '../../src/telemetry/logger.ts';

export const silentLog = createLogger({ level: 'silent', readable: false, write: () => {} });
