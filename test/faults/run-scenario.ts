// Runs one fault: begin, fault, healing, recovery.

import type { Bench } from './bench.ts';
import type { Scenario } from './scenario.ts';

const RECOVERY_MS = 60_000;

/** Runs a scenario; whatever goes wrong is in the history. Returns when everything is well again, or has had time to be. */
export async function runScenario(bench: Bench, { id, on, run, recoveryMs = RECOVERY_MS }: Scenario): Promise<void> {
  const { history } = bench;
  history.add({ type: 'begin', fault: id, on });
  await run(bench).catch((error: unknown) => bench.violation('I10', `the scenario failed: ${(error as Error).stack ?? String(error)}`));
  await bench.heal();
  history.add({ type: 'heal', fault: id });
  if (!bench.purser.isRunning) await bench.startPurser();
  await bench.settled(recoveryMs);
  history.add({ type: 'recovered', fault: id });
  history.add({ type: 'end', fault: id });
}
