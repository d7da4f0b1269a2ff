// The web UI in Chromium: first rows, many events, the size of its files, and the cost of an idle page for the façade.

import { runScript } from '../child-process.ts';
import { round } from '../process-usage.ts';
import { atMost, type Scenario } from '../scenario.ts';

interface Rows {
  readonly firstRowsMs: number;
}

/** Cost of an idle page, or of an idle plain client, for the façade. */
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
  note: `The façade of \`purser run\` serves the page; its hub is the embedded API server, with 1,000 Clusters. The time to the first rows
includes the login. For the first page, the façade reads the ManagedTokens from the hub; it keeps them until ten minutes after the last
request. Two fifths of the events come from a permission for 100 ManagedTokens that is withdrawn and granted again, the others from status
changes. Other programs on the machine prolong tasks more than they increase CPU times, and lower the rate of events. The plain client
watches the same two lists as the page. The kernel counts CPU time in steps of 10 ms, and memory varies with garbage collection, so the
figures of identical clients differ by a few percent. The scenario needs the Debian package chromium.`,
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
        {
          name: `${tokens}: time from the first byte of the page to the first rows`,
          value: round(firstRowsMs),
          unit: 'ms',
          goal: atMost(1_000),
        },
        {
          name: `${tokens}: time from the first byte to the first rows, for the first page after the start of the façade`,
          value: round(first.firstRowsMs),
          unit: 'ms',
        },
        { name: `${events}: longest CPU time of a task`, value: round(longestCpuMs), unit: 'ms', goal: atMost(50) },
        { name: `${events}: longest task above 50 ms (0: none)`, value: round(longestTaskMs), unit: 'ms' },
        { name: `${events}: frames per second`, value: framesPerSecond, unit: '' },
        { name: "size of the page's compressed files", value: round(compressedBytes / 1_000), unit: 'kB', goal: atMost(60) },
        { name: `idle page: requests in ${idle.seconds} s`, value: page.requests, unit: '', goal: atMost(0) },
        { name: 'idle page: open watches', value: page.watches, unit: '', goal: atMost(2) },
        {
          name: 'idle page: CPU of the façade, relative to that for an idle plain client',
          value: page.cpuPercent / client.cpuPercent,
          unit: '×',
          goal: atMost(1.25),
        },
        { name: 'idle page: CPU of the façade, percentage of a core', value: page.cpuPercent, unit: '%' },
        {
          name: 'idle page: memory of the façade, relative to that for an idle plain client',
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
