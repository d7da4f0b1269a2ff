// What reconciling ManagedTokens needs from the rest of Purser.

import type { KubeClient } from '../kube/client.ts';
import type { Recorder } from '../kube/recorder.ts';
import type { Clock } from '../std/clock.ts';
import type { ClusterClients } from '../targets/cluster-clients.ts';
import type { TokenLimits } from '../targets/policy/token-request.ts';
import type { Logger } from '../telemetry/logger.ts';
import type { Metrics } from '../telemetry/metrics.ts';
import type { Authority } from './authority.ts';
import type { HubView } from './hub-view.ts';
import type { TokenMemory } from './memory.ts';
import type { RemovalLimits } from './removal-limits.ts';

/** What an operator can set. */
export interface TokenSettings {
  /** How often every token is put to TokenReview; 0 for never. */
  readonly verifyIntervalMs: number;
  /** Namespaces whose accounts must be named in a rule. */
  readonly protectedNamespaces: readonly string[];
  readonly limits: TokenLimits;
  /** Purser's own namespace. */
  readonly namespace: string;
}

/** Where is counted what happens to tokens. */
export type TokenMetrics = Pick<Metrics, 'queue' | 'issued' | 'orphaned' | 'removalHeld' | 'removalPaused' | 'overBudget'>;

export interface TokenDeps {
  readonly hub: KubeClient;
  readonly clients: Pick<ClusterClients, 'use' | 'endpointsOf'>;
  readonly recorder: Pick<Recorder, 'record'>;
  readonly clock: Clock;
  /** Clock of the deadline of each run. */
  readonly timers: Clock;
  readonly log: Logger;
  readonly metrics?: TokenMetrics | undefined;
  readonly settings: TokenSettings;
  readonly view: HubView;
  readonly memory: TokenMemory;
  readonly authority: Authority;
  readonly removals: RemovalLimits;
  /** When this term of the controller began. */
  readonly startedAt: number;
}
