// `npm run faults`: runs all faults on real clusters, then random faults, and prints a table.

import { cp, mkdir, writeFile } from 'node:fs/promises';
import { cpus, totalmem } from 'node:os';
import { basename, join } from 'node:path';
import { readOptions } from '../support/command-line.ts';
import { Bench } from './bench.ts';
import { customFaults } from './custom-fault.ts';
import { readHistory } from './history.ts';
import { scanForTokens } from './leak-scan.ts';
import { type FaultOptions, HELP, parseOptions } from './options.ts';
import { renderPage } from './page.ts';
import { buildRows, formatFigures, formatHeading, formatRow, formatViolations, type Row } from './report.ts';
import { runScenario, type Scenario } from './scenario.ts';
import { SCENARIOS, SKIPPED_FAULTS } from './scenarios/all.ts';
import { randomFaults } from './scenarios/random-faults.ts';
import { renewalUnderFaults } from './scenarios/renewal.ts';
import { setsUnderFaults } from './scenarios/sets.ts';
import { hostileTenants } from './scenarios/tenants.ts';

const FLEET = 4;
const FIRST_TOKENS_MS = 60_000;
/** All scenarios, for IDs and titles. */
const ALL: readonly Scenario[] = [...SCENARIOS, hostileTenants({ minutes: 0 }), renewalUnderFaults(0), setsUnderFaults(0), randomFaults(0)];

async function main(options: FaultOptions): Promise<boolean> {
  const { seed, only, custom, runs, out } = options;
  const selected = selectScenarios(options);
  await mkdir(out, { recursive: true });
  const historyFile = join(out, 'history.jsonl');
  console.log(`seed ${seed}, ${selected.length} faults; starting hub and targets`);
  const bench = await Bench.start({ seed, historyFile, fleet: FLEET });
  try {
    await bench.startPurser();
    bench.prober.start();
    await bench.waitUntilHealthy(FIRST_TOKENS_MS);
    console.log(formatHeading());
    for (const scenario of selected) for (let run = 0; run < runs; run += 1) await runAndPrint(bench, scenario);
    await scanForTokens(bench);
    for (const { log } of bench.pursers) await cp(log, join(out, basename(log)));
    const rows = buildRows(bench.history.entries, new Map(selected.map(({ id, title }) => [id, title])));
    const figures = formatFigures(bench.history.entries);
    for (const line of figures) console.log(line);
    await writeReport(out, { seed, rows, figures, all: only.length + custom.length === 0 });
    return rows.every(({ violations }) => violations.length === 0) && !bench.history.entries.some(({ type }) => type === 'violation');
  } finally {
    await bench.stop();
  }
}

/** Returns the custom faults, the faults selected with --only, or all faults. */
function selectScenarios({ minutes, only, custom, seconds, writesStatus }: FaultOptions): readonly Scenario[] {
  if (custom.length > 0) return [customFaults(custom, seconds)];
  const long = [hostileTenants({ minutes, writesStatus }), renewalUnderFaults(minutes), setsUnderFaults(minutes), randomFaults(minutes)];
  const all = [...SCENARIOS, ...long];
  return only.length === 0 ? all : all.filter((scenario) => splitIds(scenario).some((id) => only.includes(id)));
}

/** Returns the fault IDs of a scenario. */
function splitIds({ id }: Scenario): readonly string[] {
  return id.split(', ');
}

/** Checks recorded histories again, and prints one table. */
async function recheck({ check, seed, out }: FaultOptions): Promise<boolean> {
  const titles = new Map(ALL.map(({ id, title }) => [id, title]));
  const histories = await Promise.all(check.map((path) => readHistory(path)));
  // The latest run of each fault applies.
  const found = new Map(histories.flatMap((history) => buildRows(history, titles)).map((row) => [row.id, row]));
  const rows = [...titles.keys()].flatMap((id) => found.get(id) ?? []);
  for (const row of rows) {
    console.log(formatRow(row));
    for (const line of formatViolations(row.violations)) console.log(`    ${line}`);
  }
  const figures = histories.flatMap(formatFigures);
  for (const line of figures) console.log(line);
  await mkdir(out, { recursive: true });
  await writeReport(out, { seed, rows, figures, all: true });
  return rows.every(({ violations }) => violations.length === 0);
}

async function runAndPrint(bench: Bench, scenario: Scenario): Promise<void> {
  if (process.stdout.isTTY) process.stdout.write(`${scenario.id} …`);
  await runScenario(bench, scenario);
  const row = buildRows(bench.history.entries, new Map([[scenario.id, scenario.title]])).find(({ id }) => id === scenario.id);
  if (row === undefined) return;
  console.log(`${process.stdout.isTTY ? '\r' : ''}${formatRow(row)}`);
  for (const line of formatViolations(row.violations)) console.log(`    ${line}`);
}

interface Results {
  readonly seed: number;
  readonly rows: readonly Row[];
  /** Figures of the tenant and renewal benches, as sentences. */
  readonly figures: readonly string[];
  /** True if all faults were run. */
  readonly all: boolean;
}

async function writeReport(out: string, { seed, rows, figures, all }: Results): Promise<void> {
  const machine = `${cpus().length} cores, ${Math.round(totalmem() / 2 ** 30)} GB, ${cpus()[0]?.model.trim()}`;
  const skipped = SKIPPED_FAULTS.map(
    (each): Row => ({ ...each, runs: 0, samples: 0, issued: 0, violations: [], worstLateMs: 0, recoveryMs: 0 }),
  );
  const reported = all ? [...rows, ...skipped] : rows;
  const samples = rows.reduce((sum, row) => sum + row.samples, 0);
  const violations = rows.flatMap((row) => row.violations);
  await writeFile(join(out, 'faults.json'), `${JSON.stringify({ seed, machine, samples, figures, rows: reported }, null, 2)}\n`);
  const command = ['npm run faults', ...process.argv.slice(2, 3).map(() => '--'), ...process.argv.slice(2)].join(' ');
  await writeFile(join(out, 'faults.md'), renderPage(reported, { seed, command, machine, figures }));
  console.log(`${samples} samples, ${violations.length} violations; seed ${seed}; ${machine}; results in ${out}`);
}

const ids = ALL.flatMap(splitIds);
const options = readOptions(() => parseOptions(process.argv.slice(2), ids));
if (options === undefined) process.stdout.write(HELP);
else process.exit((await (options.check.length > 0 ? recheck(options) : main(options))) ? 0 : 1);
