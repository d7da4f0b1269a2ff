// Whether our credential for a cluster is good for much longer, by what it says itself.

import type { Secret } from '../api/resources.ts';
import type { ClusterClients } from '../targets/cluster-clients.ts';
import { readCredential } from '../targets/credential.ts';
import { type CredentialLifetime, credentialLifetime } from '../targets/credential-lifetime.ts';
import { IssueError } from '../targets/issue-error.ts';
import type { RegisteredCluster } from '../targets/registered-cluster.ts';
import { credentialFreshness } from './policy/credential-freshness.ts';
import { type Finding, finding } from './policy/findings.ts';

/** What is to be said of the age of our credential. */
export function freshnessOf({ cluster, credential }: RegisteredCluster, clients: Pick<ClusterClients, 'isHub'>, now: number): Finding {
  const isOwn = cluster.spec.authInfo?.controller?.kind === 'ServiceAccount' && clients.isHub(cluster);
  if (isOwn) return finding('True', 'CredentialValid', 'it is the one that Purser has on the hub');
  const lifetime = credential && lifetimeOf(credential);
  return lifetime === undefined ? finding('Unknown', 'CredentialMissing') : credentialFreshness(lifetime.stated, now);
}

interface Lifetime {
  /** Undefined for a credential that says nothing of its time. */
  readonly stated: CredentialLifetime | undefined;
}

/** Undefined for a Secret without a usable credential. */
function lifetimeOf(credential: Secret): Lifetime | undefined {
  if (!lifetimes.has(credential)) lifetimes.set(credential, readLifetime(credential));
  return lifetimes.get(credential);
}

/** Certificates are costly to read, and the Secrets of informers are never changed but replaced. */
const lifetimes = new WeakMap<Secret, Lifetime | undefined>();

function readLifetime(credential: Secret): Lifetime | undefined {
  try {
    return { stated: credentialLifetime(readCredential(credential)) };
  } catch (error) {
    if (!(error instanceof IssueError)) throw error;
    return undefined;
  }
}
