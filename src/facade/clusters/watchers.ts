// All watches of this replica. What happens in one turn of the event loop is written to each of them at once.

import type { SharedPieces, Watcher } from '../listwatch/watcher.ts';

export class Watchers {
  readonly #watchers = new Set<Watcher>();

  get size(): number {
    return this.#watchers.size;
  }

  #isPlanned = false;

  add(watcher: Watcher): void {
    this.#watchers.add(watcher);
  }

  delete(watcher: Watcher): void {
    this.#watchers.delete(watcher);
  }

  /** Something may have happened. */
  wake(): void {
    if (this.#isPlanned || this.#watchers.size === 0) return;
    this.#isPlanned = true;
    setImmediate(() => {
      this.#isPlanned = false;
      this.flush();
    });
  }

  /** Writes to everybody what they have not been sent yet. */
  flush(): void {
    const shared: SharedPieces = new Map();
    for (const watcher of this.#watchers) watcher.pump(shared);
  }
}
