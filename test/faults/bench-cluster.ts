// A cluster of the bench: real etcd and kube-apiserver, direct access for the bench, and a fault proxy for Purser.

import { type RealCluster, type RealClusterOptions, startRealCluster } from '../support/real-cluster.ts';
import { Api } from './api.ts';
import type { Bearers } from './bearers.ts';
import type { History } from './history.ts';
import { FaultProxy } from './proxy/fault-proxy.ts';

export interface BenchCluster {
  readonly name: string;
  readonly cluster: RealCluster;
  /** Client that bypasses the proxy. */
  readonly api: Api;
  /** Proxy that Purser uses as the address of the API server. */
  readonly proxy: FaultProxy;
}

/** Records of the requests through the proxies. */
export interface Records {
  readonly history: History;
  readonly bearers: Bearers;
}

/** Starts a cluster behind a proxy; records every request through the proxy. */
export async function startCluster(name: string, { history, bearers }: Records, options: RealClusterOptions = {}): Promise<BenchCluster> {
  const cluster = await startRealCluster(options);
  const upstream = { port: cluster.port, ca: () => cluster.ca };
  const proxy = await FaultProxy.start({
    name,
    upstream,
    onRelayed: (relayed) => history.add({ type: 'request', ...relayed }),
    onBearer: (token) => bearers.record(name, token),
    onWire: (isFaulty) => history.add({ type: 'wire', server: name, isFaulty }),
  });
  return { name, cluster, api: new Api(cluster.port, () => cluster.ca), proxy };
}

/** Restarts the API server, even after it was killed. */
export async function restartCluster({ cluster, api, proxy }: BenchCluster, how: 'stop' | 'kill' = 'kill'): Promise<void> {
  await cluster.restart(how);
  api.reconnect();
  proxy.reconnectUpstream();
}

export async function stopCluster({ cluster, api, proxy }: BenchCluster): Promise<void> {
  await proxy.close();
  api.close();
  await cluster.stop();
}
