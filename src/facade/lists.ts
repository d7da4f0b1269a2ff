// All filtered lists of the façade. To add a list, describe it as in clusters/cluster-list.ts, and add it to LISTINGS, and to
// LISTS, or to the lists on demand of app/facade.ts if a process needs its objects only for the list.

import { Subscription } from 'rxjs';
import type { ApiObject } from '../api/resources.ts';
import { CLUSTER_LIST } from './clusters/cluster-list.ts';
import type { WatchLimits } from './limits/concurrency.ts';
import type { FilteredList, Listing } from './listwatch/filtered-list.ts';
import type { Followed } from './listwatch/history.ts';
import { createListWatch, type ListWatch, type ListWatchOptions, sharedLimits } from './listwatch/list-watch.ts';
import { createOnDemandList, type OnDemandOptions } from './listwatch/on-demand.ts';
import { MANAGED_TOKEN_LIST } from './managed-tokens/managed-token-list.ts';

/** Lists by the name of their objects' informer. */
export const LISTS = { clusters: CLUSTER_LIST };

/** All lists of the façade. */
export const LISTINGS: readonly Listing[] = [CLUSTER_LIST, MANAGED_TOKEN_LIST];

type ListsByInformer = Readonly<Record<string, FilteredList<ApiObject>>>;
type ObjectOf<L> = L extends FilteredList<infer T> ? T : never;

/** The informers of listed objects. */
export type ListInformers<L extends ListsByInformer = typeof LISTS> = { readonly [Name in keyof L]: Followed<ObjectOf<L[Name]>> };

export interface ListsOptions<L extends ListsByInformer> extends Omit<ListWatchOptions<ApiObject>, 'list' | 'objects' | 'limits'> {
  readonly lists: L;
  readonly informers: ListInformers<L>;
  /** Lists whose objects are followed only while callers use them; none by default. */
  readonly listsOnDemand?: readonly ListOnDemand[];
  /** Limits on watches of all lists together. */
  readonly watchLimits: WatchLimits;
}

/** A list whose objects are followed only while callers use it. */
export interface ListOnDemand {
  readonly listing: Listing;
  create(options: Omit<ListWatchOptions<ApiObject>, 'list' | 'objects'>): ListWatch;
}

/** Returns a list whose informers are created when callers use it. */
export function onDemand<T extends ApiObject>(
  list: FilteredList<T>,
  informers: Pick<OnDemandOptions<T>, 'createInformers' | 'onProblem'>,
): ListOnDemand {
  return { listing: list, create: (options) => createOnDemandList({ ...options, ...informers, list }) };
}

/** The endpoints of all lists. */
export interface Lists extends Pick<ListWatch, 'routes' | 'watching' | 'run'> {
  /** Public descriptions of the lists. */
  readonly listings: readonly Listing[];
}

/** Creates the endpoints of the lists, which share their limits. */
export function createLists<L extends ListsByInformer>(all: ListsOptions<L>): Lists {
  const { lists, informers, listsOnDemand = [], watchLimits, ...options } = all;
  const { clock, random } = options;
  const listings = [...Object.values(lists), ...listsOnDemand.map(({ listing }) => listing)];
  const limits = sharedLimits(listings, { clock, random, watchLimits });
  const objectsOf: Readonly<Record<string, Followed<ApiObject>>> = informers;
  const created = [
    ...Object.entries(lists).map(([name, list]) => createListWatch({ ...options, limits, list, objects: objectsOf[name]! })),
    ...listsOnDemand.map((list) => list.create({ ...options, limits })),
  ];
  return {
    listings,
    routes: created.flatMap(({ routes }) => routes),
    watching: () => created.reduce((sum, list) => sum + list.watching(), 0),
    run() {
      const running = new Subscription();
      for (const list of created) running.add(list.run());
      return running;
    },
  };
}
