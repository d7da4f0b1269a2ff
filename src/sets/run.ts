// One run of the controller for one ManagedTokenSet: its dependencies, memory and signal.

import type { KubeClient } from '../kube/client.ts';
import type { Recorder } from '../kube/recorder.ts';
import type { Clock } from '../std/clock.ts';
import type { ClusterClients } from '../targets/cluster-clients.ts';
import type { Logger } from '../telemetry/logger.ts';
import type { NamespaceBudgets } from '../tokens/budgets.ts';
import type { SetAuthorizer } from './authorizer.ts';
import type { SetView } from './informers.ts';
import type { StoredSet } from './policy/template.ts';
import type { TrackedSet, TrackedSets } from './tracked-set.ts';

/** Settings of the operator for ManagedTokenSets. */
export interface SetSettings {
  /** Namespaces on target clusters that the name of a whole cluster or set in a rule does not cover; see `toIssueNames`. */
  readonly protectedNamespaces: readonly string[];
  /** Namespaces with cluster credentials, in which sets are rejected. */
  readonly credentialNamespaces: readonly string[];
}

/** Shared state of all runs during one term of the controller. */
export interface SetDeps {
  /** Client with the field manager of sets. */
  readonly hub: KubeClient;
  readonly clients: Pick<ClusterClients, 'endpointsOf'>;
  readonly recorder: Pick<Recorder, 'record'>;
  readonly clock: Clock;
  /** Clock for the deadline of each run. */
  readonly timers: Clock;
  readonly log: Logger;
  readonly settings: SetSettings;
  readonly view: SetView;
  readonly memory: TrackedSets;
  readonly authorizer: SetAuthorizer;
  /**
   * Budgets of namespaces. Charges must not depend on Clusters that a requester must not learn about: otherwise, they would reveal the
   * number of such Clusters.
   */
  readonly budgets: NamespaceBudgets;
}

/** One run for one set. */
export interface SetRun extends SetDeps {
  /** `namespace/name` of the set. */
  readonly key: string;
  readonly set: StoredSet;
  readonly tracked: TrackedSet;
  /** True if the requester exists. */
  readonly hasRequester: boolean;
  readonly signal: AbortSignal;
  /** Requests the next run at this time, unless an earlier run is already requested. */
  readonly requeue: (at: number) => void;
  /** Returns whether the set still exists with the same spec: a run writes nothing after the set is deleted or changed. */
  readonly isCurrent: () => boolean;
}
