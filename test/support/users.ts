// The people of the tests, and the static tokens by which a server knows them.

import type { User } from '../../apiserver/access/user.ts';

/** An administrator, and two users without rights of their own. */
export const TEST_USERS: ReadonlyMap<string, User> = new Map([
  ['admintoken', { name: 'admin', uid: 'admin-uid', groups: ['system:masters'] }],
  ['alicetoken', { name: 'alice', uid: 'alice-uid', groups: ['team-a'] }],
  ['bobtoken', { name: 'bob', uid: 'bob-uid', groups: [] }],
]);

/** The token of the user with this name; undefined when none has it. */
export function tokenOf(tokens: ReadonlyMap<string, User>, name: string): string | undefined {
  return [...tokens].find(([, user]) => user.name === name)?.[0];
}
