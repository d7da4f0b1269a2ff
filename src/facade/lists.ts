// All filtered lists of the façade. To add a list, describe it as in clusters/cluster-list.ts, and add it to LISTS.

import { Subscription } from 'rxjs';
import type { ApiObject } from '../api/resources.ts';
import { CLUSTER_LIST } from './clusters/cluster-list.ts';
import type { WatchLimits } from './limits/concurrency.ts';
import type { FilteredList, Listing } from './listwatch/filtered-list.ts';
import type { Followed } from './listwatch/history.ts';
import { createListWatch, type ListWatch, type ListWatchOptions, sharedLimits } from './listwatch/list-watch.ts';

/** Lists by the name of the informer of their objects. */
export const LISTS = { clusters: CLUSTER_LIST };

type ListsByInformer = Readonly<Record<string, FilteredList<ApiObject>>>;
type ObjectOf<L> = L extends FilteredList<infer T> ? T : never;

/** The informers of listed objects. */
export type ListInformers<L extends ListsByInformer = typeof LISTS> = { readonly [Name in keyof L]: Followed<ObjectOf<L[Name]>> };

export interface ListsOptions<L extends ListsByInformer> extends Omit<ListWatchOptions<ApiObject>, 'list' | 'objects' | 'limits'> {
  readonly lists: L;
  readonly informers: ListInformers<L>;
  /** Limits on watches of all lists together. */
  readonly watchLimits: WatchLimits;
}

/** The endpoints of all lists. */
export interface Lists extends Pick<ListWatch, 'routes' | 'watching' | 'run'> {
  /** Public descriptions of the lists. */
  readonly listings: readonly Listing[];
}

/** Creates the endpoints of the lists, which share their limits. */
export function createLists<L extends ListsByInformer>({ lists, informers, watchLimits, ...options }: ListsOptions<L>): Lists {
  const { clock, random } = options;
  const listings = Object.values(lists);
  const limits = sharedLimits(listings, { clock, random, watchLimits });
  const objectsOf: Readonly<Record<string, Followed<ApiObject>>> = informers;
  const all = Object.entries(lists).map(([name, list]) => createListWatch({ ...options, limits, list, objects: objectsOf[name]! }));
  return {
    listings,
    routes: all.flatMap(({ routes }) => routes),
    watching: () => all.reduce((sum, list) => sum + list.watching(), 0),
    run() {
      const running = new Subscription();
      for (const list of all) running.add(list.run());
      return running;
    },
  };
}
