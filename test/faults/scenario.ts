// One fault of the matrix: what is done, and what is expected besides the invariants, which hold always.

import type { Bench } from './bench.ts';

export interface Scenario {
  /** Its number in the fault matrix, such as `F12`. */
  readonly id: string;
  readonly title: string;
  /** Who suffers: `hub`, `one`, `two`, `targets` or `purser`. */
  readonly on: string;
  readonly run: (bench: Bench) => Promise<void>;
  /** How long recovery may take; 60 s unless said otherwise. */
  readonly recoveryMs?: number;
}

/** A fault that is not tried here, and why. */
export interface NotTried {
  readonly id: string;
  readonly title: string;
  readonly why: string;
}

/** Makes a fault last: rotations are asked for at its beginning, and it ends after `ms`. */
export async function during(bench: Bench, ms: number, rotating: readonly string[] = []): Promise<void> {
  await bench.rotate(...rotating);
  await bench.pass(ms);
}
