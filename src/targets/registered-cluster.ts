// A registered cluster: the Cluster object and Purser's credential for it.

import type { Cluster } from '../api/cluster.gen.ts';
import { Label } from '../api/names.ts';
import { ManagedTokens, type Secret, type Stored } from '../api/resources.ts';
import type { Store } from '../kube/store.ts';
import { digestOf } from '../std/digest.ts';
import type { Issuer } from './policy/issued-for.ts';
import { credentialKey } from './policy/registration.ts';

/** A Cluster with Purser's credential for it. */
export interface RegisteredCluster {
  readonly cluster: Stored<Cluster>;
  /** The Secret that `spec.authInfo.controller` refers to; undefined if it does not exist. */
  readonly credential?: Stored<Secret> | undefined;
}

/** Returns a Cluster with Purser's credential from the stores; undefined if the Cluster does not exist. */
export function registeredCluster(
  name: string,
  clusters: Store<Cluster>,
  credentials: readonly Store<Secret>[],
): RegisteredCluster | undefined {
  const cluster = clusters.get(name);
  if (cluster === undefined) return undefined;
  const [key] = credentialKeys(cluster);
  const credential = key === undefined ? undefined : credentials.map((store) => store.get(key)).find(Boolean);
  return { cluster, credential };
}

/** Returns whether Purser manages a Secret for a ManagedToken. Such a Secret is never a credential. */
export function isManaged({ metadata: { labels = {}, ownerReferences = [] } }: Secret): boolean {
  const isOwner = ({ apiVersion, kind }: { readonly apiVersion: string; readonly kind: string }) =>
    kind === ManagedTokens.kind && apiVersion.split('/')[0] === ManagedTokens.group;
  return Object.hasOwn(labels, Label.managedBy) || ownerReferences.some(isOwner);
}

/** Returns the keys of the Secrets that a Cluster refers to: one or none. */
export function credentialKeys(cluster: Cluster): readonly string[] {
  const key = credentialKey(cluster);
  return key === '' ? [] : [key];
}

/**
 * Returns a name of the cluster that Purser connects to, equal for all Clusters that represent it: all names and addresses in one
 * credential Secret belong to one cluster. Undefined if the credential does not exist, so that Purser does not connect.
 */
export function dialedCluster({ cluster, credential }: RegisteredCluster): string | undefined {
  if (cluster.spec.authInfo?.controller?.kind === 'ServiceAccount') return 'hub';
  return credential && credentialKey(cluster);
}

/** Returns the identity of the Cluster and the credential that tokens are issued with now. */
export function issuerOf({ cluster, credential }: RegisteredCluster): Issuer {
  const key = credentialKey(cluster);
  // The UID as well: another Secret of the same name may allow other addresses.
  const digest = key === '' ? '' : digestOf(`${key} ${credential?.metadata.uid}`);
  return { clusterUID: cluster.metadata.uid, credential: digest };
}

/** Identity of a registration, which changes with the Cluster, its spec and its credential. */
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

/** Returns whether two registrations are the same. */
export function isSameRegistration(a: Registration, b: Registration): boolean {
  return a.cluster === b.cluster && a.credential === b.credential;
}
