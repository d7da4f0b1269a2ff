// `npm run bench`: runs scenarios on real API servers, compares figures with their goals, and writes tables, JSON and charts.

import { execFile } from 'node:child_process';
import { mkdir, readFile, writeFile } from 'node:fs/promises';
import { cpus, loadavg, totalmem } from 'node:os';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { readOptions } from '../support/command-line.ts';
import { barChart } from './chart.ts';
import { type PastRun, regressionsOf, regressionText, withRuns } from './history.ts';
import { type BenchOptions, helpText, parseOptions } from './options.ts';
import { type Run, renderPage } from './page.ts';
import { type Extent, isMet, type PrintProgress, type Scenario } from './scenario.ts';
import { cachedCredential } from './scenarios/cached-credential.ts';
import { clusterLists } from './scenarios/cluster-lists.ts';
import { facadeCrowd } from './scenarios/facade-crowd.ts';
import { facadeTokens } from './scenarios/facade-tokens.ts';
import { failingClusters } from './scenarios/failing-clusters.ts';
import { growingLists, growingRest, growingTokens, growingWatches } from './scenarios/growth.ts';
import { idleClusters } from './scenarios/idle-clusters.ts';
import { manyTokens, someTokens } from './scenarios/managed-tokens.ts';
import { peers } from './scenarios/peers.ts';
import { largeRestart } from './scenarios/restart.ts';
import { statusReport } from './scenarios/status-report.ts';
import { tokenSets } from './scenarios/token-sets.ts';
import { webUi } from './scenarios/web-ui.ts';
import { measureStolenTime } from './stolen-time.ts';
import { textTable } from './table.ts';

const SCENARIOS: readonly Scenario[] = [
  clusterLists,
  facadeTokens,
  facadeCrowd,
  someTokens,
  manyTokens,
  largeRestart,
  peers,
  idleClusters,
  failingClusters,
  growingTokens,
  growingLists,
  growingRest,
  growingWatches,
  tokenSets,
  cachedCredential,
  statusReport,
  webUi,
];

async function main({ only, scale, size, out, writeDocs }: BenchOptions): Promise<boolean> {
  await compile();
  const chosen = SCENARIOS.filter(({ name }) => only.length === 0 || only.includes(name));
  const runs: Run[] = [];
  const history = await readJson<readonly PastRun[]>(HISTORY);
  for (const [index, scenario] of chosen.entries()) {
    const extent = { scale, size: size ?? scenario.sizes[scale] };
    console.log(`\n[${index + 1}/${chosen.length}] ${scenario.title} (${extent.size.toLocaleString('en-US')} ${scenario.sizeUnit})`);
    runs.push(await runScenario(scenario, extent));
    console.log(textTable(runs.at(-1)?.figures ?? []));
    for (const regression of runs.slice(-1).flatMap((run) => regressionsOf(run, history))) console.log(regressionText(regression));
    // Saves the results after each scenario, in case a later one fails.
    await writeRuns(out, out, runs);
    if (writeDocs) await refreshDocs(runs);
  }
  const figures = runs.flatMap((run) => run.figures);
  const missed = figures.filter((figure) => isMet(figure) === false);
  console.log(`\n${figures.filter((figure) => isMet(figure)).length} goals met, ${missed.length} not met; results in ${out}`);
  return missed.length === 0;
}

/**
 * Compiles Purser, so that the scenarios measure the program in the image, unless BENCH_PROGRAM selects another program. In a checkout,
 * Purser itself strips the types of its sources.
 */
async function compile(): Promise<void> {
  if (process.env['BENCH_PROGRAM'] !== undefined) return;
  await promisify(execFile)('npm', ['run', '--silent', 'build']);
  process.env['BENCH_PROGRAM'] = 'dist/src/main.js';
}

async function runScenario({ name, title, run }: Scenario, extent: Extent): Promise<Run> {
  const [startedAt, [load = 0], stolenPercent] = [performance.now(), loadavg(), await measureStolenTime()];
  const outcome = await run(extent, startProgress());
  const minutes = Math.round((performance.now() - startedAt) / 6_000) / 10;
  const allocator = process.env['LD_PRELOAD']?.includes('jemalloc') ? ', with jemalloc' : '';
  const machine = `${cpus().length} cores, ${Math.round(totalmem() / 1e9)} GB, ${cpus()[0]?.model.trim()}${allocator}`;
  const date = new Date().toISOString().slice(0, 16).replace('T', ' ');
  return { name, title, scale: extent.scale, date, machine, minutes, load, stolenPercent: await stolenPercent(), ...outcome };
}

function startProgress(): PrintProgress {
  const startedAt = performance.now();
  return (text) => console.log(`  ${String(Math.round((performance.now() - startedAt) / 1_000)).padStart(4)} s  ${text}`);
}

async function writeRuns(folder: string, charts: string, runs: readonly Run[]): Promise<void> {
  await Promise.all([folder, charts].map((each) => mkdir(each, { recursive: true })));
  await writeFile(join(folder, 'bench.json'), `${JSON.stringify(runs, null, 2)}\n`);
  for (const chart of runs.flatMap((run) => run.charts)) await writeFile(join(charts, `${chart.name}.svg`), barChart(chart));
}

/** Updates the docs with the latest run of each scenario. */
async function refreshDocs(runs: readonly Run[]): Promise<void> {
  const folder = 'docs/bench';
  const known = await readJson<readonly Run[]>(join(folder, 'bench.json'));
  const history = withRuns(await readJson<readonly PastRun[]>(HISTORY), runs);
  const newest = SCENARIOS.flatMap(({ name }) => [...runs, ...known].find((run) => run.name === name) ?? []);
  await writeRuns(folder, folder, newest);
  await writeFile(HISTORY, `[\n${history.map((run) => JSON.stringify(run)).join(',\n')}\n]\n`);
  await writeFile('docs/benchmarks.md', renderPage(newest, SCENARIOS, history));
}

/** Figures of earlier runs. */
const HISTORY = 'docs/bench/history.json';

/** Parses a JSON file that contains a list; returns an empty list if the file does not exist. */
async function readJson<T>(path: string): Promise<T> {
  return JSON.parse(await readFile(path, 'utf8').catch(() => '[]')) as T;
}

const names = SCENARIOS.map(({ name }) => name);
const options = readOptions(() => parseOptions(process.argv.slice(2), names));
if (options === undefined) process.stdout.write(helpText(SCENARIOS));
else process.exit((await main(options)) ? 0 : 1);
