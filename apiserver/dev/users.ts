// The people of a local run, and the tokens by which its API servers know them.

import type { User } from '../access/user.ts';

/** Tokens by user. */
export type Tokens = Readonly<Record<string, string>>;

/** The name of the server that Purser works on. */
export const HUB = 'hub';

/** The tokens of every server, the known ones unchanged and missing ones made by `newToken`. */
export function tokensFor(
  servers: readonly string[],
  known: Readonly<Record<string, Tokens>>,
  newToken: () => string,
): Readonly<Record<string, Tokens>> {
  const made = servers.map((server) => {
    const users = Object.keys(server === HUB ? HUB_USERS : TARGET_USERS);
    return [server, Object.fromEntries(users.map((user) => [user, known[server]?.[user] ?? newToken()]))] as const;
  });
  return { ...known, ...Object.fromEntries(made) };
}

/** Users by their tokens, as an API server wants them. */
export function usersByToken(tokens: Tokens): ReadonlyMap<string, User> {
  return new Map(Object.entries(tokens).map(([name, token]) => [token, { name, groups: HUB_USERS[name] ?? [] }]));
}

/** Groups by user. alice and bob are ordinary people: what they may do is for the administrator to say. */
const HUB_USERS: Readonly<Record<string, readonly string[]>> = { admin: ['system:masters'], alice: [], bob: [] };
const TARGET_USERS = { admin: HUB_USERS['admin'] };
