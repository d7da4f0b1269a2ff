// `purser credential` with a cached token, which kubectl runs for every command, compared with a Node.js process that does nothing.

import { spawnSync } from 'node:child_process';
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { AUDIENCE, CallerWorld } from '../../cli/facade/caller-world.ts';
import { newFolder, removeFolders } from '../../support/folders.ts';
import { run } from '../../support/run.ts';
import { atMost, type Scenario } from '../scenario.ts';

const LAUNCHER = join(import.meta.dirname, '../../../bin/purser.cjs');
const ARGS = [LAUNCHER, 'credential', 'target-1', 'deploy/deployer', `--audience=${AUDIENCE}`, '--context=token'];
/** Program that reports the usage of its process at exit. */
const REPORT = `process.on('exit', () => {
  const { userCPUTime, systemCPUTime, maxRSS } = process.resourceUsage();
  require('fs').writeSync(2, JSON.stringify({ cpuMs: (userCPUTime + systemCPUTime) / 1000, megabytes: maxRSS / 1024 }));
});`;

interface Usage {
  readonly cpuMs: number;
  readonly megabytes: number;
  readonly wallMs: number;
}

export const cachedCredential: Scenario = {
  name: 'cached-credential',
  title: 'Cached credential for kubectl',
  sizeUnit: 'runs',
  sizes: { small: 40, full: 200 },
  note: 'Medians of `purser credential` with a cached token, and of `node -e 0`, in alternating runs.',
  run: async ({ size }, progress) => {
    const world = await CallerWorld.start(Date.now());
    try {
      const env = { ...process.env, ...world.env } as Record<string, string>;
      const { code, stderr } = await run(process.execPath, ARGS, env);
      if (code !== 0) throw new Error(stderr);
      const report = join(await newFolder(), 'report.cjs');
      writeFileSync(report, REPORT);
      const measure = (args: readonly string[]) => measureRun(['--require', report, ...args], env);
      const [idle, cached]: [Usage[], Usage[]] = [[], []];
      for (let index = 0; index < size; index += 1) {
        idle.push(measure(['-e', '0']));
        cached.push(measure(ARGS));
      }
      if (world.issued !== 1) throw new Error(`${world.issued} tokens were requested`);
      progress(`${size} runs of each`);
      return toOutcome(idle, cached);
    } finally {
      await world.close();
      await removeFolders();
    }
  },
};

function measureRun(args: readonly string[], env: Readonly<Record<string, string>>): Usage {
  const startedAt = performance.now();
  const { stderr, status } = spawnSync(process.execPath, args, { env, encoding: 'utf8' });
  const wallMs = performance.now() - startedAt;
  if (status !== 0) throw new Error(stderr);
  return { ...(JSON.parse(stderr) as Omit<Usage, 'wallMs'>), wallMs };
}

function toOutcome(idle: readonly Usage[], cached: readonly Usage[]) {
  const [idleCpu, cachedCpu] = [idle, cached].map((runs) => median(runs.map(({ cpuMs }) => cpuMs))) as [number, number];
  const [idleWall, cachedWall] = [idle, cached].map((runs) => median(runs.map(({ wallMs }) => wallMs))) as [number, number];
  const megabytes = median(cached.map((each) => each.megabytes));
  return {
    figures: [
      { name: 'CPU for a cached credential, relative to `node -e 0`', value: cachedCpu / idleCpu, unit: '×', goal: atMost(2) },
      { name: 'wall time for a cached credential, relative to `node -e 0`', value: cachedWall / idleWall, unit: '×', goal: atMost(2) },
      { name: 'memory for a cached credential', value: megabytes, unit: 'MB', goal: atMost(60) },
    ],
    charts: [],
    measured: { idleCpuMs: idleCpu, cachedCpuMs: cachedCpu, idleWallMs: idleWall, cachedWallMs: cachedWall, megabytes },
  };
}

function median(values: readonly number[]): number {
  return values.toSorted((a, b) => a - b)[Math.floor(values.length / 2)] ?? Number.NaN;
}
