// One cluster of the bench: real programs, a way to them without faults, and a proxy with faults in front.

import { type RealCluster, type RealClusterOptions, startRealCluster } from '../support/real-cluster.ts';
import { Api } from './api.ts';
import type { History } from './history.ts';
import { FaultProxy } from './proxy/fault-proxy.ts';

export interface Place {
  readonly name: string;
  readonly cluster: RealCluster;
  /** Straight to the API server. */
  readonly api: Api;
  /** What Purser knows as the API server. */
  readonly proxy: FaultProxy;
}

/** Starts a cluster behind a proxy; every request through it is recorded. */
export async function startPlace(name: string, history: History, options: RealClusterOptions = {}): Promise<Place> {
  const cluster = await startRealCluster(options);
  const upstream = { port: cluster.port, ca: () => cluster.ca };
  const proxy = await FaultProxy.start({
    name,
    upstream,
    onRelayed: (relayed) => history.add({ type: 'request', ...relayed }),
    onWire: (isFaulty) => history.add({ type: 'wire', server: name, isFaulty }),
  });
  return { name, cluster, api: new Api(cluster.port, () => cluster.ca), proxy };
}

/** Starts the API server again, whatever became of it. */
export async function restartPlace({ cluster, api, proxy }: Place, how: 'stop' | 'kill' = 'kill'): Promise<void> {
  await cluster.restart(how);
  api.reconnect();
  proxy.upstreamRestarted();
}

export async function stopPlace({ cluster, api, proxy }: Place): Promise<void> {
  await proxy.close();
  api.close();
  await cluster.stop();
}
