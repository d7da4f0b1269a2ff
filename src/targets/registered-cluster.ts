// A registered cluster: the Cluster object and Purser's credential for it.

import type { Cluster } from '../api/cluster.gen.ts';
import { CredentialSecretKey, Label, RegistryGroup, RenewCredentialAnnotation, RevokeCredentialAnnotation } from '../api/names.ts';
import { ManagedTokens, type Secret, type Stored } from '../api/resources.ts';
import type { Store } from '../kube/store.ts';
import { digestOf } from '../std/digest.ts';
import { credentialKey, type Issuer } from './policy/registration.ts';
import { isRenewedSecret, renewedName } from './policy/renewed-secret.ts';

/** A Cluster with Purser's credential for it. */
export interface RegisteredCluster {
  readonly cluster: Stored<Cluster>;
  /** The Secret that `spec.authInfo.controller` refers to; undefined if it does not exist. */
  readonly credential?: Stored<Secret> | undefined;
  /** The Secret with the renewed token of the credential; undefined if it does not exist. */
  readonly renewed?: Stored<Secret> | undefined;
}

/**
 * Returns a Cluster with Purser's credential from the stores; undefined if the Cluster does not exist or is being deleted, as long as any
 * finalizer keeps the object: a user who may only label Clusters could otherwise keep one in use.
 */
export function registeredCluster(
  name: string,
  clusters: Store<Cluster>,
  credentials: readonly Store<Secret>[],
): RegisteredCluster | undefined {
  const cluster = clusters.get(name);
  if (cluster === undefined || cluster.metadata.deletionTimestamp !== undefined) return undefined;
  const key = credentialKey(cluster);
  const find = (secretKey: string) => (key === '' ? undefined : credentials.map((store) => store.get(secretKey)).find(Boolean));
  return { cluster, credential: find(key), renewed: find(renewedName(key)) };
}

const CREDENTIAL_KEYS: readonly string[] = Object.values(CredentialSecretKey);
const REQUEST_ANNOTATIONS: ReadonlySet<string> = new Set([RenewCredentialAnnotation, RevokeCredentialAnnotation]);

/**
 * Returns a Secret reduced to the keys of a credential, to the metadata that identifies Secrets of ManagedTokens and renewed ones, and to
 * annotations that Purser reads.
 */
export function reduceCredential(secret: Stored<Secret>): Stored<Secret> {
  const { namespace, name, uid, resourceVersion, creationTimestamp, labels, annotations = {}, ownerReferences } = secret.metadata;
  const isMarked = isManaged(secret) || isRenewedSecret(secret);
  const isRead = (annotation: string) =>
    isRenewedSecret(secret) ? annotation.startsWith(`${RegistryGroup}/`) : REQUEST_ANNOTATIONS.has(annotation);
  const read = Object.entries(annotations).filter(([annotation]) => isRead(annotation));
  return {
    metadata: {
      namespace,
      name,
      uid,
      resourceVersion,
      ...(creationTimestamp && { creationTimestamp }),
      ...(isMarked && { ...(labels && { labels }), ...(ownerReferences && { ownerReferences }) }),
      ...(read.length > 0 && { annotations: Object.fromEntries(read) }),
    },
    data: Object.fromEntries(Object.entries(secret.data ?? {}).filter(([key]) => CREDENTIAL_KEYS.includes(key))),
  };
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
 * credential Secret belong to one cluster. Undefined if the credential does not exist, so Purser does not connect.
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

/** Identity of a registration, which changes with the Cluster, its spec, its credential and the renewal of the credential. */
export interface Registration {
  readonly cluster: string;
  readonly credential: string;
  readonly renewed: string;
}

export function registrationOf({ cluster, credential, renewed }: RegisteredCluster): Registration {
  return {
    cluster: `${cluster.metadata.uid}/${cluster.metadata.generation}`,
    credential: versionOf(credential),
    renewed: versionOf(renewed),
  };
}

/** Returns whether two registrations are the same. */
export function isSameRegistration(a: Registration, b: Registration): boolean {
  return isSameExceptRenewal(a, b) && a.renewed === b.renewed;
}

/** Returns whether two registrations differ at most in the renewed token. */
export function isSameExceptRenewal(a: Registration, b: Registration): boolean {
  return a.cluster === b.cluster && a.credential === b.credential;
}

function versionOf(secret: Stored<Secret> | undefined): string {
  return secret === undefined ? '' : `${secret.metadata.uid}/${secret.metadata.resourceVersion}`;
}
