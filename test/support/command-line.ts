// For programs that people start by hand.

/** What `parse` reads. What cannot be read is told in its own words, without a stack, and ends the program. */
export function readOptions<T>(parse: () => T): T {
  try {
    return parse();
  } catch (error) {
    console.error((error as Error).message);
    process.exit(2);
  }
}
