// A limit on the log lines that tenants can cause, per namespace and in total. No namespace can exhaust the total alone.

import type { Clock } from '../std/clock.ts';
import { mayTake } from '../std/fair-queue.ts';

export interface LineLimitOptions {
  readonly clock: Clock;
  /** Called one minute after the first line of a namespace, or on `close`, with the number of suppressed lines if there are any. */
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

/**
 * Allows 10 lines per minute for each namespace, and 100 for all namespaces. A namespace that has written n lines may write another only
 * while more than n of the 100 remain.
 */
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

  /** Ends all windows and reports their suppressed lines. */
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
