// Bounded concurrency.

/**
 * Calls `work` for the items in order, with at most `limit` calls in progress. After an error, starts no more calls and rejects once the
 * calls in progress have ended.
 */
export async function forEachBounded<T>(items: readonly T[], limit: number, work: (item: T) => Promise<void>): Promise<void> {
  let next = 0;
  let isFailed = false;
  const runNext = async () => {
    while (next < items.length && !isFailed) {
      const item = items[next++] as T;
      try {
        await work(item);
      } catch (error) {
        isFailed = true;
        throw error;
      }
    }
  };
  const results = await Promise.allSettled(Array.from({ length: Math.min(limit, items.length) }, runNext));
  for (const result of results) if (result.status === 'rejected') throw result.reason;
}
