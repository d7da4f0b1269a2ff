// A limit on log lines that tenants can cause: per namespace, and a total that no namespace can exhaust alone.

import type { Clock } from '../std/clock.ts';
import { mayTake } from '../std/fair-queue.ts';

export interface LineLimitOptions {
  readonly clock: Clock;
  /** Called at the end of a minute with the number of suppressed lines of a namespace. */
  readonly onSuppressed: (namespace: string, suppressed: number) => void;
}

const WINDOW_MS = 60_000;
const LINES_PER_NAMESPACE = 10;
const LINES_IN_TOTAL = 100;

interface Window {
  lines: number;
  suppressed: number;
  readonly cancel: () => void;
}

/** Allows each namespace 10 lines per minute, and at most as many as remain of a total of 100. */
export class LineLimit {
  readonly #options: LineLimitOptions;
  readonly #windows = new Map<string, Window>();
  #total = 0;

  constructor(options: LineLimitOptions) {
    this.#options = options;
  }

  /** Counts a line and returns whether it may be written. */
  take(namespace: string): boolean {
    const window = this.#windows.get(namespace) ?? this.#begin(namespace);
    if (window.lines >= LINES_PER_NAMESPACE || !mayTake(window.lines, LINES_IN_TOTAL - this.#total)) {
      window.suppressed += 1;
      return false;
    }
    window.lines += 1;
    this.#total += 1;
    return true;
  }

  /** Ends all windows. */
  close(): void {
    for (const namespace of this.#windows.keys()) this.#end(namespace);
  }

  #begin(namespace: string): Window {
    const cancel = this.#options.clock.wakeAfter(WINDOW_MS, () => this.#end(namespace));
    const window = { lines: 0, suppressed: 0, cancel };
    this.#windows.set(namespace, window);
    return window;
  }

  #end(namespace: string): void {
    const { lines = 0, suppressed = 0, cancel } = this.#windows.get(namespace) ?? {};
    cancel?.();
    this.#windows.delete(namespace);
    this.#total -= lines;
    if (suppressed > 0) this.#options.onSuppressed(namespace, suppressed);
  }
}
