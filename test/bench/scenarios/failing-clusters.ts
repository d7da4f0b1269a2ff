// Healthy clusters beside clusters that fail or respond slowly.

import { runScript } from '../child-process.ts';
import { atMost, type Figure, type Scenario } from '../scenario.ts';
import { type IdleFigures, toProbeFigures } from './idle-clusters.ts';

/** Share of the clusters that send no responses, and of those that respond slowly. */
const SHARE = 1 / 50;
/** Tolerance for two measurements of the same time. */
const FLAT = 1.2;
/** Time before the measurement, in seconds: silent clusters are then known to be unreachable. */
const BEFORE_SECONDS = 90;
const SECONDS = 60;

export const failingClusters: Scenario = {
  name: 'failing-clusters',
  title: 'Healthy clusters beside failing ones',
  sizeUnit: 'clusters',
  sizes: { small: 400, full: 5_000 },
  note: `One in fifty clusters accepts connections and sends no responses; another one in fifty takes three seconds for each response. The
others are healthy. Figures that are marked "alone" come from another run with only the healthy clusters.`,
  run: async ({ size }, progress) => {
    const [silent, slow] = [Math.floor(size * SHARE), Math.floor(size * SHARE)];
    const measure = async (clusters: number, failing: readonly [silent: number, slow: number]) => {
      progress(`${clusters} clusters, ${failing[0]} of them silent and ${failing[1]} slow`);
      return await runScript<IdleFigures>('clusters-idle.ts', [clusters, SECONDS, BEFORE_SECONDS, ...failing]);
    };
    const alone = await measure(size - silent - slow, [0, 0]);
    const beside = await measure(size, [silent, slow]);
    return { measured: { alone, beside }, figures: toFigures(alone, beside), charts: [] };
  },
};

function toFigures(alone: IdleFigures, beside: IdleFigures): readonly Figure[] {
  const toName = (clusters: number) => clusters.toLocaleString('en-US');
  const healthy = `${toName(alone.clusters)} healthy clusters`;
  const name = `${healthy} beside ${toName(beside.silent)} silent and ${toName(beside.slow)} slow ones`;
  return [
    ...toProbeFigures(name, beside),
    {
      name: `${name}: longest time between probes of a healthy cluster, relative to that alone`,
      value: beside.probes.maxGapMs / alone.probes.maxGapMs,
      unit: '×',
      goal: atMost(FLAT),
    },
    { name: `${name}: time until all healthy clusters are Ready`, value: beside.readySeconds, unit: 's' },
    { name: `${healthy} alone: time until all healthy clusters are Ready`, value: alone.readySeconds, unit: 's' },
    { name: `${name}: CPU, percentage of a core`, value: beside.cpuPercent, unit: '%' },
    { name: `${healthy} alone: CPU, percentage of a core`, value: alone.cpuPercent, unit: '%' },
    { name: `${name}: memory`, value: beside.rssMegabytes, unit: 'MB' },
    { name: `${healthy} alone: memory`, value: alone.rssMegabytes, unit: 'MB' },
  ];
}
