// Whom the Impersonate-* headers of a request ask to act as.

import { badRequest } from '../../src/kubernetes/status.ts';
import { compareUtf8, goQuote } from '../../src/std/go-text.ts';
import type { User } from './user.ts';

/** Headers by lower-case name. Those that may be repeated come as lists, as in Node's `headersDistinct`. */
export type Headers = Readonly<Record<string, string | readonly string[] | undefined>>;

/** The wanted user as the headers spell it, if they want one. Throws a BadRequest StatusError when they name none but want more. */
export function wantedUser(headers: Headers): User | undefined {
  const [name = ''] = valuesOf(headers['impersonate-user']);
  const [uid = ''] = valuesOf(headers['impersonate-uid']);
  const groups = valuesOf(headers['impersonate-group']);
  const extra = wantedExtra(headers);
  if (name !== '') return { name, ...(uid !== '' && { uid }), groups, ...(extra && { extra }) };
  if (uid === '' && groups.length === 0 && extra === undefined) return undefined;
  throw badRequest(`requested ${goUser(uid, groups, extra)} without impersonating a user name`);
}

type Extra = Readonly<Record<string, readonly string[]>>;

const EXTRA_PREFIX = 'impersonate-extra-';

function wantedExtra(headers: Headers): Extra | undefined {
  const entries = Object.entries(headers)
    .filter(([header]) => header.startsWith(EXTRA_PREFIX))
    .map(([header, values]) => [unescaped(header.slice(EXTRA_PREFIX.length)), valuesOf(values)] as const);
  if (entries.length === 0) return undefined;
  // Two headers may spell the same key.
  const byKey = Map.groupBy(entries, ([key]) => key);
  return Object.fromEntries([...byKey].map(([key, same]) => [key, same.flatMap(([, values]) => values)]));
}

function valuesOf(header: string | readonly string[] = []): readonly string[] {
  return typeof header === 'string' ? [header] : header;
}

function unescaped(key: string): string {
  try {
    return decodeURIComponent(key);
  } catch {
    return key;
  }
}

/** The user as Go's `%#v` prints it, with its name still missing. */
function goUser(uid: string, groups: readonly string[], extra: Extra | undefined): string {
  const entries = Object.entries(extra ?? {}).sort(([a], [b]) => compareUtf8(a, b));
  const extraText = extra ? `{${entries.map(([key, values]) => `${goQuote(key)}:${goStrings(values)}`).join(', ')}}` : '(nil)';
  return `&user.DefaultInfo{Name:"", UID:${goQuote(uid)}, Groups:${goStrings(groups)}, Extra:map[string][]string${extraText}}`;
}

function goStrings(values: readonly string[]): string {
  return values.length === 0 ? '[]string(nil)' : `[]string{${values.map(goQuote).join(', ')}}`;
}
