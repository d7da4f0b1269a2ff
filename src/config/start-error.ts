// Errors that a person can mend.

/** What a person has to put right before Purser can start, in one line that says how. */
export class StartError extends Error {
  override readonly name = 'StartError';
}
