// Descriptions of roles and bindings.

import type { Descriptions } from './descriptions-family.ts';

const BINDING = {
  subjects: 'Who may do it.',
  roleRef: 'The role that says what. It cannot be changed.',
};

export const ACCESS_DESCRIPTIONS: Descriptions = {
  Role: { '': 'What may be done in one namespace.', rules: 'Each allows something; none forbids.' },
  ClusterRole: {
    '': 'What may be done in every namespace, or to what is in none.',
    rules: 'Each allows something; none forbids.',
    aggregationRule: 'Roles whose rules make up those of this one. The server writes rules then.',
  },
  AggregationRule: { '': 'Roles whose rules make up those of another.', clusterRoleSelectors: 'Which roles, by their labels.' },
  RoleBinding: { '': 'Allows somebody in one namespace what a role says.', ...BINDING },
  ClusterRoleBinding: { '': 'Allows somebody everywhere what a role says.', ...BINDING },
  PolicyRule: {
    '': 'Something that may be done.',
    verbs: 'What: get, list, watch, create, update, patch, delete and others; * for everything.',
    apiGroups: 'In which API groups; * for all, and the empty name for the core group.',
    resources: 'To which resources; * for all, and pods/log for a part of them.',
    resourceNames: 'To which objects, by name; to all if there is none.',
    nonResourceURLs: 'With which paths; * at the end stands for everything below. For cluster roles only.',
  },
  Subject: {
    '': 'A user, a group or a service account.',
    kind: 'User, Group or ServiceAccount.',
    apiGroup: 'The API group of the kind; empty for service accounts.',
    name: 'The name.',
    namespace: 'The namespace of a service account.',
  },
  RoleRef: {
    '': 'A role.',
    apiGroup: 'The API group of roles.',
    kind: 'Role or ClusterRole.',
    name: 'The name.',
  },
};
