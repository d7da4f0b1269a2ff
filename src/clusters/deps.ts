// Dependencies of the Cluster controller.

import type { KubeClient } from '../kube/client.ts';
import type { Recorder } from '../kube/recorder.ts';
import type { Clock } from '../std/clock.ts';
import type { ClusterClients } from '../targets/cluster-clients.ts';
import type { RenewalFailure } from '../targets/policy/renewal.ts';
import type { Metrics } from '../telemetry/metrics.ts';
import type { RegistryView } from './registry-view.ts';
import type { TrackedClusters } from './tracked-cluster.ts';

/** Settings of the operator. */
export interface ProbeSettings {
  /** Interval of /readyz probes of each cluster, in milliseconds. */
  readonly probeIntervalMs: number;
  /** Interval of checks of version, identity and permissions, in milliseconds. */
  readonly accessIntervalMs: number;
}

export interface ClusterDeps {
  readonly hub: KubeClient;
  readonly clients: ClusterClients;
  readonly recorder: Pick<Recorder, 'record'>;
  readonly clock: Clock;
  readonly metrics?: Pick<Metrics, 'observeQueue' | 'observeCredentials' | 'recordProbe'>;
  readonly settings: ProbeSettings;
  /** Renewals of credentials; undefined in tests without them. */
  readonly renewals?: { failureOf(key: string): RenewalFailure | undefined };
  readonly view: RegistryView;
  readonly tracked: TrackedClusters;
}
