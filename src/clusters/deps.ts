// What the controller of Clusters works with.

import type { KubeClient } from '../kube/client.ts';
import type { Recorder } from '../kube/recorder.ts';
import type { Clock } from '../std/clock.ts';
import type { ClusterClients } from '../targets/cluster-clients.ts';
import type { Metrics } from '../telemetry/metrics.ts';
import type { ClusterMemory } from './memory.ts';
import type { RegistryView } from './observe.ts';

/** What an operator can set. */
export interface ProbeSettings {
  /** How often each cluster is asked whether it is ready. */
  readonly probeIntervalMs: number;
  /** How often version, identity and rights are looked at. */
  readonly accessIntervalMs: number;
}

export interface ClusterDeps {
  readonly hub: KubeClient;
  readonly clients: ClusterClients;
  readonly recorder: Pick<Recorder, 'record'>;
  readonly clock: Clock;
  readonly metrics?: Pick<Metrics, 'observeQueue' | 'recordProbe'>;
  readonly settings: ProbeSettings;
  readonly view: RegistryView;
  readonly memory: ClusterMemory;
}
