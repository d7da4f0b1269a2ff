// The request for the tokens of a set: the requester, and the service account of the tokens.

import { toExactName } from '../access/issue-permission.ts';
import { toServiceAccountUser, type User } from '../access/user.ts';
import type { ManagedToken } from '../api/managed-token.gen.ts';
import { RegistryGroup } from '../api/names.ts';
import type { StoredToken } from '../tokens/policy/spec.ts';
import type { StoredSet } from './policy/template.ts';

/** The requester, which is a service account on the hub, and the service account on target clusters that it requests tokens for. */
export interface IssueRequest extends Pick<ManagedToken['spec'], 'requesterServiceAccountName' | 'serviceAccount'> {
  readonly namespace: string;
}

/** Returns the requester and the service account in the template of a set. */
export function templateRequestOf({ metadata: { namespace }, spec: { template } }: StoredSet): IssueRequest {
  const { requesterServiceAccountName, serviceAccount } = template.spec;
  return { namespace, requesterServiceAccountName, serviceAccount };
}

/** Returns a phrase for messages that names the permission to issue the template's token for a cluster. */
export function describePermission(set: StoredSet, cluster: string): string {
  const { namespace, name: serviceAccount } = templateRequestOf(set).serviceAccount;
  return `issue clusters/token ${JSON.stringify(toExactName({ cluster, namespace, serviceAccount }))} in ${RegistryGroup}`;
}

/** Returns the requester and the service account in the current spec of a ManagedToken. */
export function issueRequestOf({ metadata: { namespace }, spec }: StoredToken): IssueRequest {
  const { requesterServiceAccountName, serviceAccount } = spec;
  return { namespace, requesterServiceAccountName, serviceAccount };
}

/** Returns `namespace/name` of the requester, the key of its service account in the informers. */
export function requesterKeyOf({ namespace, requesterServiceAccountName }: IssueRequest): string {
  return `${namespace}/${requesterServiceAccountName}`;
}

/** Returns the requester as a user of the hub. */
export function requesterOf({ namespace, requesterServiceAccountName }: IssueRequest): User {
  return toServiceAccountUser(namespace, requesterServiceAccountName);
}
