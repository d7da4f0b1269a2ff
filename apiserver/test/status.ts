// The Status of thrown errors.

/** Returns the result of `act`, or the Status of the error that it throws. */
export function resultOrStatus(act: () => unknown): unknown {
  try {
    return act();
  } catch (error) {
    return (error as { readonly status: unknown }).status;
  }
}
