// Non-cryptographic hashes, and the times of periodic tasks. The hashes spread the times evenly.

/** Granularity of the times of periodic tasks, in milliseconds. Tasks that share a wake-up of the process take less CPU time. */
const STEP_MS = 50;

/** Returns the first time after `after` when an object's periodic task is due. `task` and `uid` determine the offset in each interval. */
export function computeNextTurnAt(task: string, uid: string, after: number, intervalMs: number): number {
  const offsetMs = Math.floor((hashToFraction(`${task} ${uid}`) * intervalMs) / STEP_MS) * STEP_MS;
  return (Math.floor((after - offsetMs) / intervalMs) + 1) * intervalMs + offsetMs;
}

/** Returns a number in [0, 1) that depends only on the text. */
export function hashToFraction(text: string): number {
  return mix(fnv1a(text)) / 2 ** 32;
}

/** Returns the FNV-1a hash of the UTF-16 units of a string. */
export function fnv1a(text: string): number {
  let hash = 0x811c9dc5;
  for (let index = 0; index < text.length; index++) hash = Math.imul(hash ^ text.charCodeAt(index), 0x01000193);
  return hash >>> 0;
}

/** Applies the finalizer of MurmurHash3, because strings that differ only in their last character have similar FNV-1a hashes. */
export function mix(hash: number): number {
  let bits = Math.imul(hash ^ (hash >>> 16), 0x85ebca6b);
  bits = Math.imul(bits ^ (bits >>> 13), 0xc2b2ae35);
  return (bits ^ (bits >>> 16)) >>> 0;
}
