// Custom resources that every API server with our CRDs accepts or rejects, with the messages for users.

import type { CustomResource, Value } from './custom-resource.ts';

type Spec = Readonly<Record<string, Value>>;

export interface Case {
  readonly name: string;
  readonly object: CustomResource;
  /** Rejected field and its message; absent if the object is accepted. */
  readonly rejected?: { readonly field: string; readonly message: string };
}

export function managedToken(spec: Spec = {}): CustomResource {
  return {
    apiVersion: 'tokens.purser.dev/v1alpha1',
    kind: 'ManagedToken',
    metadata: { name: 'ci-deployer', namespace: 'team-a' },
    spec: {
      clusterName: 'target-1',
      serviceAccount: { namespace: 'deploy', name: 'deployer' },
      audiences: ['https://kubernetes.default.svc'],
      ...spec,
    },
  };
}

export function cluster(endpoints: Spec = {}, authInfo: Spec = {}): CustomResource {
  return {
    apiVersion: 'registry.purser.dev/v1alpha1',
    kind: 'Cluster',
    metadata: { name: 'target-1' },
    spec: {
      orchestratorApiEndpoints: { serverEndpoints: [{ clientCIDR: '0.0.0.0/0', serverAddress: 'https://10.1.2.3:6443' }], ...endpoints },
      authInfo,
    },
  };
}

const OBJECT_NAME = 'must be a valid object name';
const NAMESPACE = 'must be a valid namespace';
const CIDR = 'must be an IP range in CIDR notation';
const ADDRESS = 'must be an https URL without user, query or fragment, or a host with an optional port';
const PEM = 'must be PEM certificates encoded in base64';
const RENEW_BEFORE = 'must be a percentage of the lifetime from 1% to 90%';
const LIFETIME = 'must be a duration in hours, minutes and seconds from 10m to 720h';
const OVERLAP = 'must be a duration in hours, minutes and seconds up to 24h';
const RESERVED = 'under kubernetes.io, k8s.io, argocd.argoproj.io and purser.dev are reserved';

const many = (count: number) => Array.from({ length: count }, (_, index) => `audience-${index}`);

const numbered = (count: number, value: string) => Object.fromEntries(Array.from({ length: count }, (_, index) => [`n-${index}`, value]));

/** Valid and invalid ManagedTokens. */
export const managedTokens: readonly Case[] = [
  accepts('only required fields', {}),
  accepts('all fields together', {
    expirationSeconds: 7200,
    boundObjectRef: { apiVersion: 'v1', kind: 'Secret', name: 'anchor', uid: '7d7c31c6-4f31-4a3c-9d3a-1c51d1f0a1ad' },
    requesterServiceAccountName: 'ci.build',
    rotation: { renewBefore: '1h30m', suspend: true },
    secret: {
      name: 'token.ci',
      labels: { team: 'a', 'example.com/empty': '', 'cluster.x-k8s.io/cluster-name': 'target-1' },
      annotations: { 'example.com/note': 'any text: at all' },
      outputs: ['Token', 'Kubeconfig', 'ArgoCD'],
      server: 'https://10.1.2.3:6443',
      keys: [{ key: 'caBundle', from: 'CA' }],
      argocd: {
        project: 'platform',
        namespaces: ['apps'],
        clusterResources: true,
        shard: 0,
        labelsFromCluster: ['env', 'example.com/region'],
      },
    },
    revocation: 'None',
  }),
  accepts('the maximum number of labels and annotations', {
    secret: { labels: numbered(32, 'x'.repeat(63)), annotations: numbered(16, 'x'.repeat(1_024)) },
  }),
  accepts('sixteen audiences', { audiences: many(16) }),
  accepts('an audience of 256 characters', { audiences: ['ä'.repeat(256)] }),
  accepts('the longest lifetime', { expirationSeconds: 4_294_967_296 }),
  accepts('3607 seconds for a token that is bound to a Secret', { expirationSeconds: 3607, boundObjectRef: { kind: 'Secret', name: 'x' } }),
  accepts('revocation BoundSecret without a bound object', { revocation: 'BoundSecret' }),
  ...['1%', '90%', '15m', '1h30m', '90s', '36h', '0h5m'].map((renewBefore) =>
    accepts(`renewBefore ${renewBefore}`, { rotation: { renewBefore } }),
  ),

  rejects('a cluster name with an uppercase letter', { clusterName: 'Target' }, 'spec.clusterName', 'must be the name of a Cluster'),
  rejects('a cluster name with a slash', { clusterName: 'a/b' }, 'spec.clusterName', 'must be the name of a Cluster'),
  rejects('a namespace with a dot', { serviceAccount: { namespace: 'a.b', name: 'x' } }, 'spec.serviceAccount.namespace', NAMESPACE),
  rejects(
    'a service account name with a colon',
    { serviceAccount: { namespace: 'a', name: 'x:y' } },
    'spec.serviceAccount.name',
    OBJECT_NAME,
  ),
  rejects('a requester with an underscore', { requesterServiceAccountName: 'a_b' }, 'spec.requesterServiceAccountName', OBJECT_NAME),
  ...secretCases(),
  rejects('an empty list of audiences', { audiences: [] }, 'spec.audiences', ''),
  rejects('seventeen audiences', { audiences: many(17) }, 'spec.audiences', ''),
  rejects('a repeated audience', { audiences: ['a', 'a'] }, 'spec.audiences', ''),
  rejects('an empty audience', { audiences: [''] }, 'spec.audiences[0]', ''),
  rejects('an audience of 257 characters', { audiences: ['a'.repeat(257)] }, 'spec.audiences[0]', ''),
  rejects('an audience that is reserved', { audiences: ['purser:https://a'] }, 'spec.audiences[0]', 'must not begin with purser:'),
  rejects('an audience with whitespace', { audiences: ['a, b'] }, 'spec.audiences[0]', 'must not contain whitespace'),
  rejects('a lifetime below ten minutes', { expirationSeconds: 599 }, 'spec.expirationSeconds', ''),
  rejects('a lifetime above 2^32 seconds', { expirationSeconds: 4_294_967_297 }, 'spec.expirationSeconds', ''),
  rejects(
    '3607 seconds for a token that is bound to a Pod',
    { expirationSeconds: 3607, boundObjectRef: { kind: 'Pod', name: 'web' } },
    'spec.expirationSeconds',
    'must not be 3607 for a token bound to a Pod',
  ),
  rejects('binding to a Node', { boundObjectRef: { kind: 'Node', name: 'n1' } }, 'spec.boundObjectRef.kind', ''),
  rejects(
    'binding in another API version',
    { boundObjectRef: { apiVersion: 'v2', kind: 'Pod', name: 'a' } },
    'spec.boundObjectRef.apiVersion',
    '',
  ),
  rejects('binding to an invalid name', { boundObjectRef: { kind: 'Pod', name: 'Web' } }, 'spec.boundObjectRef.name', OBJECT_NAME),
  rejects(
    'a bound object together with BoundSecret',
    { boundObjectRef: { kind: 'Secret', name: 'anchor' }, revocation: 'BoundSecret' },
    'spec.boundObjectRef',
    'cannot be combined with revocation BoundSecret',
  ),
  rejects('an unknown revocation', { revocation: 'Always' }, 'spec.revocation', ''),
  ...['0%', '91%', '100%', '20 %', '1.5h', '0m', '5d', '30', '-5m', '5m1h'].map((renewBefore) =>
    rejects(`renewBefore ${renewBefore}`, { rotation: { renewBefore } }, 'spec.rotation.renewBefore', RENEW_BEFORE),
  ),
  rejects('an invalid Secret name', { secret: { name: '-token' } }, 'spec.secret.name', OBJECT_NAME),
  rejects('an unknown output', { secret: { outputs: ['Vault'] } }, 'spec.secret.outputs[0]', ''),
  rejects('an empty list of outputs', { secret: { outputs: [] } }, 'spec.secret.outputs', ''),
  rejects('an invalid server', { secret: { server: 'http://a' } }, 'spec.secret.server', "must be one of the Cluster's addresses"),
  rejects('an invalid label value', { secret: { labels: { team: 'a b' } } }, 'spec.secret.labels.team', 'must be a valid label value'),
  rejects('an invalid label name', { secret: { labels: { 'a b': '' } } }, 'spec.secret.labels', 'label keys must be'),
  rejects('17 annotations', { secret: { annotations: numbered(17, '') } }, 'spec.secret.annotations', ''),
  rejects('33 labels', { secret: { labels: numbered(33, '') } }, 'spec.secret.labels', ''),
  rejects('a long annotation', { secret: { annotations: { a: 'x'.repeat(1_025) } } }, 'spec.secret.annotations.a', ''),
  rejects('an invalid annotation name', { secret: { annotations: { '/a': '' } } }, 'spec.secret.annotations', 'annotation keys must be'),
  ...[
    'kubernetes.io/a',
    'app.kubernetes.io/name',
    'k8s.io/a',
    'node.k8s.io/a',
    'argocd.argoproj.io/secret-type',
    'tokens.purser.dev/a',
  ].flatMap((key) => [
    rejects(`the label ${key}`, { secret: { labels: { [key]: 'x' } } }, 'spec.secret.labels', `labels ${RESERVED}`),
    rejects(`the annotation ${key}`, { secret: { annotations: { [key]: 'x' } } }, 'spec.secret.annotations', `annotations ${RESERVED}`),
  ]),
];

/** Valid and invalid Clusters. */
export const clusters: readonly Case[] = [
  { name: 'accepts only required fields', object: cluster() },
  {
    name: 'accepts both references and a CA',
    object: cluster(
      { caBundle: 'LS0tLS1CRUdJTiBDRVJUSUZJQ0FURS0tLS0t\nLS0tLS1FTkQgQ0VSVElGSUNBVEUtLS0tLQo=\n' },
      { controller: { kind: 'Secret', name: 'target-1', namespace: 'purser-system' }, user: { kind: 'Group', name: 'oidc:admins' } },
    ),
  },
  ...['10.0.0.0/8', '192.168.1.7/32', '::/0', '2001:db8::/32', 'fe80::1/128', '::ffff:10.0.0.0/104'].map((clientCIDR) => ({
    name: `accepts the clients ${clientCIDR}`,
    object: cluster({ serverEndpoints: [{ clientCIDR, serverAddress: 'a' }] }),
  })),
  ...['api.example.com', 'api:6443', '10.0.0.1:443', '[2001:db8::1]:6443', 'https://a.b/k8s/clusters/c-1', 'https://[::1]/'].map(
    (serverAddress) => ({
      name: `accepts the address ${serverAddress}`,
      object: cluster({ serverEndpoints: [{ clientCIDR: '0.0.0.0/0', serverAddress }] }),
    }),
  ),
  {
    name: 'accepts two addresses for the same clients',
    object: cluster({
      serverEndpoints: [
        { clientCIDR: '0.0.0.0/0', serverAddress: 'a' },
        { clientCIDR: '0.0.0.0/0', serverAddress: 'b' },
      ],
    }),
  },

  rejectsEndpoints('an empty list of addresses', { serverEndpoints: [] }, 'serverEndpoints', ''),
  rejectsEndpoints(
    'a repeated address',
    {
      serverEndpoints: [
        { clientCIDR: '::/0', serverAddress: 'a' },
        { clientCIDR: '::/0', serverAddress: 'a' },
      ],
    },
    'serverEndpoints',
    '',
  ),
  ...['10.0.0.0', '10.0.0.0/33', '10.0.0/8', '256.0.0.0/8', '010.0.0.0/8', '::/129', 'everywhere/0', '10.0.0.0/8/8'].map((clientCIDR) =>
    rejectsEndpoints(
      `the clients ${clientCIDR}`,
      { serverEndpoints: [{ clientCIDR, serverAddress: 'a' }] },
      'serverEndpoints[0].clientCIDR',
      CIDR,
    ),
  ),
  ...[
    'http://a',
    'https://u:p@a',
    'https://a?x=1',
    'https://a#x',
    'a b',
    'https://',
    'a:0',
    'https://a/../b',
    '-a',
    'ftp://a',
    '2001:db8::1',
  ].map((serverAddress) =>
    rejectsEndpoints(
      `the address ${serverAddress}`,
      { serverEndpoints: [{ clientCIDR: '0.0.0.0/0', serverAddress }] },
      'serverEndpoints[0].serverAddress',
      ADDRESS,
    ),
  ),
  rejectsEndpoints('plain PEM', { caBundle: '-----BEGIN CERTIFICATE-----\nMIIB\n-----END CERTIFICATE-----\n' }, 'caBundle', PEM),
  rejectsController('a kind of credential that Purser does not read', { kind: 'ConfigMap' }, 'kind', ''),
  rejectsController('a credential with an invalid name', { name: 'Target' }, 'name', OBJECT_NAME),
  rejectsController('a credential in an invalid namespace', { namespace: 'purser.system' }, 'namespace', NAMESPACE),
  ...[{}, { renewal: 'Manual' }, { lifetime: '10m', overlap: '0s' }, { lifetime: '720h', overlap: '1h30m' }].map((credential) => ({
    name: `accepts the renewal ${JSON.stringify(credential)}`,
    object: withCredential(credential),
  })),
  ...['9m59s', '720h1s', '', '0h', '7d', '-1h', '1.5h'].map((lifetime) => rejectsCredential({ lifetime }, 'lifetime', LIFETIME)),
  ...['24h1s', '', '7d', '-1m'].map((overlap) => rejectsCredential({ overlap }, 'overlap', OVERLAP)),
  rejectsCredential({ renewal: 'Never' }, 'renewal', ''),
];

function secretCases(): readonly Case[] {
  const key = (name: string, from = 'CA', outputs = ['Token']) => ({ secret: { outputs, keys: [{ key: name, from }] } });
  const argocd = (settings: Spec, outputs = ['ArgoCD']) => ({ secret: { outputs, argocd: settings } });
  const all = ['Token', 'CA', 'Server', 'Namespace', 'ClusterName', 'ExpiresAt', 'Kubeconfig'];
  const texts = (count: number, text: (index: number) => string) => Array.from({ length: count }, (_, index) => text(index));
  const rejectsKey = (name: string, spec: Spec, field: string, message: string) => rejects(name, spec, `spec.secret.${field}`, message);
  const ownKey = 'must not contain token, which every Secret has, or a key of the chosen outputs';
  const tokenFree =
    'must not be a key that some output format uses for a value without the token, such as server, if from is Token or Kubeconfig';
  const secretKey = "must be a valid key of a Secret (letters, digits, '-', '_' and '.'; neither '.' nor beginning with '..')";
  return [
    accepts('a key for each source', { secret: { keys: all.map((from) => ({ key: `my.${from}`, from })) } }),
    accepts('sixteen keys of the maximum length', {
      secret: { keys: texts(16, (n) => `${n}`.padEnd(253, 'x')).map((each) => ({ key: each, from: 'CA' })) },
    }),
    accepts('a kubeconfig under a key of an output that is not chosen', key('config', 'Kubeconfig')),
    accepts('the name of the cluster under a key of an output that is not chosen', key('name', 'ClusterName')),
    accepts('a dot file as a key', key('.credentials', 'Token')),
    accepts(
      'the maximum number of namespaces and copied labels for Argo CD',
      argocd({ namespaces: texts(64, (n) => `${n}`.padEnd(63, 'x')), labelsFromCluster: texts(16, (n) => `${n}`.padEnd(63, 'x')) }),
    ),
    accepts('the highest shard', argocd({ shard: 2_147_483_647 })),
    ...['token', 'ca.crt', 'server', 'namespace'].map((name) => rejectsKey(`the key ${name}`, key(name), 'keys', ownKey)),
    ...['kubeconfig', 'value'].map((name) =>
      rejectsKey(`the key ${name} in addition to the output Kubeconfig`, key(name, 'CA', ['Kubeconfig']), 'keys', ownKey),
    ),
    ...['name', 'server', 'config', 'project', 'namespaces', 'clusterResources', 'shard'].map((name) =>
      rejectsKey(`the key ${name} in addition to the output ArgoCD`, key(name, 'CA', ['ArgoCD']), 'keys', ownKey),
    ),
    ...['name', 'project', 'namespaces', 'clusterResources', 'shard'].map((name) =>
      rejectsKey(`the token under the key ${name}`, key(name, 'Token'), 'keys[0].key', tokenFree),
    ),
    ...['ca.crt', 'server', 'namespace'].map((name) =>
      rejectsKey(`a kubeconfig under the key ${name}`, key(name, 'Kubeconfig', ['Kubeconfig']), 'keys[0].key', tokenFree),
    ),
    ...['.', '..', '..data', 'a b', 'a/b', 'ä'].map((name) => rejectsKey(`the key ${name}`, key(name), 'keys[0].key', secretKey)),
    rejectsKey('an empty key', key(''), 'keys[0].key', ''),
    rejectsKey('a key of 254 characters', key('x'.repeat(254)), 'keys[0].key', ''),
    rejectsKey('an unknown source', key('x', 'Password'), 'keys[0].from', ''),
    rejectsKey(
      'a repeated key',
      {
        secret: {
          keys: [
            { key: 'x', from: 'CA' },
            { key: 'x', from: 'Token' },
          ],
        },
      },
      'keys',
      '',
    ),
    rejectsKey('seventeen keys', { secret: { keys: texts(17, (n) => `k${n}`).map((each) => ({ key: each, from: 'CA' })) } }, 'keys', ''),
    rejectsKey(
      'settings of Argo CD without the output ArgoCD',
      argocd({ project: 'x' }, ['Token']),
      'argocd',
      'requires the ArgoCD output',
    ),
    rejectsKey('a project with a slash', argocd({ project: 'a/b' }), 'argocd.project', OBJECT_NAME),
    rejectsKey('a namespace for Argo CD with a comma', argocd({ namespaces: ['a,b'] }), 'argocd.namespaces[0]', NAMESPACE),
    rejectsKey('an empty list of namespaces for Argo CD', argocd({ namespaces: [] }), 'argocd.namespaces', ''),
    rejectsKey('a negative shard', argocd({ shard: -1 }), 'argocd.shard', ''),
    rejectsKey(
      'a copied label that is not a label name',
      argocd({ labelsFromCluster: ['-a'] }),
      'argocd.labelsFromCluster[0]',
      'must be a label name',
    ),
    ...['registry.purser.dev/set', 'argocd.argoproj.io/secret-type', 'topology.kubernetes.io/region', 'k8s.io/a'].map((label) =>
      rejectsKey(`the copied label ${label}`, argocd({ labelsFromCluster: [label] }), 'argocd.labelsFromCluster[0]', `labels ${RESERVED}`),
    ),
    { name: 'accepts a missing list of audiences', object: withoutAudiences() },
  ];
}

function withoutAudiences(): CustomResource {
  const { spec, ...object } = managedToken();
  const { audiences: _, ...rest } = spec as Spec;
  return { ...object, spec: rest };
}

function accepts(name: string, spec: Spec): Case {
  return { name: `accepts ${name}`, object: managedToken(spec) };
}

function rejects(name: string, spec: Spec, field: string, message: string): Case {
  return { name: `rejects ${name}`, object: managedToken(spec), rejected: { field, message } };
}

function rejectsEndpoints(name: string, endpoints: Spec, field: string, message: string): Case {
  return { name: `rejects ${name}`, object: cluster(endpoints), rejected: { field: `spec.orchestratorApiEndpoints.${field}`, message } };
}

function withCredential(credential: Spec): CustomResource {
  const { spec, ...object } = cluster();
  return { ...object, spec: { ...(spec as Spec), credential } };
}

function rejectsCredential(credential: Spec, field: string, message: string): Case {
  return {
    name: `rejects the renewal ${JSON.stringify(credential)}`,
    object: withCredential(credential),
    rejected: { field: `spec.credential.${field}`, message },
  };
}

function rejectsController(name: string, part: Spec, field: string, message: string): Case {
  const controller = { kind: 'Secret', name: 'target-1', namespace: 'purser-system', ...part };
  return {
    name: `rejects ${name}`,
    object: cluster({}, { controller }),
    rejected: { field: `spec.authInfo.controller.${field}`, message },
  };
}
