// Cluster lists and watches, compared with kube-apiserver's.

import { runScript } from '../child-process.ts';
import { atMost, type Outcome, type Scenario } from '../scenario.ts';

/** Figures that `clusters-list.ts` prints and the scenario uses. */
export interface ListFigures {
  readonly clusters: number;
  /** Number of clusters that the restricted caller sees. */
  readonly visible: number;
  readonly watchers: number;
  readonly lists: {
    readonly fullMs: Readonly<Record<'facade' | 'floor' | 'hub', number>>;
    readonly smallMs: Readonly<Record<'hubBySelector' | 'facadeByPermissions', number>>;
  };
  readonly watches: {
    readonly microseconds: Readonly<Record<'hub' | 'facade', Readonly<Record<'single' | 'burst', number>>>>;
  };
}

export const clusterLists: Scenario = {
  name: 'cluster-lists',
  title: 'Cluster lists and watches through the façade',
  sizeUnit: 'clusters',
  sizes: { small: 2_000, full: 10_000 },
  note: `The static body has the length of the list; a bare HTTPS server sends it. "By permissions" is the list of a caller who may see only
these clusters; "by label" is the list of an administrator with a label selector that matches the same clusters.`,
  run: async ({ size: clusters }, progress) => {
    const watchers = Math.ceil(clusters / 10);
    progress(`${clusters} clusters, ${watchers} watchers`);
    return toOutcome(await runScript<ListFigures>('clusters-list.ts', [clusters, watchers]));
  },
};

/** Size from which the goals apply; in shorter lists, the cost of each request dominates. */
const LONG = 10_000;

function toOutcome(measured: ListFigures): Outcome {
  const { clusters, visible, watchers } = measured;
  const { fullMs, smallMs } = measured.lists;
  const { hub, facade } = measured.watches.microseconds;
  const [all, many] = [clusters.toLocaleString('en-US'), watchers.toLocaleString('en-US')];
  const goal = (value: number) => (clusters >= LONG ? { goal: atMost(value) } : {});
  return {
    measured,
    figures: [
      { name: `list of ${all} clusters: CPU, relative to kube-apiserver`, value: fullMs.facade / fullMs.hub, unit: '×', ...goal(1 / 30) },
      { name: `list of ${all} clusters: CPU, relative to a static body`, value: fullMs.facade / fullMs.floor, unit: '×', ...goal(1.3) },
      {
        name: `list of ${visible} of ${all} clusters, by permissions: CPU, relative to kube-apiserver by label`,
        value: smallMs.facadeByPermissions / smallMs.hubBySelector,
        unit: '×',
        ...goal(0.1),
      },
      {
        name: `single events to ${many} watchers: CPU, relative to kube-apiserver`,
        value: facade.single / hub.single,
        unit: '×',
        goal: atMost(1),
      },
      {
        name: `bursts of events to ${many} watchers: CPU, relative to kube-apiserver`,
        value: facade.burst / hub.burst,
        unit: '×',
        goal: atMost(0.5),
      },
    ],
    charts: [
      {
        name: 'cluster-list',
        title: `CPU of one list of ${all} clusters`,
        unit: 'ms',
        bars: [
          { label: 'façade', value: fullMs.facade },
          { label: 'static body', value: fullMs.floor },
          { label: 'kube-apiserver', value: fullMs.hub },
        ],
      },
      {
        name: 'cluster-watch',
        title: `CPU per event and watcher, with ${many} watchers`,
        unit: 'µs',
        bars: [
          { label: 'façade, single events', value: facade.single },
          { label: 'kube-apiserver, single events', value: hub.single },
          { label: 'façade, bursts', value: facade.burst },
          { label: 'kube-apiserver, bursts', value: hub.burst },
        ],
      },
    ],
  };
}
