// Owners of fields are listed by time. The recording was made within a second; a replay that crosses into the next one
// lists them in another order, which is right and yet not as recorded.

const MANAGED_FIELDS = '"managedFields":[';

/** The body with its managedFields in the order that they would have if they had all been written in one second. */
export function asInOneSecond(body: string): string {
  const start = body.indexOf(MANAGED_FIELDS);
  if (start === -1) return body;
  const from = start + MANAGED_FIELDS.length;
  const { entries, end } = entriesFrom(body, from);
  const ordered = entries.toSorted((a, b) => compare(orderOf(a), orderOf(b)));
  return body.slice(0, from) + ordered.join(',') + asInOneSecond(body.slice(end));
}

/** The texts of the entries of an array, and where it ends. */
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

/** Operation, manager, version and subresource: the order of Kubernetes without the time. */
function orderOf(entry: string): readonly string[] {
  const { operation = '', manager = '', apiVersion = '', subresource = '' } = JSON.parse(entry) as Record<string, string>;
  return [operation, manager, apiVersion, subresource];
}

function compare(a: readonly string[], b: readonly string[]): number {
  const index = a.findIndex((part, at) => part !== b[at]);
  return index === -1 ? 0 : String(a[index]) < String(b[index]) ? -1 : 1;
}
