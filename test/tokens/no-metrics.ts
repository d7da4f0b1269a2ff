// Metrics of the token controller that record nothing.

import type { TokenMetrics } from '../../src/tokens/run.ts';

export const NO_METRICS: TokenMetrics = {
  observeQueue: () => {},
  observeBudgets: () => {},
  observeVerification: () => {},
  recordIssuance: () => {},
  recordOrphan: () => {},
  recordHeldRemoval: () => {},
  setRemovalPaused: () => {},
};
