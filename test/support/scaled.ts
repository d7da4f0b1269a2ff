// Size of exhaustive tests, the files `*.exhaustive.test.ts`: `npm run test:exhaustive` runs all their cases, `npm test` few of each kind.

/** Returns `full` in `npm run test:exhaustive`, and `quick` in other runs. */
export function scaled<T>({ full, quick }: { readonly full: T; readonly quick: T }): T {
  return (globalThis as { readonly isExhaustive?: boolean }).isExhaustive === true ? full : quick;
}
