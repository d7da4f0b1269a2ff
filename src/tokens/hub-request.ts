// Expected rejections of requests to the hub.

import { hasReason, type StatusReason } from '../kubernetes/status.ts';

/** Returns the response; undefined for a rejection with one of these reasons. */
export async function undefinedFor<T>(request: Promise<T>, ...expected: readonly StatusReason[]): Promise<T | undefined> {
  try {
    return await request;
  } catch (error) {
    if (hasReason(error, ...expected)) return undefined;
    throw error;
  }
}
