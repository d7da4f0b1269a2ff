// The registration of a cluster: its addresses, its credential, and the identity with which Purser issues tokens.

import type { Cluster } from '../../api/cluster.gen.ts';

/** Returns `namespace/name` of the credential Secret; empty if `spec.authInfo.controller` is unset or refers to a service account. */
export function credentialKeyOf({ spec }: Cluster): string {
  const controller = spec.authInfo?.controller;
  return controller?.kind === 'Secret' ? `${controller.namespace}/${controller.name}` : '';
}

/** The Cluster that a token is issued for, and Purser's credential for that Cluster. */
export interface IssuingCredential {
  readonly clusterUID: string;
  /**
   * Digest that identifies the credential Secret without revealing its name to consumers; empty for Purser's own service account on the
   * hub.
   */
  readonly credential: string;
}

/**
 * Returns whether a token or its anchor was created with this Cluster and credential, so that the pins of the credential apply to the
 * token.
 */
export function isIssuedWith(issued: IssuingCredential, { clusterUID, credential }: IssuingCredential): boolean {
  return issued.clusterUID === clusterUID && issued.credential === credential;
}

/** Returns the normalized https URL of a registered address; undefined if the address is not allowed. */
export function normalizeServer(serverAddress: string): string | undefined {
  if (!ADDRESS.test(serverAddress)) return undefined;
  const text = serverAddress.startsWith(SCHEME) ? serverAddress : `${SCHEME}${serverAddress}`;
  if (!URL.canParse(text)) return undefined;
  const { origin, pathname } = new URL(text);
  return `${origin}${pathname.replace(/\/+$/, '')}`;
}

const SCHEME = 'https://';
/** The same pattern as in the Cluster's schema: no user, query, fragment, escapes or dot segments. */
const ADDRESS = /^(https:\/\/)?(\[[0-9A-Fa-f:.]+\]|[A-Za-z0-9]([-A-Za-z0-9.]*[A-Za-z0-9])?)(:[1-9][0-9]{0,4})?(\/[-\w~][-\w.~]*)*\/?$/;
