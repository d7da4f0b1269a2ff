// All filtered lists of the façade. To add a list, describe it as in clusters/cluster-list.ts and add it to LISTINGS and createLists.

import { Subscription } from 'rxjs';
import { CLUSTER_LISTING, type ClusterListOptions, createClusterList } from './clusters/cluster-list.ts';
import type { Listing } from './listwatch/filtered-list.ts';
import type { ListWatch } from './listwatch/list-watch.ts';

export type ListsOptions = ClusterListOptions;

/** Public descriptions of the lists. */
export const LISTINGS: readonly Listing[] = [CLUSTER_LISTING];

/** Creates the lists. */
export function createLists(options: ListsOptions): Pick<ListWatch, 'routes' | 'watching' | 'run'> {
  const lists = [createClusterList(options)];
  return {
    routes: lists.flatMap(({ routes }) => routes),
    watching: () => lists.reduce((sum, list) => sum + list.watching(), 0),
    run() {
      const running = new Subscription();
      for (const list of lists) running.add(list.run());
      return running;
    },
  };
}
