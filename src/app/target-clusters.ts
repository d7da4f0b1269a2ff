// Connections to the registered clusters.

import { Subscription } from 'rxjs';
import type { Cluster } from '../api/cluster.gen.ts';
import type { Informer } from '../kube/informer.ts';
import type { Component } from '../runtime/lifecycle.ts';
import type { ClusterClients } from '../targets/cluster-clients.ts';

/** Creates the component that closes connections of deleted Clusters, on the leader and on followers, and all of them at shutdown. */
export function targetClusters(clients: ClusterClients, { changes$ }: Pick<Informer<Cluster>, 'changes$'>): Component {
  const following = new Subscription();
  const start = async () => {
    following.add(changes$.subscribe(({ type, object }) => (type === 'deleted' ? void clients.forget(object) : clients.recall(object))));
  };
  const stop = async () => {
    following.unsubscribe();
    await clients.close();
  };
  return { name: 'target clusters', start, stop };
}
