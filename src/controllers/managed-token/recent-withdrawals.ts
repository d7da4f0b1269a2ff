// How many tokens lost their permission of late: the brake against a mistake that would take away everybody's.

import { isMassWithdrawal } from '../../domain/withdrawal.ts';
import type { TokenMemory } from './memory.ts';

/** Removals of the last minute, over all ManagedTokens. */
export class RecentWithdrawals {
  readonly #memory: TokenMemory;
  #removedAt: readonly number[] = [];

  constructor(memory: TokenMemory) {
    this.#memory = memory;
  }

  /** Whether one more removal would be one too many. */
  isMass(total: number, now: number): boolean {
    return isMassWithdrawal({ removedAt: this.#removedAt, waiting: this.#memory.refused, total }, now);
  }

  removed(now: number): void {
    this.#removedAt = [...this.#removedAt.filter((at) => now - at < KEPT_MS), now];
  }
}

/** As long as the brake looks back. */
const KEPT_MS = 60_000;
