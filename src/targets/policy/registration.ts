// The registration of a cluster: its identity, its addresses, its credential, and the identity with which Purser issues tokens.

import type { Cluster } from '../../api/cluster.gen.ts';

/** Returns `namespace/name` of the credential Secret; empty for Purser's own service account on the hub, and without a credential. */
export function credentialKey({ spec }: Cluster): string {
  const controller = spec.authInfo?.controller;
  return controller?.kind === 'Secret' ? `${controller.namespace}/${controller.name}` : '';
}

/** The Cluster and the credential that a token is issued with. */
export interface Issuer {
  readonly clusterUID: string;
  /** Digest of the credential Secret, whose name consumers must not learn; empty for Purser's own service account on the hub. */
  readonly credential: string;
}

/** Returns whether a token or its anchor was created with this credential, whose pins then apply to the token. */
export function isIssuedWith(issued: Issuer, { clusterUID, credential }: Issuer): boolean {
  return issued.clusterUID === clusterUID && issued.credential === credential;
}

/** Identity of a registration, which changes with the Cluster, its spec, its credential and the renewal of the credential. */
export interface Registration {
  readonly cluster: string;
  readonly credential: string;
  readonly renewed: string;
}

export function isSameRegistration(a: Registration, b: Registration): boolean {
  return isSameExceptRenewal(a, b) && a.renewed === b.renewed;
}

/** Returns whether two registrations differ at most in the renewed token. */
export function isSameExceptRenewal(a: Registration, b: Registration): boolean {
  return a.cluster === b.cluster && a.credential === b.credential;
}

/** Returns the normalized https URL of a registered address; undefined for an address that is not allowed. */
export function serverUrl(serverAddress: string): string | undefined {
  if (!ADDRESS.test(serverAddress)) return undefined;
  const text = serverAddress.startsWith(SCHEME) ? serverAddress : `${SCHEME}${serverAddress}`;
  if (!URL.canParse(text)) return undefined;
  const { origin, pathname } = new URL(text);
  return `${origin}${pathname.replace(/\/+$/, '')}`;
}

const SCHEME = 'https://';
/** The pattern of the Cluster's schema: no user, query, fragment, escapes or dot segments. */
const ADDRESS = /^(https:\/\/)?(\[[0-9A-Fa-f:.]+\]|[A-Za-z0-9]([-A-Za-z0-9.]*[A-Za-z0-9])?)(:[1-9][0-9]{0,4})?(\/[-\w~][-\w.~]*)*\/?$/;
