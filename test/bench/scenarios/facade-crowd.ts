// Many clients of the façade: their memory, and the waiting time of a new client.

import { runScript } from '../child-process.ts';
import { atLeast, atMost, type Figure, type Scenario } from '../scenario.ts';

interface Newcomers {
  readonly slowestMs: number;
  readonly served: number;
}

interface Watches {
  readonly newcomers: Newcomers;
  readonly codes: Readonly<Record<string, number>>;
  readonly peakRssMegabytes: number;
  readonly afterMegabytes: number;
  /** Memory of one watch. */
  readonly kilobytes: number;
}

/** Figures that `facade-crowd.ts` prints and the scenario uses. */
interface CrowdFigures {
  readonly restMegabytes: number;
  readonly http2Watches: Watches;
  readonly watches: Watches;
  readonly bareKilobytes: number;
  readonly silent: Newcomers;
  readonly tokens: Newcomers;
  readonly lists: Newcomers;
  readonly oneCaller: Newcomers;
}

const CLUSTERS = 700;
const NEWCOMER_MS = 1_000;

export const facadeCrowd: Scenario = {
  name: 'facade-crowd',
  title: 'Many clients of the façade',
  sizeUnit: 'watchers',
  sizes: { small: 2_000, full: 10_000 },
  note: `The hub has ${CLUSTERS} clusters. The watches belong to 50 callers, and each watch receives all clusters as initial events. Over
HTTP/2, the protocol of client-go, up to 100 watches share a connection; over HTTP/1.1, each watch has its own connection. New clients use
tokens that the façade has not seen, from an address that only they use. Without a memory limit, the façade allows 10,000 watches.`,
  run: async ({ size: watchers }, progress) => {
    progress(`${CLUSTERS} clusters, ${watchers} watchers`);
    const measured = await runScript<CrowdFigures>('facade-crowd.ts', [CLUSTERS, watchers]);
    const { http2Watches, watches, bareKilobytes, silent, tokens, lists, oneCaller } = measured;
    const all = watchers.toLocaleString('en-US');
    const slowest = (name: string, { slowestMs }: Newcomers) => ({
      name: `new client, with ${name}: slowest response`,
      value: slowestMs,
      unit: 'ms',
      goal: atMost(NEWCOMER_MS),
    });
    return {
      measured,
      figures: [
        ...watchFigures(`${all} watchers over HTTP/2`, http2Watches, watchers),
        ...watchFigures(`${all} watchers over HTTP/1.1`, watches, watchers),
        {
          name: 'memory of one watch over HTTP/1.1, relative to an open response from a bare server',
          value: watches.kilobytes / bareKilobytes,
          unit: '×',
          goal: atMost(1.25),
        },
        slowest(`${all} watchers over HTTP/2`, http2Watches.newcomers),
        slowest(`${all} watchers over HTTP/1.1`, watches.newcomers),
        slowest('4,000 silent connections', silent),
        slowest('a flood of random tokens', tokens),
        slowest('128 clients that do not read their full lists', lists),
        slowest('a flood of requests by one caller', oneCaller),
      ],
      charts: [],
    };
  },
};

function watchFigures(name: string, { codes, peakRssMegabytes, kilobytes, afterMegabytes }: Watches, watchers: number): readonly Figure[] {
  return [
    { name: `${name}: watches served`, value: codes['200'] ?? 0, unit: '', goal: atLeast(watchers) },
    { name: `${name}: maximum memory`, value: peakRssMegabytes, unit: 'MB', goal: atMost(512) },
    { name: `${name}: memory of one watch`, value: kilobytes, unit: 'kB' },
    { name: `${name}: memory 20 s after disconnection`, value: afterMegabytes, unit: 'MB' },
  ];
}
