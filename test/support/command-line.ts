// Command lines of programs that users start manually.

/** Calls `parse`; prints its error without a stack and exits with code 2 if it throws. */
export function readOptions<T>(parse: () => T): T {
  try {
    return parse();
  } catch (error) {
    console.error((error as Error).message);
    process.exit(2);
  }
}
