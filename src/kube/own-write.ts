// Own writes that an informer has not delivered yet.

import type { ApiObject } from '../api/resources.ts';

const NONE: ReadonlySet<string | undefined> = new Set();

/** An object as it was last written, until the informer delivers that write. */
export class OwnWrite<T extends ApiObject> {
  #written: T | undefined;
  /** Versions that the informer may still have. */
  #replaced = NONE;
  #writtenAt = 0;
  /** Version that the watch delivered last. */
  #delivered: string | undefined;

  /** Records a write. `replaced` is the object before the write; undefined for a created object. */
  record(object: T, replaced: ApiObject | undefined, now: number): void {
    // The watch may be faster than the response.
    if (isVersion(object, this.#delivered)) return this.forget();
    const version = replaced?.metadata.resourceVersion;
    const isNext = this.#written !== undefined && version === this.#written.metadata.resourceVersion;
    this.#replaced = new Set([...(isNext ? this.#replaced : []), version]);
    this.#written = object;
    this.#writtenAt = now;
  }

  /** Returns the newer of the written and the informer's object; forgets the write once the informer has a newer object. */
  resolve(informed: T | undefined, now: number): T | undefined {
    const version = informed?.metadata.resourceVersion;
    // A created object may be deleted before the informer delivers it; any other version is either older or newer.
    const mayBeGone = version === undefined && Math.abs(now - this.#writtenAt) >= LONGEST_LAG_MS;
    if (!this.#replaced.has(version) || mayBeGone) this.forget();
    return this.#written ?? informed;
  }

  /** Records a version that the watch delivers. Returns true if it is the write, which is then no longer kept. */
  acknowledge(object: ApiObject): boolean {
    this.#delivered = object.metadata.resourceVersion;
    const isWritten = this.#written !== undefined && isVersion(this.#written, this.#delivered);
    if (isWritten) this.forget();
    return isWritten;
  }

  /** Forgets the write, after the informer's object is known to be newer. */
  forget(): void {
    this.#written = undefined;
    this.#replaced = NONE;
  }
}

/** Time after which an informer that has not delivered a created object may have started over, in milliseconds. */
const LONGEST_LAG_MS = 30_000;

function isVersion({ metadata }: ApiObject, version: string | undefined): boolean {
  return version !== undefined && metadata.resourceVersion === version;
}
