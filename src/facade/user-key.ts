// Keys of users in caches.

import { hash } from 'node:crypto';
import type { User } from './request.ts';

/** Keys by the user object, which all requests between two reviews share. */
const known = new WeakMap<User, string>();

/** Returns a digest of all properties of a user that authorizers can use. */
export function userKey(user: User): string {
  return known.get(user) ?? computeKey(user);
}

function computeKey(user: User): string {
  const key = hash('sha256', textOf(user), 'base64url');
  known.set(user, key);
  return key;
}

function textOf({ username, uid, groups, extra }: User): string {
  // The order of groups has no meaning.
  return JSON.stringify([username, uid, groups.toSorted(), Object.entries(extra).sort(([a], [b]) => (a < b ? -1 : 1))]);
}
