// What healthy clusters cost while nothing happens.

import { atMost, type Scenario } from '../scenario.ts';
import { runScript } from '../script.ts';

/** What `clusters-idle.ts` prints, as far as it is shown. */
export interface IdleFigures {
  readonly clusters: number;
  readonly seconds: number;
  readonly statusWrites: number;
  readonly cpuPercent: number;
  readonly rssMegabytes: number;
}

/** The goal is for a thousand clusters. */
const CPU_PERCENT = 15;
const MEGABYTES = 300;

export const idleClusters: Scenario = {
  name: 'idle-clusters',
  title: 'Healthy clusters at rest',
  what: 'clusters',
  sizes: { small: 250, full: 1_000 },
  run: async ({ scale, size: clusters }, tell) => {
    const seconds = scale === 'full' ? 300 : 40;
    tell(`${clusters} clusters, ${seconds} s`);
    const measured = await runScript<IdleFigures>('clusters-idle.ts', [clusters, seconds]);
    const { statusWrites, cpuPercent, rssMegabytes } = measured;
    const writes = (statusWrites * 300) / seconds / clusters;
    const name = `${clusters.toLocaleString('en-US')} clusters`;
    return {
      measured,
      figures: [
        { name: `${name}: status writes per cluster in 5 minutes`, value: writes, unit: '', ...(scale === 'full' && { goal: atMost(1) }) },
        { name: `${name}: CPU, percentage of a core`, value: cpuPercent, unit: '%', goal: atMost((CPU_PERCENT * clusters) / 1_000) },
        { name: `${name}: memory`, value: rssMegabytes, unit: 'MB', goal: atMost(MEGABYTES) },
      ],
      charts: [],
    };
  },
};
