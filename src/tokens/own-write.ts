// Our own writes come back by the watch a moment later. Until then what we know is ahead of what the informer has.

import type { ApiObject } from '../api/resources.ts';

/** An object as it was last written, until its informer has caught up. */
export class OwnWrite<T extends ApiObject> {
  #written: T | undefined;
  /** The versions that the informer may still have. */
  #replaced: ReadonlySet<string | undefined> = new Set();
  #writtenAt = 0;
  /** The version that the watch has told of last. */
  #seen: string | undefined;

  /** The object was written in the place of `replaced`; undefined when it was created. */
  wrote(object: T, replaced: ApiObject | undefined, now: number): void {
    // The watch may be faster than the answer.
    if (isVersion(object, this.#seen)) return this.forget();
    const version = replaced?.metadata.resourceVersion;
    const isNext = this.#written !== undefined && version === this.#written.metadata.resourceVersion;
    this.#replaced = new Set([...(isNext ? this.#replaced : []), version]);
    this.#written = object;
    this.#writtenAt = now;
  }

  /** The newer of what was written and what the informer has. */
  latest(informed: T | undefined, now: number): T | undefined {
    const version = informed?.metadata.resourceVersion;
    // What was created may be gone again before the informer has seen it; what was there before is either behind or not.
    const mayBeGone = version === undefined && Math.abs(now - this.#writtenAt) >= LONGEST_LAG_MS;
    if (!this.#replaced.has(version) || mayBeGone) this.forget();
    return this.#written ?? informed;
  }

  /** The watch has told of the object. Whether it is the one that was written; then it need not be kept twice. */
  saw(object: ApiObject): boolean {
    this.#seen = object.metadata.resourceVersion;
    const isWritten = this.#written !== undefined && isVersion(this.#written, this.#seen);
    if (isWritten) this.forget();
    return isWritten;
  }

  /** Something else happened to the object: what the informer has is newer. */
  forget(): void {
    this.#written = undefined;
    this.#replaced = new Set();
  }
}

/** An informer that has not seen what was created for so long may have started over. */
const LONGEST_LAG_MS = 30_000;

function isVersion({ metadata }: ApiObject, version: string | undefined): boolean {
  return version !== undefined && metadata.resourceVersion === version;
}
