// The validity of Purser's credential for a cluster, as the token or certificate states it.

import type { Secret } from '../api/resources.ts';
import type { ClusterClients } from '../targets/cluster-clients.ts';
import { credentialLifetime, readCredential } from '../targets/credential.ts';
import { IssueError } from '../targets/issue-error.ts';
import type { RegisteredCluster } from '../targets/registered-cluster.ts';
import type { CredentialEvidence } from './policy/conditions.ts';

/** Returns the evidence about Purser's credential for the condition CredentialFresh. */
export function credentialEvidence({ cluster, credential }: RegisteredCluster, clients: Pick<ClusterClients, 'isHub'>): CredentialEvidence {
  const isOwn = cluster.spec.authInfo?.controller?.kind === 'ServiceAccount' && clients.isHub(cluster);
  if (isOwn) return { type: 'own' };
  return credential === undefined ? { type: 'missing' } : storedEvidence(credential);
}

/** Evidence by Secret: parsing certificates is expensive, and informers replace Secrets rather than change them. */
const EVIDENCE = new WeakMap<Secret, CredentialEvidence>();

function storedEvidence(credential: Secret): CredentialEvidence {
  const known = EVIDENCE.get(credential);
  if (known !== undefined) return known;
  const evidence = readEvidence(credential);
  EVIDENCE.set(credential, evidence);
  return evidence;
}

function readEvidence(credential: Secret): CredentialEvidence {
  try {
    return { type: 'stored', validity: credentialLifetime(readCredential(credential)) };
  } catch (error) {
    if (!(error instanceof IssueError)) throw error;
    return { type: 'missing' };
  }
}
