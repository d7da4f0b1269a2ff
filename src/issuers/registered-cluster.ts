// What the hub says of a cluster: the Cluster itself, and our credential for it.

import type { Cluster } from '../api/cluster.gen.ts';
import { CredentialSecretKey } from '../api/names.ts';
import type { Secret } from '../api/resources.ts';
import { serverUrl } from '../domain/server-url.ts';
import type { Store } from '../kube/store.ts';

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

/** The keys of the Secrets that a Cluster refers to: one or none. */
export function credentialKeys({ spec }: Cluster): readonly string[] {
  const controller = spec.authInfo?.controller;
  return controller?.kind === 'Secret' ? [`${controller.namespace}/${controller.name}`] : [];
}

/**
 * Returns a name for the cluster that is dialled, the same for all Clusters that lead to one server: the first address that the credential
 * is pinned to. Undefined if nothing can be dialled, because the Cluster has no credential.
 */
export function dialedServer({ cluster, credential }: RegisteredCluster): string | undefined {
  if (cluster.spec.authInfo?.controller?.kind === 'ServiceAccount') return 'hub';
  return credential && firstPin(credential);
}

const firstPins = new WeakMap<Secret, string>();

/** Read for every key that becomes ready, and the same until the Secret changes. */
function firstPin(credential: Secret): string {
  const known = firstPins.get(credential);
  if (known !== undefined) return known;
  const { data = {}, metadata } = credential;
  const [address = ''] = Buffer.from(data[CredentialSecretKey.server] ?? '', 'base64')
    .toString('utf8')
    .trim()
    .split(/[\s,]+/, 1);
  const pin = serverUrl(address) ?? `${metadata.namespace}/${metadata.name}`;
  firstPins.set(credential, pin);
  return pin;
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
