// Objects that the recorded token requests refer to.

import { eventually } from './eventually.ts';
import type { ContractServer } from './server.ts';
import { create, expectAllowed } from './world.ts';

/** Name of the target. */
export const CLUSTER = 'prod-eu';

/** Creates the service accounts, Secrets and Pods that the recordings name, and allows alice to create tokens in team-a. */
export async function createTokenWorld(server: ContractServer): Promise<void> {
  const core = (kind: string, name: string, rest: object = {}) => ({ apiVersion: 'v1', kind, metadata: { name }, ...rest });
  const rbac = (kind: string, rest: object) => ({
    apiVersion: 'rbac.authorization.k8s.io/v1',
    kind,
    metadata: { name: 'builder-tokens', namespace: 'team-a' },
    ...rest,
  });
  const pod = (name: string, serviceAccountName: string) =>
    core('Pod', name, { spec: { serviceAccountName, containers: [{ name: 'main', image: 'registry.test/main' }] } });
  const rules = [{ apiGroups: [''], resources: ['serviceaccounts/token'], verbs: ['create'] }];
  const roleRef = { apiGroup: 'rbac.authorization.k8s.io', kind: 'Role', name: 'builder-tokens' };
  const subjects = [{ apiGroup: 'rbac.authorization.k8s.io', kind: 'User', name: 'alice' }];

  await create(server, '/api/v1/namespaces', core('Namespace', 'team-a'));
  await create(server, '/api/v1/namespaces/team-a/serviceaccounts', core('ServiceAccount', 'builder'));
  await create(server, '/api/v1/namespaces/team-a/secrets', core('Secret', 'bindme'));
  await create(server, '/api/v1/namespaces/team-a/pods', pod('web', 'builder'));
  await create(server, '/api/v1/namespaces/team-a/pods', pod('other', 'default2'));
  await create(server, '/apis/rbac.authorization.k8s.io/v1/namespaces/team-a/roles', rbac('Role', { rules }));
  await create(server, '/apis/rbac.authorization.k8s.io/v1/namespaces/team-a/rolebindings', rbac('RoleBinding', { roleRef, subjects }));
  const creation = { verb: 'create', resource: 'serviceaccounts', subresource: 'token', namespace: 'team-a' };
  await eventually(() => expectAllowed(server, 'alice', creation));
}

/** Allows alice to issue tokens for service accounts in team-a through the façade, as `createTokenWorld` does on kube-apiserver. */
export async function allowAlice(server: ContractServer): Promise<void> {
  const rbac = (kind: string, rest: object) => ({
    apiVersion: 'rbac.authorization.k8s.io/v1',
    kind,
    metadata: { name: 'issuer' },
    ...rest,
  });
  const name = `${CLUSTER}/team-a`;
  const rules = [{ apiGroups: ['registry.purser.dev'], resources: ['clusters/token'], resourceNames: [name], verbs: ['issue'] }];
  const roleRef = { apiGroup: 'rbac.authorization.k8s.io', kind: 'ClusterRole', name: 'issuer' };
  const subjects = [{ apiGroup: 'rbac.authorization.k8s.io', kind: 'User', name: 'alice' }];
  await create(server, '/apis/rbac.authorization.k8s.io/v1/clusterroles', rbac('ClusterRole', { rules }));
  await create(server, '/apis/rbac.authorization.k8s.io/v1/clusterrolebindings', rbac('ClusterRoleBinding', { roleRef, subjects }));
  const issue = { verb: 'issue', group: 'registry.purser.dev', resource: 'clusters', subresource: 'token', name };
  await eventually(() => expectAllowed(server, 'alice', issue));
}

/** Removes the managedFields, which the façade omits from every response, from a JSON or YAML body. */
export function withoutManagedFields(body: string): string {
  return body
    .replace(/,\s*"managedFields":\s*\[.*?"subresource":\s*"token"\s*\}\s*\]/s, '')
    .replace(/^ {2}managedFields:\n(?: {2}- .*\n| {4}.*\n)*/m, '');
}
