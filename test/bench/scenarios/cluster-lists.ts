// The cluster list and its watches beside kube-apiserver's own.

import { atMost, type Outcome, type Scenario } from '../scenario.ts';
import { runScript } from '../script.ts';

/** What `clusters-list.ts` prints, as far as it is shown. */
export interface ListFigures {
  readonly clusters: number;
  /** Those that one of the callers sees. */
  readonly visible: number;
  readonly watchers: number;
  readonly lists: {
    readonly fullMs: Readonly<Record<'facade' | 'floor' | 'hub', number>>;
    readonly smallMs: Readonly<Record<'hubBySelector' | 'facadeByRights', number>>;
  };
  readonly watches: {
    readonly microseconds: Readonly<Record<'hub' | 'facade', Readonly<Record<'single' | 'burst', number>>>>;
  };
}

export const clusterLists: Scenario = {
  name: 'cluster-lists',
  title: 'Cluster lists and watches through the façade',
  what: 'clusters',
  sizes: { small: 2_000, full: 10_000 },
  run: async ({ size: clusters }, tell) => {
    const watchers = Math.ceil(clusters / 10);
    tell(`${clusters} clusters, ${watchers} watchers`);
    return outcomeOf(await runScript<ListFigures>('clusters-list.ts', [clusters, watchers]));
  },
};

/** The goals are for lists of so many: of short ones, what every request takes is the larger part. */
const LONG = 10_000;

function outcomeOf(measured: ListFigures): Outcome {
  const { clusters, visible, watchers } = measured;
  const { fullMs, smallMs } = measured.lists;
  const { hub, facade } = measured.watches.microseconds;
  const all = clusters.toLocaleString('en-US');
  const goal = (value: number) => (clusters >= LONG ? { goal: atMost(value) } : {});
  return {
    measured,
    figures: [
      { name: `list of ${all}: CPU, relative to kube-apiserver`, value: fullMs.facade / fullMs.hub, unit: '×', ...goal(1 / 30) },
      { name: `list of ${all}: CPU, relative to a ready-made buffer`, value: fullMs.facade / fullMs.floor, unit: '×', ...goal(1.3) },
      {
        name: `list of ${visible} of ${all}: CPU, relative to kube-apiserver`,
        value: smallMs.facadeByRights / smallMs.hubBySelector,
        unit: '×',
        ...goal(0.1),
      },
      {
        name: `event to ${watchers} watchers, one by one: CPU, relative to kube-apiserver`,
        value: facade.single / hub.single,
        unit: '×',
        goal: atMost(1),
      },
      {
        name: `event to ${watchers} watchers, in bursts: CPU, relative to kube-apiserver`,
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
          { label: 'ready-made buffer', value: fullMs.floor },
          { label: 'kube-apiserver', value: fullMs.hub },
        ],
      },
      {
        name: 'cluster-watch',
        title: `CPU of one event for one of ${watchers} watchers`,
        unit: 'µs',
        bars: [
          { label: 'façade, one by one', value: facade.single },
          { label: 'kube-apiserver, one by one', value: hub.single },
          { label: 'façade, in bursts', value: facade.burst },
          { label: 'kube-apiserver, in bursts', value: hub.burst },
        ],
      },
    ],
  };
}
