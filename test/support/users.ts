// Test users, and their static tokens.

import type { User } from '../../apiserver/access/user.ts';

/** An administrator, and two users without permissions. */
export const TEST_USERS: ReadonlyMap<string, User> = new Map([
  ['admintoken', { name: 'admin', uid: 'admin-uid', groups: ['system:masters'] }],
  ['alicetoken', { name: 'alice', uid: 'alice-uid', groups: ['team-a'] }],
  ['bobtoken', { name: 'bob', uid: 'bob-uid', groups: [] }],
]);

/** Returns the token of a user, or undefined if there is none. */
export function tokenOf(tokens: ReadonlyMap<string, User>, name: string): string | undefined {
  return [...tokens].find(([, user]) => user.name === name)?.[0];
}
