// Concurrency limit.

/** Calls `act` for each item, at most `atOnce` at a time. */
export async function inParallel<T>(items: readonly T[], act: (item: T, index: number) => Promise<void>, atOnce = 32): Promise<void> {
  let next = 0;
  const work = async () => {
    for (let index = next++; index < items.length; index = next++) await act(items[index] as T, index);
  };
  await Promise.all(Array.from({ length: Math.min(atOnce, items.length) }, work));
}
