// The tenant that limits apply to.

import { serviceAccountNamespace } from '../../targets/policy/token-request.ts';

/**
 * Returns the tenant of a user. All service accounts of a namespace are one tenant, because a user who may create service accounts
 * there could use any number of them. Any other user is one tenant.
 */
export function tenantOf(username: string): string {
  const namespace = serviceAccountNamespace(username);
  return namespace === undefined ? username : `system:serviceaccounts:${namespace}`;
}
