// Purser's access to a cluster: the namespaces in which its credential may issue tokens, and the fault of a cluster that rejects tokens
// issued by the hub.

import type { ManagedToken } from '../../api/managed-token.gen.ts';
import { isClusterLocalIssuer } from '../../targets/policy/token-claims.ts';
import type { Fault } from './conditions.ts';

/** Result of a review of the credential's permissions. */
export interface IssueScope {
  readonly fault?: Fault | undefined;
  /** Namespaces in which tokens can be issued, such as `in 2 namespaces`; undefined for all. */
  readonly scope?: string | undefined;
}

/** Maximum number of reviewed namespaces; each costs one SelfSubjectAccessReview per check. */
const MAX_NAMESPACES = 10;

/** Returns the namespaces to review if not all are allowed. Namespaces that tokens were issued for come first. */
export function namespacesToReview(tokens: readonly ManagedToken[]): readonly string[] {
  const isIssued = ({ status }: ManagedToken) => status?.issuedAt !== undefined;
  const [issued, others] = [tokens.filter(isIssued), tokens.filter((token) => !isIssued(token))].map(namespacesOf);
  return [...new Set([...(issued ?? []), ...(others ?? [])])].slice(0, MAX_NAMESPACES);
}

/**
 * Returns the scope of a user that may not issue tokens in all namespaces, from one review per namespace. One allowed namespace is
 * enough: a ManagedToken for a namespace that is not allowed must not affect other ManagedTokens.
 */
export function toIssueScope(username: string, reviews: readonly boolean[]): IssueScope {
  const allowed = reviews.filter(Boolean).length;
  if (allowed === 0) return { fault: { reason: 'Forbidden', detail: `user ${username}` } };
  const namespaces = reviews.length === 1 ? 'namespace' : 'namespaces';
  return {
    scope: allowed === reviews.length ? `in ${allowed} ${namespaces}` : `in ${allowed} of ${reviews.length} reviewed ${namespaces}`,
  };
}

function namespacesOf(tokens: readonly ManagedToken[]): readonly string[] {
  return tokens.map(({ spec }) => spec.serviceAccount.namespace).sort();
}

/** A token issued by the hub. */
export interface RejectedToken {
  readonly audience: string;
  /** Undefined if unknown. */
  readonly issuer: string | undefined;
}

/** Returns the fault of a cluster that rejects a token issued by the hub; `areKeysPublic` is false if the hub rejects anonymous reads of its keys. */
export function toFederationFault({ audience, issuer = 'unknown' }: RejectedToken, areKeysPublic: boolean): Fault {
  return {
    reason: 'CredentialRejected',
    detail: `tokens issued by the hub, with issuer ${issuer} and audience ${audience}`,
    remedy: [
      ...(isClusterLocalIssuer(issuer) ? [OTHER_ISSUER] : []),
      ...(areKeysPublic ? [] : [PUBLISH_KEYS]),
      "compare the configuration of the cluster's API server with the output of purser print authentication-config",
    ].join('; '),
  };
}

const OTHER_ISSUER =
  "set --service-account-issuer of the hub's API server to its own URL: this issuer is the default of many clusters, and no cluster trusts its own issuer";
const PUBLISH_KEYS =
  'on the hub, bind the ClusterRole system:service-account-issuer-discovery to the group system:unauthenticated, unless the issuer publishes its keys elsewhere';
