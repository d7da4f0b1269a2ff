// Size of exhaustive tests, the files `*.exhaustive.test.ts`: `npm run test:exhaustive` runs all their cases, `npm test` runs a few of each
// kind.

/** Returns `full` in `npm run test:exhaustive`, and `quick` in other runs. */
export function scaled<T>({ full, quick }: { readonly full: T; readonly quick: T }): T {
  return (globalThis as { readonly isExhaustive?: boolean }).isExhaustive === true ? full : quick;
}

/** Returns all cases in `npm run test:exhaustive`, and the first one in other runs. */
export function allOrFirst<const T>(cases: readonly T[]): readonly T[] {
  return scaled({ full: cases, quick: cases.slice(0, 1) });
}

/** Defines tests that only `npm run test:exhaustive` runs. */
export function onlyExhaustive(define: () => void): void {
  if (scaled({ full: true, quick: false })) define();
}
