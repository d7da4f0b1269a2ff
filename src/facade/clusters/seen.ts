// The clusters of a collection that a caller may see, at the cost of those alone.

import type { Visibility } from '../../access/visibility.ts';
import type { ClusterCollection } from '../listwatch/collection.ts';
import type { PublishedCluster } from '../listwatch/item.ts';

/** In the order of their names, from `start` on. */
export function* seenBy(collection: ClusterCollection, visibility: Visibility, start = ''): Generator<PublishedCluster> {
  if (visibility.isEverything) return yield* collection.from(start);
  for (const name of visibility.names) {
    const cluster = name < start ? undefined : collection.get(name);
    if (cluster !== undefined) yield cluster;
  }
}
