// All filtered lists of the façade; docs/contributing.md describes how to add one. A list of a namespaced kind belongs in LISTS_ON_DEMAND,
// because only lists on demand follow Roles and RoleBindings.

import { Subscription } from 'rxjs';
import type { ApiObject } from '../api/resources.ts';
import type { KubeClient } from '../kube/client.ts';
import type { ListWatchProblem } from '../kube/informer.ts';
import type { Logger } from '../telemetry/logger.ts';
import { CLUSTER_LIST } from './clusters/cluster-list.ts';
import type { WatchLimits } from './limits/concurrency.ts';
import type { FilteredList, Listing } from './listwatch/filtered-list.ts';
import type { ListSource } from './listwatch/history.ts';
import { createListEndpoints, createSharedLimits, type ListEndpoints, type ListEndpointsOptions } from './listwatch/list-endpoints.ts';
import { createOnDemandList, type OnDemandInformers } from './listwatch/on-demand.ts';
import type { OnDemandInformersOptions } from './listwatch/on-demand-informers.ts';
import { createManagedTokenInformers } from './managed-tokens/informers.ts';
import { MANAGED_TOKEN_LIST } from './managed-tokens/managed-token-list.ts';

/** Lists, by the name of the informer that watches their objects. */
export const LISTS = { clusters: CLUSTER_LIST };

/** Lists whose informers run only while callers use them. */
export const LISTS_ON_DEMAND: readonly OnDemandEntry[] = [
  declareOnDemand({ list: MANAGED_TOKEN_LIST, createInformers: createManagedTokenInformers, clusterRole: 'purser-facade-tokens' }),
];

export const ALL_LISTS: readonly Listing[] = [...Object.values(LISTS), ...LISTS_ON_DEMAND.map(({ listing }) => listing)];

type ListsByInformer = Readonly<Record<string, FilteredList<ApiObject>>>;
type ObjectOf<L> = L extends FilteredList<infer T> ? T : never;

/** The informers of listed objects. */
export type ListInformers<L extends ListsByInformer = typeof LISTS> = { readonly [Name in keyof L]: ListSource<ObjectOf<L[Name]>> };

export interface ListsOptions<L extends ListsByInformer> extends Omit<ListEndpointsOptions<ApiObject>, 'list' | 'objects' | 'limits'> {
  readonly lists: L;
  readonly informers: ListInformers<L>;
  /** Lists whose informers run only while callers use them; none by default. */
  readonly listsOnDemand?: readonly OnDemandList[];
  /** Limits on watches of all lists together. */
  readonly watchLimits: WatchLimits;
}

/** A list whose informers run only while callers use it. */
interface OnDemandList {
  readonly listing: Listing;
  create(options: Omit<ListEndpointsOptions<ApiObject>, 'list' | 'objects'>): ListEndpoints;
}

interface OnDemandSettings extends Omit<OnDemandInformersOptions, 'client' | 'onOverBudget'> {
  readonly hub: KubeClient;
  readonly log: Logger;
  /** Called for each failure of an informer, with the remedy for missing permissions. */
  readonly onProblem: (problem: ListWatchProblem, forbiddenRemedy: string) => void;
}

interface OnDemandEntry {
  readonly listing: Listing;
  create(settings: OnDemandSettings): OnDemandList;
}

interface OnDemandDeclaration<T extends ApiObject> {
  readonly list: FilteredList<T>;
  readonly createInformers: (options: OnDemandInformersOptions) => OnDemandInformers<T>;
  /** ClusterRole in deploy/base/access.yaml that lets Purser list and watch the objects, Roles and RoleBindings. */
  readonly clusterRole: string;
}

/** Returns an entry of LISTS_ON_DEMAND. */
export function declareOnDemand<T extends ApiObject>({ list, createInformers, clusterRole }: OnDemandDeclaration<T>): OnDemandEntry {
  const { plural, kind } = list;
  const budgetMessage = `namespace exceeds its budget for the list of ${kind.kind}s`;
  const forbiddenRemedy = `let Purser list and watch ${plural}, roles and rolebindings, as the ClusterRole ${clusterRole} in deploy/base/access.yaml does`;
  return {
    listing: list,
    create: ({ hub: client, log, onProblem, ...options }) => {
      const onOverBudget = (namespace: string, resource: string) => log.warn({ namespace, resource, remedy: BUDGET_REMEDY }, budgetMessage);
      return {
        listing: list,
        create: (shared) =>
          createOnDemandList({
            ...shared,
            list,
            createInformers: () => createInformers({ ...options, client, onOverBudget }),
            onProblem: (problem) => onProblem(problem, forbiddenRemedy),
          }),
      };
    },
  };
}

/** Returns the lists whose informers run only while callers use them. */
export function createListsOnDemand(settings: OnDemandSettings, entries = LISTS_ON_DEMAND): readonly OnDemandList[] {
  return entries.map((entry) => entry.create(settings));
}

const BUDGET_REMEDY =
  'shorten or delete the largest objects of this resource in the namespace; for budgets and their effects, see "Limits of the façade" in docs/operating.md';

/** The endpoints of all lists. */
export interface Lists extends Pick<ListEndpoints, 'routes' | 'countWatches' | 'run'> {
  /** Public descriptions of the lists. */
  readonly listings: readonly Listing[];
}

/** Creates the endpoints of the lists. All lists share their limits. */
export function createLists<L extends ListsByInformer>(all: ListsOptions<L>): Lists {
  const { lists, informers, listsOnDemand: onDemand = [], watchLimits, ...options } = all;
  const { clock, random } = options;
  const listings = [...Object.values(lists), ...onDemand.map(({ listing }) => listing)];
  const limits = createSharedLimits(listings, { clock, random, watchLimits });
  const objectsOf: Readonly<Record<string, ListSource<ApiObject>>> = informers;
  const created = [
    ...Object.entries(lists).map(([name, list]) => createListEndpoints({ ...options, limits, list, objects: objectsOf[name]! })),
    ...onDemand.map((list) => list.create({ ...options, limits })),
  ];
  return {
    listings,
    routes: created.flatMap(({ routes }) => routes),
    countWatches: () => created.reduce((sum, list) => sum + list.countWatches(), 0),
    run() {
      const running = new Subscription();
      for (const list of created) running.add(list.run());
      return running;
    },
  };
}
