// Healthy clusters beside clusters that fail or respond slowly.

import { runScript } from '../child-process.ts';
import { atMost, type Figure, type Scenario } from '../scenario.ts';
import type { IdleFigures } from './idle-clusters.ts';

/** Share of the clusters that send no responses, and of those that respond slowly. */
const SHARE = 1 / 50;
/** Tolerance for two measurements of the same cost. */
const FLAT = 1.2;
/** Time before the measurement, in seconds: failing clusters are probed less often after a while. */
const BEFORE_SECONDS = 120;

export const failingClusters: Scenario = {
  name: 'failing-clusters',
  title: 'Healthy clusters beside failing ones',
  sizeUnit: 'clusters',
  sizes: { small: 400, full: 5_000 },
  note: `One in fifty clusters accepts connections and sends no responses; another one in fifty takes three seconds for each response. The
others are healthy. The figures without failing clusters are those of the same number of healthy clusters alone.`,
  run: async ({ scale, size }, progress) => {
    const failing = Math.ceil(size * SHARE);
    const seconds = scale === 'full' ? 120 : 20;
    const measure = async (clusters: number, failures: number) => {
      progress(`${clusters} clusters, ${2 * failures} of them failing`);
      return await runScript<IdleFigures>('clusters-idle.ts', [clusters, seconds, BEFORE_SECONDS, failures, failures]);
    };
    const [alone, beside] = [await measure(size - 2 * failing, 0), await measure(size, failing)];
    return { measured: { alone, beside }, figures: toFigures(alone, beside, failing.toLocaleString('en-US')), charts: [] };
  },
};

function toFigures(alone: IdleFigures, beside: IdleFigures, failing: string): readonly Figure[] {
  const name = `with ${failing} silent and ${failing} slow clusters`;
  const relative = (value: (figures: IdleFigures) => number) => ({ value: value(beside) / value(alone), unit: '×', goal: atMost(FLAT) });
  return [
    { name: `${name}: healthy clusters that are not Ready`, value: beside.notReadyAtEnd, unit: '', goal: atMost(0) },
    {
      name: `${name}: longest time between probes of a healthy cluster, relative to that without failing clusters`,
      ...relative(({ probes }) => probes.maxGapMs),
    },
    { name: `${name}: longest time between probes of a healthy cluster`, value: beside.probes.maxGapMs / 1_000, unit: 's' },
    {
      name: `${name}: probes of healthy clusters per second, relative to those without failing clusters`,
      value: beside.probes.count / alone.probes.count,
      unit: '×',
    },
    { name: `${name}: CPU, relative to that without failing clusters`, ...relative(({ cpuPercent }) => cpuPercent) },
    { name: `${name}: CPU, percentage of a core`, value: beside.cpuPercent, unit: '%' },
    { name: `${name}: memory`, value: beside.rssMegabytes, unit: 'MB' },
  ];
}
