// A user as the status of a review shows it.

import type { User } from '../access/user.ts';

/** authentication/v1 UserInfo. */
export interface UserInfo {
  readonly username: string;
  readonly uid?: string;
  readonly groups: readonly string[];
  readonly extra?: Readonly<Record<string, readonly string[]>>;
}

export function userInfo({ name, uid, groups, extra }: User): UserInfo {
  return { username: name, ...(uid && { uid }), groups, ...(extra && { extra }) };
}
