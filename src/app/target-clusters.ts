// The registered clusters, as everything in this process reaches them.

import { Subscription } from 'rxjs';
import type { Cluster } from '../api/cluster.gen.ts';
import type { Informer } from '../kube/informer.ts';
import type { Component } from '../runtime/lifecycle.ts';
import type { ClusterClients } from '../targets/cluster-clients.ts';

/** Ends the connections to Clusters that are deleted, whether this process leads or not, and to all of them at the end. */
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
