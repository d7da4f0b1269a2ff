// A user as a key.

import { hash } from 'node:crypto';
import type { User } from './request.ts';

/** Users are described anew at every review, and asked for by every request in between. */
const known = new WeakMap<User, string>();

/** A digest of everything about a user that an authoriser may look at. */
export function userKey(user: User): string {
  return known.get(user) ?? described(user);
}

function described(user: User): string {
  const key = hash('sha256', textOf(user), 'base64url');
  known.set(user, key);
  return key;
}

function textOf({ username, uid, groups, extra }: User): string {
  // Authorisers look for groups wherever they stand.
  return JSON.stringify([username, uid, groups.toSorted(), Object.entries(extra).sort(([a], [b]) => (a < b ? -1 : 1))]);
}
