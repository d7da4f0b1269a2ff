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
export interface NotTried {
  readonly id: string;
  readonly title: string;
  readonly why: string;
}

/** Requests rotations at the start of a fault, and waits while the fault lasts. */
export async function during(bench: Bench, ms: number, rotating: readonly string[] = []): Promise<void> {
  await bench.rotate(...rotating);
  await bench.pass(ms);
}
