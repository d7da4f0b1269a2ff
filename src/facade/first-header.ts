// One header out of those that came, without a table of all of them.

/** The first header of that name, in lower case; of headers that come twice, Kubernetes heeds the first. */
export function firstHeader(rawHeaders: readonly string[], name: string): string | undefined {
  for (let index = 0; index < rawHeaders.length; index += 2) {
    const each = rawHeaders[index];
    if (each?.length === name.length && each.toLowerCase() === name) return rawHeaders[index + 1];
  }
  return undefined;
}
