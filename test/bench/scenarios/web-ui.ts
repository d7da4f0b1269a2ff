// The web UI in Chromium: first rows, many events, the size of its files, and the cost of an idle page for the façade.

import { runScript } from '../child-process.ts';
import { round } from '../process-usage.ts';
import { atMost, type Scenario } from '../scenario.ts';

interface Rows {
  readonly firstRowsMs: number;
}

/** Cost of an idle client for the façade. */
interface Idle {
  readonly cpuPercent: number;
  readonly rssMegabytes: number;
  readonly requests: number;
  readonly watches: number;
}

interface Measured extends Rows {
  /** The first page since the start of the façade. */
  readonly first: Rows;
  readonly eventsPerSecond: number;
  /** Longest task above 50 ms; 0 without one. */
  readonly longestTaskMs: number;
  /** Longest CPU time of a task. */
  readonly longestCpuMs: number;
  readonly framesPerSecond: number;
  readonly idle: { readonly seconds: number; readonly page: Idle; readonly client: Idle };
  readonly compressedBytes: number;
}

export const webUi: Scenario = {
  name: 'ui',
  title: 'The web UI in Chromium',
  sizeUnit: 'ManagedTokens',
  sizes: { small: 10_000, full: 10_000 },
  note: `With 1,000 Clusters, on the façade of \`purser run\`, whose hub is the embedded API server; the time to the first rows includes the
  login. The façade reads the ManagedTokens from the hub for the first page, and keeps them for ten minutes after the last. Of the events, two
  fifths come from a permission on 100 ManagedTokens that is withdrawn and granted again, the others from changed statuses. Other programs
  on the machine lengthen tasks more than their CPU time, and lower the rate of events. The plain client watches the same two lists; the
  kernel counts CPU time in steps of 10 ms, and memory varies with garbage collection, so equal clients differ by some percent. Needs
  the Debian package chromium.`,
  run: async ({ size }, progress) => {
    progress(`${size} ManagedTokens`);
    const measured = await runScript<Measured>('../browser/measure.ts', [size]);
    const { first, firstRowsMs, eventsPerSecond, longestTaskMs, longestCpuMs, framesPerSecond, idle, compressedBytes } = measured;
    const tokens = `${size.toLocaleString('en-US')} ManagedTokens`;
    const events = `${eventsPerSecond} events per second for 10 s`;
    const { page, client } = idle;
    return {
      measured,
      figures: [
        { name: `${tokens}: first byte of the page to first rows`, value: round(firstRowsMs), unit: 'ms', goal: atMost(1_000) },
        { name: `${tokens}: first byte of the first page to first rows`, value: round(first.firstRowsMs), unit: 'ms' },
        { name: `${events}: longest CPU time of a task`, value: round(longestCpuMs), unit: 'ms', goal: atMost(50) },
        { name: `${events}: longest task above 50 ms (0: none)`, value: round(longestTaskMs), unit: 'ms' },
        { name: `${events}: frames per second`, value: framesPerSecond, unit: '' },
        { name: 'files of the page, compressed', value: round(compressedBytes / 1_000), unit: 'kB', goal: atMost(60) },
        { name: `idle page: requests in ${idle.seconds} s`, value: page.requests, unit: '', goal: atMost(0) },
        { name: 'idle page: open watches', value: page.watches, unit: '', goal: atMost(2) },
        {
          name: 'idle page: CPU of the façade, relative to an idle plain client',
          value: page.cpuPercent / client.cpuPercent,
          unit: '×',
          goal: atMost(1.25),
        },
        { name: 'idle page: CPU of the façade, percentage of a core', value: page.cpuPercent, unit: '%' },
        {
          name: 'idle page: memory of the façade, relative to an idle plain client',
          value: page.rssMegabytes / client.rssMegabytes,
          unit: '×',
          goal: atMost(1.05),
        },
        { name: 'idle page: memory of the façade', value: page.rssMegabytes, unit: 'MB' },
      ],
      charts: [],
    };
  },
};
