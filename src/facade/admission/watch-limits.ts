// Limits on watches, sized to the memory limit of the process.

import type { PlaceLimits } from './places.ts';

/** Memory for everything but watches, in bytes: objects of the hub, idle connections, lists and initial events in progress. */
const RESERVED_BYTES = 200e6;
/**
 * Memory of one watch after its initial events, in bytes, with the allocator of the image. 50 kB of it are the buffers and keys of
 * its TLS connection, 20 kB are JavaScript objects.
 */
const WATCH_BYTES = 75e3;
const MOST = 10_000;
const LEAST = 500;

/** Returns the limits for a memory limit in bytes, or for a process without one if undefined. */
export function watchLimits(memoryBytes: number | undefined): PlaceLimits {
  const affordable = memoryBytes === undefined ? MOST : Math.floor((memoryBytes - RESERVED_BYTES) / WATCH_BYTES);
  const total = Math.min(Math.max(affordable, LEAST), MOST);
  // Ten callers together can fill all places. A proxy puts many callers behind one address.
  return { perCaller: Math.ceil(total / 10), perAddress: Math.ceil(total * 0.75), total };
}
