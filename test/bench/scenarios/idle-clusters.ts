// Cost of idle healthy clusters, whose credentials Purser renews.

import { runScript } from '../child-process.ts';
import { atLeast, atMost, type Figure, type Scenario } from '../scenario.ts';

/** Figures that `clusters-idle.ts` prints and the scenario uses. */
export interface IdleFigures {
  readonly clusters: number;
  readonly seconds: number;
  readonly statusWrites: number;
  /** Number of Purser's credentials that were renewed. */
  readonly renewals: number;
  readonly cpuPercent: number;
  readonly rssMegabytes: number;
  /** Number of the clusters that send no responses. */
  readonly silent: number;
  /** Number of the clusters that respond slowly. */
  readonly slow: number;
  /** Time from the readiness of Purser until all healthy clusters were Ready. */
  readonly readySeconds: number;
  /** Probes of the healthy clusters. */
  readonly probes: { readonly count: number; readonly maxGapMs: number };
  /** Number of times that a healthy cluster lost its readiness, and of those that were not Ready at the end. */
  readonly notReady: number;
}

/**
 * Time before the measurement, in seconds. Credentials that are valid for an hour are renewed after an eighth of that time at the earliest.
 */
const BEFORE_SECONDS = 480;
/** Goal for a thousand clusters, as a percentage of a core. */
const CPU_PERCENT = 15;
const MEGABYTES = 300;

export const idleClusters: Scenario = {
  name: 'idle-clusters',
  title: 'Healthy clusters at rest',
  sizeUnit: 'clusters',
  sizes: { small: 250, full: 1_000 },
  note: `One process serves all clusters as stubs; the tokens that they issue to Purser are valid for an hour. Memory is measured with
\`LD_PRELOAD\` and \`MALLOC_CONF\` set as in the image.`,
  run: async ({ scale, size: clusters }, progress) => {
    const seconds = scale === 'full' ? 300 : 40;
    progress(`${clusters} clusters, ${seconds} s`);
    const measured = await runScript<IdleFigures>('clusters-idle.ts', [clusters, seconds, ...(scale === 'full' ? [BEFORE_SECONDS] : [])]);
    const { statusWrites, renewals, cpuPercent, rssMegabytes } = measured;
    // A renewal changes the expiry in the status.
    const writes = ((statusWrites - renewals) * 300) / seconds / clusters;
    // Less than two minutes after the start, code is not yet compiled: a cluster costs twice as much CPU.
    const cpuGoal = scale === 'full' ? { goal: atMost((CPU_PERCENT * clusters) / 1_000) } : {};
    const name = `${clusters.toLocaleString('en-US')} clusters`;
    return {
      measured,
      figures: [
        {
          name: `${name}: status writes per cluster in 5 minutes, excluding those after renewals`,
          value: writes,
          unit: '',
          ...(scale === 'full' && { goal: atMost(1) }),
        },
        {
          name: `${name}: renewals per second, of credentials that are valid for an hour`,
          value: renewals / seconds,
          unit: '',
          goal: atMost(1),
        },
        { name: `${name}: CPU, percentage of a core`, value: cpuPercent, unit: '%', ...cpuGoal },
        { name: `${name}: memory`, value: rssMegabytes, unit: 'MB', goal: atMost(MEGABYTES) },
        ...toProbeFigures(name, measured),
      ],
      charts: [],
    };
  },
};

/** Interval of probes, in seconds. */
const PROBE_SECONDS = 10;

/** Returns the figures that show whether Purser probed the healthy clusters in time: a Purser that probes less takes less CPU time. */
export function toProbeFigures(name: string, { clusters, silent, slow, seconds, probes, notReady }: IdleFigures): readonly Figure[] {
  const expected = ((clusters - silent - slow) * seconds) / PROBE_SECONDS;
  return [
    { name: `${name}: healthy clusters that were not Ready`, value: notReady, unit: '', goal: atMost(0) },
    {
      name: `${name}: probes of healthy clusters, relative to one every 10 s`,
      value: probes.count / expected,
      unit: '×',
      goal: atLeast(0.95),
    },
    {
      name: `${name}: longest time between probes of a healthy cluster`,
      value: probes.maxGapMs / 1_000,
      unit: 's',
      goal: atMost(PROBE_SECONDS * 1.2),
    },
  ];
}
