// The validity of Purser's credential for a cluster, as the token or certificate states it.

import type { Secret } from '../api/resources.ts';
import type { ClusterClients } from '../targets/cluster-clients.ts';
import { clustersOf, credentialLifetime, readCredential } from '../targets/credential.ts';
import { IssueError } from '../targets/issue-error.ts';
import type { RegisteredCluster } from '../targets/registered-cluster.ts';
import type { CredentialExpiry } from '../telemetry/exposition.ts';
import type { CredentialEvidence } from './policy/conditions.ts';

/** Returns the evidence about Purser's credential for the condition CredentialFresh. */
export function credentialEvidence({ cluster, credential }: RegisteredCluster, clients: Pick<ClusterClients, 'isHub'>): CredentialEvidence {
  const isOwn = cluster.spec.authInfo?.controller?.kind === 'ServiceAccount' && clients.isHub(cluster);
  if (isOwn) return { type: 'own' };
  if (credential === undefined) return { type: 'missing' };
  const { clusters, evidence } = stored(credential);
  // A user who may write Clusters must not learn the validity of the credential of another Cluster.
  return clusters.includes(cluster.metadata.name) ? evidence : { type: 'missing' };
}

/** Yields the expiry of Purser's credential for each Cluster; omits credentials that do not expire or whose expiry is unknown. */
export function* credentialExpiries(all: Iterable<RegisteredCluster>, clients: Pick<ClusterClients, 'isHub'>): Generator<CredentialExpiry> {
  for (const registered of all) {
    const evidence = credentialEvidence(registered, clients);
    const expiresAt = evidence.type === 'stored' ? evidence.validity?.expiresAt : undefined;
    if (expiresAt !== undefined) yield [registered.cluster.metadata.name, expiresAt];
  }
}

interface StoredCredential {
  readonly clusters: readonly string[];
  readonly evidence: CredentialEvidence;
}

/** Known credentials by Secret: parsing certificates is expensive, and informers replace Secrets rather than change them. */
const STORED = new WeakMap<Secret, StoredCredential>();

function stored(credential: Secret): StoredCredential {
  const known = STORED.get(credential) ?? { clusters: clustersOf(credential), evidence: readEvidence(credential) };
  STORED.set(credential, known);
  return known;
}

function readEvidence(credential: Secret): CredentialEvidence {
  try {
    return { type: 'stored', validity: credentialLifetime(readCredential(credential)) };
  } catch (error) {
    if (!(error instanceof IssueError)) throw error;
    return { type: 'missing' };
  }
}
