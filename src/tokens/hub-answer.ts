// Expected refusals of the hub.

import { hasReason, type StatusReason } from '../kubernetes/status.ts';

/** Waits for a response. Returns undefined for a refusal with one of the expected reasons. */
export async function unless<T>(response: Promise<T>, ...expected: readonly StatusReason[]): Promise<T | undefined> {
  try {
    return await response;
  } catch (error) {
    if (hasReason(error, ...expected)) return undefined;
    throw error;
  }
}
