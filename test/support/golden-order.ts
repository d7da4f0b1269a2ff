// Order of managedFields. Servers sort them by time, in seconds. All writes of the recording were in the same second; those of a replay
// may not be.

const MANAGED_FIELDS = '"managedFields":[';

/** Sorts the managedFields of a body as if all fields had been written in the same second. */
export function sortManagedFields(body: string): string {
  const start = body.indexOf(MANAGED_FIELDS);
  if (start === -1) return body;
  const from = start + MANAGED_FIELDS.length;
  const { entries, end } = entriesFrom(body, from);
  const ordered = entries.toSorted((a, b) => compare(sortKey(a), sortKey(b)));
  return body.slice(0, from) + ordered.join(',') + sortManagedFields(body.slice(end));
}

/** Returns the texts of the entries of an array, and the index of its closing bracket. */
function entriesFrom(body: string, from: number): { entries: readonly string[]; end: number } {
  const entries: string[] = [];
  let depth = 0;
  let entryStart = from;
  for (const { 0: token, index } of body.slice(from).matchAll(/"(?:[^"\\]|\\.)*"|[{}[\]]/g)) {
    if (token === '{' || token === '[') depth++;
    if (token !== '}' && token !== ']') continue;
    if (depth === 0) return { entries, end: from + index };
    depth--;
    if (depth > 0) continue;
    entries.push(body.slice(entryStart, from + index + 1).replace(/^,/, ''));
    entryStart = from + index + 1;
  }
  return { entries, end: body.length };
}

/** Returns the sort key of Kubernetes without the time: operation, manager, version and subresource. */
function sortKey(entry: string): readonly string[] {
  const { operation = '', manager = '', apiVersion = '', subresource = '' } = JSON.parse(entry) as Record<string, string>;
  return [operation, manager, apiVersion, subresource];
}

function compare(a: readonly string[], b: readonly string[]): number {
  const index = a.findIndex((part, at) => part !== b[at]);
  return index === -1 ? 0 : String(a[index]) < String(b[index]) ? -1 : 1;
}
