// Everything that is asked of target clusters, behind one interface.

import type { Grant } from '../domain/grant.ts';
import type { TokenRequest } from '../domain/token-request.ts';
import { type AnchorName, deleteAnchor, ensureAnchor } from './anchor.ts';
import { ClusterClients } from './cluster-clients.ts';
import type { RegisteredCluster, TargetSettings } from './create-target.ts';
import { issueToken } from './token-request.ts';
import { type ReviewRequest, reviewToken } from './token-review.ts';

/**
 * Issues tokens on target clusters. Every method throws an IssueError that says why it failed, or the reason of `signal`
 * when that aborts. A cluster is always given as the hub has it now: another version of it means new connections.
 */
export interface TokenIssuer {
  /** A new token that is what was asked for. */
  issue(cluster: RegisteredCluster, request: TokenRequest, signal: AbortSignal): Promise<Grant>;
  /** Whether the cluster still accepts a token. */
  review(cluster: RegisteredCluster, request: ReviewRequest, signal: AbortSignal): Promise<boolean>;
  /** The UID of the Secret that tokens of this account are bound to; made if it is not there. */
  ensureAnchor(cluster: RegisteredCluster, anchor: AnchorOf, signal: AbortSignal): Promise<string>;
  /** Deletes such a Secret; that it is not there is fine. */
  deleteAnchor(cluster: RegisteredCluster, anchor: AnchorName & { readonly uid?: string }, signal: AbortSignal): Promise<void>;
  /** Ends the connections to a cluster that is no longer registered. */
  forget(clusterName: string): Promise<void>;
  /** Ends all connections; what is under way fails. */
  close(): Promise<void>;
}

/** An anchor, and the account beside it that it belongs to. */
export interface AnchorOf extends AnchorName {
  readonly account: string;
}

/** Makes the issuer; nothing is dialled before the first request. */
export function createTokenIssuer(settings: TargetSettings): TokenIssuer {
  const clients = new ClusterClients(settings);
  return {
    issue: (cluster, request, signal) => clients.use(cluster, (target) => issueToken(target, request, signal)),
    review: (cluster, request, signal) => clients.use(cluster, (target) => reviewToken(target, request, signal)),
    ensureAnchor: (cluster, anchor, signal) => clients.use(cluster, (target) => ensureAnchor(target, anchor, anchor.account, signal)),
    deleteAnchor: (cluster, anchor, signal) => clients.use(cluster, (target) => deleteAnchor(target, anchor, signal)),
    forget: (clusterName) => clients.forget(clusterName),
    close: () => clients.close(),
  };
}
