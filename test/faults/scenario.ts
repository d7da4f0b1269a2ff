// Scenario of the fault bench. The invariants apply to every scenario; a scenario adds its own expectations.

import type { Bench } from './bench.ts';

export interface Scenario {
  /** ID in docs/faults.md, such as `F12`. */
  readonly id: string;
  readonly title: string;
  /** Affected component: `hub`, `one`, `two`, `targets` or `purser`. */
  readonly on: string;
  readonly run: (bench: Bench) => Promise<void>;
  /** Limit for recovery, in milliseconds; default: 60 s. */
  readonly recoveryMs?: number;
}

/** Fault that the bench does not run. */
export interface SkippedFault {
  readonly id: string;
  readonly title: string;
  readonly reason: string;
}

/** Requests rotations at the start of a fault, and waits while the fault lasts. */
export async function rotateAndWait(bench: Bench, ms: number, rotating: readonly string[] = []): Promise<void> {
  await bench.rotate(...rotating);
  await bench.wait(ms);
}

const RECOVERY_MS = 60_000;
/** Observation time after recovery, in milliseconds. */
const OBSERVATION_MS = 3_000;

/** Runs a scenario, and records errors as violations. Returns after recovery, or at its limit. */
export async function runScenario(bench: Bench, scenario: Scenario, observationMs = OBSERVATION_MS): Promise<void> {
  const { id, on, run, recoveryMs = RECOVERY_MS } = scenario;
  const { history } = bench;
  history.add({ type: 'begin', fault: id, on });
  await run(bench).catch((error: unknown) =>
    bench.recordViolation('I10', `the scenario failed: ${(error as Error).stack ?? String(error)}`),
  );
  await bench.heal();
  history.add({ type: 'heal', fault: id });
  if (!bench.purser.isRunning) await bench.startPurser();
  await bench.waitUntilHealthy(recoveryMs);
  history.add({ type: 'recovered', fault: id });
  await bench.wait(observationMs);
  history.add({ type: 'end', fault: id });
}
