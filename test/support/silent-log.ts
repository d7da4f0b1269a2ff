// Logger without output.

import { createLogger } from '../../src/telemetry/logger.ts';

export const silentLog = createLogger({ level: 'silent', readable: false, write: () => {} });
