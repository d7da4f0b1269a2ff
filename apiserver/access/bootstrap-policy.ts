// Default roles and bindings, which the server creates at startup if they are missing. They cover only resources that this server serves.

import type { KubeObject } from '../../src/kubernetes/object.ts';
import type { PolicyRule } from '../../src/kubernetes/rbac.ts';
import { RBAC_GROUP } from './policy.ts';

const API_VERSION = `${RBAC_GROUP}/v1`;
const READ = ['get', 'list', 'watch'];
const WRITE = ['create', 'delete', 'deletecollection', 'patch', 'update'];
const READ_AND_WRITE = [...WRITE, ...READ].sort();
const HEALTH = ['/healthz', '/livez', '/readyz'];
const VERSION = ['/version', '/version/'];

/** Returns the default ClusterRoles and ClusterRoleBindings. The role aggregator fills in the rules of aggregated roles. */
export function createBootstrapPolicy(): readonly KubeObject[] {
  return [
    createClusterRole('cluster-admin', [
      { verbs: ['*'], apiGroups: ['*'], resources: ['*'] },
      { verbs: ['*'], nonResourceURLs: ['*'] },
    ]),
    createAggregatedRole('admin'),
    createAggregatedRole('edit', 'admin'),
    createAggregatedRole('view', 'edit'),
    createClusterRole('system:aggregate-to-admin', ADMIN_RULES, 'admin'),
    createClusterRole('system:aggregate-to-edit', EDIT_RULES, 'edit'),
    createClusterRole('system:aggregate-to-view', VIEW_RULES, 'view'),
    createClusterRole('system:auth-delegator', [
      { verbs: ['create'], apiGroups: ['authentication.k8s.io'], resources: ['tokenreviews'] },
      { verbs: ['create'], apiGroups: ['authorization.k8s.io'], resources: ['subjectaccessreviews'] },
    ]),
    createClusterRole('system:basic-user', [
      { verbs: ['create'], apiGroups: ['authorization.k8s.io'], resources: ['selfsubjectaccessreviews', 'selfsubjectrulesreviews'] },
      { verbs: ['create'], apiGroups: ['authentication.k8s.io'], resources: ['selfsubjectreviews'] },
    ]),
    createClusterRole('system:discovery', [
      createReadRule('/api', '/api/*', '/apis', '/apis/*', '/healthz', '/livez', '/openapi', '/openapi/*', '/readyz', ...VERSION),
    ]),
    createClusterRole('system:monitoring', [createReadRule(...[...HEALTH, ...HEALTH.map((path) => `${path}/*`), '/metrics'].sort())]),
    createClusterRole('system:public-info-viewer', [createReadRule(...HEALTH, ...VERSION)]),
    createClusterRole('system:service-account-issuer-discovery', [
      createReadRule('/.well-known/openid-configuration', '/.well-known/openid-configuration/', '/openid/v1/jwks', '/openid/v1/jwks/'),
    ]),
    createClusterRoleBinding('cluster-admin', 'system:masters'),
    createClusterRoleBinding('system:basic-user', 'system:authenticated'),
    createClusterRoleBinding('system:discovery', 'system:authenticated'),
    createClusterRoleBinding('system:monitoring', 'system:monitoring'),
    createClusterRoleBinding('system:public-info-viewer', 'system:authenticated', 'system:unauthenticated'),
    createClusterRoleBinding('system:service-account-issuer-discovery', 'system:serviceaccounts'),
  ];
}

const ADMIN_RULES: readonly PolicyRule[] = [{ verbs: READ_AND_WRITE, apiGroups: [RBAC_GROUP], resources: ['rolebindings', 'roles'] }];

const EDIT_RULES: readonly PolicyRule[] = [
  { verbs: READ, apiGroups: [''], resources: ['secrets'] },
  { verbs: ['impersonate'], apiGroups: [''], resources: ['serviceaccounts'] },
  { verbs: WRITE, apiGroups: [''], resources: ['configmaps', 'pods', 'secrets', 'serviceaccounts'] },
  { verbs: ['create'], apiGroups: [''], resources: ['serviceaccounts/token'] },
  { verbs: WRITE, apiGroups: [''], resources: ['events'] },
  { verbs: READ_AND_WRITE, apiGroups: ['coordination.k8s.io'], resources: ['leases'] },
];

const VIEW_RULES: readonly PolicyRule[] = [
  { verbs: READ, apiGroups: [''], resources: ['configmaps', 'pods', 'serviceaccounts'] },
  { verbs: READ, apiGroups: [''], resources: ['namespaces/status'] },
  { verbs: READ, apiGroups: [''], resources: ['namespaces'] },
  { verbs: READ, apiGroups: [''], resources: ['events'] },
];

function createReadRule(...nonResourceURLs: readonly string[]): PolicyRule {
  return { verbs: ['get'], nonResourceURLs };
}

/** Returns a ClusterRole whose rules are aggregated into the ClusterRole `aggregateTo`, if given. */
function createClusterRole(name: string, rules: readonly PolicyRule[], aggregateTo?: string): KubeObject {
  return { apiVersion: API_VERSION, kind: 'ClusterRole', metadata: createMetadata(name, aggregateTo), rules };
}

function createAggregatedRole(name: string, aggregateTo?: string): KubeObject {
  const selector = { matchLabels: { [toAggregationLabel(name)]: 'true' } };
  return {
    apiVersion: API_VERSION,
    kind: 'ClusterRole',
    metadata: createMetadata(name, aggregateTo),
    aggregationRule: { clusterRoleSelectors: [selector] },
  };
}

/** Returns a binding of groups to the ClusterRole with the same name. */
function createClusterRoleBinding(name: string, ...groups: readonly string[]): KubeObject {
  return {
    apiVersion: API_VERSION,
    kind: 'ClusterRoleBinding',
    metadata: createMetadata(name),
    subjects: groups.map((group) => ({ kind: 'Group', apiGroup: RBAC_GROUP, name: group })),
    roleRef: { apiGroup: RBAC_GROUP, kind: 'ClusterRole', name },
  };
}

function createMetadata(name: string, aggregateTo?: string): KubeObject['metadata'] {
  return {
    name,
    labels: {
      'kubernetes.io/bootstrapping': 'rbac-defaults',
      ...(aggregateTo !== undefined && { [toAggregationLabel(aggregateTo)]: 'true' }),
    },
    annotations: { 'rbac.authorization.kubernetes.io/autoupdate': 'true' },
  };
}

function toAggregationLabel(role: string): string {
  return `${RBAC_GROUP}/aggregate-to-${role}`;
}
