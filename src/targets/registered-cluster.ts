// What the hub says of a cluster: the Cluster itself, and our credential for it.

import type { Cluster } from '../api/cluster.gen.ts';
import { Label } from '../api/names.ts';
import { ManagedTokens, type Secret } from '../api/resources.ts';
import type { Store } from '../kube/store.ts';
import { credentialKey } from './policy/credential-key.ts';

/** A Cluster and our credential for it; issuers never read the hub themselves. */
export interface RegisteredCluster {
  readonly cluster: Cluster;
  /** The Secret that `spec.authInfo.controller` refers to, where it refers to one and that is there. */
  readonly credential?: Secret | undefined;
}

/** A Cluster and our credential for it, from where they are kept; undefined when there is no such Cluster. */
export function registeredCluster(
  name: string,
  clusters: Store<Cluster>,
  credentials: readonly Store<Secret>[],
): RegisteredCluster | undefined {
  const cluster = clusters.get(name);
  if (cluster === undefined) return undefined;
  const [key] = credentialKeys(cluster);
  const credential = key === undefined ? undefined : credentials.map((store) => store.get(key)).find(Boolean);
  return { cluster, ...(credential && { credential }) };
}

/** Whether Purser keeps a Secret for a ManagedToken. Such a Secret is never a credential. */
export function isManaged({ metadata: { labels = {}, ownerReferences = [] } }: Secret): boolean {
  const isOwner = ({ apiVersion, kind }: { readonly apiVersion: string; readonly kind: string }) =>
    kind === ManagedTokens.kind && apiVersion.split('/')[0] === ManagedTokens.group;
  return Object.hasOwn(labels, Label.managedBy) || ownerReferences.some(isOwner);
}

/** The keys of the Secrets that a Cluster refers to: one or none. */
export function credentialKeys(cluster: Cluster): readonly string[] {
  const key = credentialKey(cluster);
  return key === '' ? [] : [key];
}

/**
 * Returns a name for the cluster that is dialed, the same for all Clusters that lead to it: all names and addresses in one credential
 * Secret mean one cluster. Undefined if Purser dials nothing, because the credential does not exist.
 */
export function dialedCluster({ cluster, credential }: RegisteredCluster): string | undefined {
  if (cluster.spec.authInfo?.controller?.kind === 'ServiceAccount') return 'hub';
  return credential && credentialKey(cluster);
}

/** What tells one registration from the next: another Cluster or spec, another credential. */
export interface Registration {
  readonly cluster: string;
  readonly credential: string;
}

export function registrationOf({ cluster, credential }: RegisteredCluster): Registration {
  return {
    cluster: `${cluster.metadata.uid}/${cluster.metadata.generation}`,
    credential: credential === undefined ? '' : `${credential.metadata.uid}/${credential.metadata.resourceVersion}`,
  };
}

/** Whether two registrations are the same. */
export function isSameRegistration(a: Registration, b: Registration): boolean {
  return a.cluster === b.cluster && a.credential === b.credential;
}
