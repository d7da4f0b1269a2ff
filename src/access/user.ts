// Users with the attributes that the hub's authorizers evaluate.

import { computeDigest } from '../std/digest.ts';

/** A user with the attributes that a TokenReview returns. */
export interface User {
  readonly username: string;
  readonly uid: string;
  readonly groups: readonly string[];
  readonly extra: Readonly<Record<string, readonly string[]>>;
}

/** Returns the User for a service account on the hub. */
export function toServiceAccountUser(namespace: string, name: string): User {
  return {
    username: `system:serviceaccount:${namespace}:${name}`,
    uid: '',
    groups: ['system:serviceaccounts', `system:serviceaccounts:${namespace}`, 'system:authenticated'],
    extra: {},
  };
}

/** Service accounts that a subject of a binding matches: all, all in a namespace, or one. */
export type ServiceAccountScope = 'all' | { readonly namespace: string; readonly name?: string };

/**
 * Returns the service accounts that a subject in the format of `toSubjects` matches, or undefined if the subject is another user or group.
 */
export function parseServiceAccounts(subject: string): ServiceAccountScope | undefined {
  if (subject === 'Group/system:serviceaccounts' || subject === 'Group/system:authenticated') return 'all';
  const [, namespace, name] = SERVICE_ACCOUNT.exec(subject) ?? [];
  if (namespace !== undefined && name !== undefined) return { namespace, name };
  const [, group] = NAMESPACE.exec(subject) ?? [];
  return group === undefined ? undefined : { namespace: group };
}

const SERVICE_ACCOUNT = /^User\/system:serviceaccount:([^:]+):([^:]+)$/;
const NAMESPACE = /^Group\/system:serviceaccounts:(.+)$/;

/** Returns a digest of all attributes of a user that an authorizer may use. */
export function computeUserKey(user: User): string {
  const known = USER_KEYS.get(user);
  if (known !== undefined) return known;
  const key = computeDigest(encodeUser(user));
  USER_KEYS.set(user, key);
  return key;
}

/** Digests by user. Each TokenReview creates one User object, which many requests share. */
const USER_KEYS = new WeakMap<User, string>();

/** Encodes a user with sorted groups and extra keys, because authorizers ignore their order. */
function encodeUser({ username, uid, groups, extra }: User): string {
  return JSON.stringify([username, uid, groups.toSorted(), Object.entries(extra).sort(([a], [b]) => (a < b ? -1 : 1))]);
}
