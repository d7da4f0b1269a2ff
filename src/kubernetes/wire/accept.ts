// The Accept header, parsed as the libraries of kube-apiserver parse it.

export interface AcceptClause {
  readonly type: string;
  readonly subtype: string;
  readonly quality: number;
  readonly params: ReadonlyMap<string, string>;
}

/** Maximum number of clauses. Sorting takes quadratic time, and even callers without credentials can send clauses. */
const MAX_CLAUSES = 64;

/** Returns the first 64 clauses of a header in order of preference, without those that are invalid. */
export function parseAccept(header: string): AcceptClause[] {
  const clauses = header
    .split(',', MAX_CLAUSES)
    .map(parseClause)
    .filter((clause) => clause !== undefined);
  return sortByPreference(clauses);
}

/** Returns whether go-restful, which handles built-in APIs, would route a request: it matches exact media types and the full wildcard. */
export function isRoutable(header: string, produced: readonly string[]): boolean {
  return header.split(',').some((clause) => {
    const mediaType = trimSpaces(clause.split(';')[0]);
    return mediaType === '*/*' || produced.includes(mediaType);
  });
}

function parseClause(text: string): AcceptClause | undefined {
  const [mediaType = '', ...parameters] = text.split(';');
  const [type, subtype, ...more] = mediaType.split('/').map(trimSpaces);
  if (type === undefined || more.join('') !== '') return undefined;
  if (!subtype && type !== '*') return undefined;
  const params = new Map(parameters.map(parseParameter).filter((parameter) => parameter !== undefined));
  const quality = params.get('q');
  params.delete('q');
  return { type, subtype: subtype ?? '*', quality: quality === undefined ? 1 : Number.parseFloat(quality) || 0, params };
}

function parseParameter(text: string): [string, string] | undefined {
  const [name = '', value = '', ...more] = text.split('=');
  return value === '' || more.join('') !== '' ? undefined : [trimSpaces(name), trimSpaces(value)];
}

/** Sorts with an insertion sort like Go: each of two clauses can be better than the other, so the order depends on the algorithm. */
function sortByPreference(clauses: readonly AcceptClause[]): AcceptClause[] {
  const result: AcceptClause[] = [];
  for (const clause of clauses) {
    let at = result.length;
    while (at > 0 && isBetter(clause, result[at - 1])) at--;
    result.splice(at, 0, clause);
  }
  return result;
}

function isBetter(a: AcceptClause, b: AcceptClause | undefined): boolean {
  if (b === undefined) return true;
  return a.quality > b.quality || (a.type !== '*' && b.type === '*') || (a.subtype !== '*' && b.subtype === '*');
}

/** Returns the text without leading and trailing spaces, in linear time; a regular expression would restart at every space. */
export function trimSpaces(text = ''): string {
  let [start, end] = [0, text.length];
  while (start < end && text[start] === ' ') start++;
  while (end > start && text[end - 1] === ' ') end--;
  return text.slice(start, end);
}
