// Runs one scenario: fault, end of the fault, recovery.

import type { Bench } from './bench.ts';
import type { Scenario } from './scenario.ts';

const RECOVERY_MS = 60_000;
/** Observation time after recovery, in milliseconds. */
const WATCH_MS = 3_000;

/** Runs a scenario, and records errors as violations. Returns after recovery, or at its limit. */
export async function runScenario(bench: Bench, scenario: Scenario, watchMs = WATCH_MS): Promise<void> {
  const { id, on, run, recoveryMs = RECOVERY_MS } = scenario;
  const { history } = bench;
  history.add({ type: 'begin', fault: id, on });
  await run(bench).catch((error: unknown) => bench.violation('I10', `the scenario failed: ${(error as Error).stack ?? String(error)}`));
  await bench.heal();
  history.add({ type: 'heal', fault: id });
  if (!bench.purser.isRunning) await bench.startPurser();
  await bench.settled(recoveryMs);
  history.add({ type: 'recovered', fault: id });
  await bench.pass(watchMs);
  history.add({ type: 'end', fault: id });
}
