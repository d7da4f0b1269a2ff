// The compared lists: their paths on kube-apiserver, and their objects c01 to c25.

import { ManagedTokenColumns } from '../../src/api/managed-token-schema.gen.ts';
import { CLUSTER_COLUMNS } from '../../src/facade/clusters/cluster-list.ts';
import { cluster as recordedCluster } from '../contract/golden-clusters.ts';

/** A list of the façade, and the same list of kube-apiserver. */
export interface ComparedList {
  readonly crd: string;
  /** Columns of tables of the façade. */
  readonly columns: readonly unknown[];
  readonly listKind: string;
  /** Path of the list of all objects. */
  readonly path: string;
  /** Paths of lists, including those of namespaces with and without objects. */
  readonly paths: readonly string[];
  /** Paths to which names of objects are appended. */
  readonly parents: readonly string[];
  /** Path of the list that the object with this number, from 1, is in. */
  readonly pathOf: (number: number) => string;
  readonly objectOf: (number: number) => object;
  /** Status of every third object. */
  readonly status: object;
}

/** Number of objects of each list. */
export const OBJECTS = 25;

const TOKENS = '/apis/tokens.purser.dev/v1alpha1';
const inNamespace = (namespace: string) => `${TOKENS}/namespaces/${namespace}/managedtokens`;
/** Namespaces of ManagedTokens. */
const NAMESPACES = ['team-a', 'team-b'] as const;
/** The only list that alice may read on kube-apiserver. */
export const PERMITTED_PATH = inNamespace(NAMESPACES[0]);

const CONDITION = {
  type: 'Ready',
  status: 'True',
  lastTransitionTime: '2026-01-01T00:00:00Z',
};

const CLUSTERS: ComparedList = {
  crd: 'clusters.registry.purser.dev',
  columns: CLUSTER_COLUMNS,
  listKind: 'ClusterList',
  path: '/apis/registry.purser.dev/v1alpha1/clusters',
  paths: ['/apis/registry.purser.dev/v1alpha1/clusters'],
  parents: ['/apis/registry.purser.dev/v1alpha1/clusters'],
  pathOf: () => CLUSTERS.path,
  objectOf: (number) => recordedCluster(number),
  status: {
    version: 'v1.36.4',
    type: 'Kubernetes',
    conditions: [
      {
        ...CONDITION,
        reason: 'ClusterReady',
        message: 'Tokens can be issued for the cluster.',
        lastHeartbeatTime: '2026-01-01T00:00:00Z',
      },
    ],
  },
};

const MANAGED_TOKENS: ComparedList = {
  crd: 'managedtokens.tokens.purser.dev',
  columns: ManagedTokenColumns,
  listKind: 'ManagedTokenList',
  path: `${TOKENS}/managedtokens`,
  paths: [`${TOKENS}/managedtokens`, `${TOKENS}/managedtokens`, ...NAMESPACES.map(inNamespace), inNamespace('missing')],
  parents: NAMESPACES.map(inNamespace),
  pathOf: (number) => inNamespace(number <= OBJECTS / 2 ? NAMESPACES[0] : NAMESPACES[1]),
  objectOf: (number) => {
    const { metadata } = recordedCluster(number) as { readonly metadata: object };
    return {
      apiVersion: 'tokens.purser.dev/v1alpha1',
      kind: 'ManagedToken',
      // Finalizers would keep the objects, but nothing deletes them.
      metadata: { ...metadata, annotations: { note: 'private' }, finalizers: ['example.com/private'] },
      spec: { clusterName: number % 2 === 0 ? 'prod-eu' : 'prod-us', serviceAccount: { namespace: 'team-a', name: 'builder' } },
    };
  },
  status: {
    conditions: [{ ...CONDITION, reason: 'Issued', message: 'The Secret holds a valid token for this spec.', observedGeneration: 1 }],
    issuedAt: '2026-01-01T00:00:00Z',
    expirationTimestamp: '2026-01-01T01:00:00Z',
    nextRotationTime: '2026-01-01T00:45:00Z',
    secretName: 'token',
    rotations: 3,
    tokenDigest: 'private',
    secretRef: { name: 'token', uid: 'private' },
  },
};

export const COMPARED_LISTS: readonly ComparedList[] = [CLUSTERS, MANAGED_TOKENS];

/** Returns the façade's path for a path on kube-apiserver. */
export function facadePath(path: string): string {
  return path.replace(/^\/apis\/(?:registry|tokens)\.purser\.dev\/v1alpha1(?=\/)/, '/auth/v1');
}

/** Returns the list that a path on kube-apiserver belongs to. */
export function listOf(path: string): ComparedList {
  return path.startsWith(TOKENS) ? MANAGED_TOKENS : CLUSTERS;
}
