// Lets a request pass, or refuses it.

import { accessForbidden } from '../../src/kubernetes/access-forbidden.ts';
import { type AccessAttributes, decide, type Policy } from '../../src/kubernetes/rbac.ts';
import type { User } from './user.ts';

/** Returns if `user` may do what `attributes` say. Throws a Forbidden StatusError otherwise. */
export function authorize(user: User, attributes: AccessAttributes, policy: Policy): void {
  const { allowed, reason } = decide(user, attributes, policy);
  if (!allowed) throw accessForbidden(user, attributes, reason);
}
