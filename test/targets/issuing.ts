// Requests to targets, each with the target of a registration.

import { type AnchorName, deleteAnchor, ensureAnchor } from '../../src/targets/anchors.ts';
import { ClusterClients } from '../../src/targets/cluster-clients.ts';
import { issueToken } from '../../src/targets/issue-token.ts';
import type { Grant, TargetTokenRequest } from '../../src/targets/policy/grant.ts';
import type { RegisteredCluster } from '../../src/targets/registry.ts';
import { type ReviewRequest, reviewToken } from '../../src/targets/reviews.ts';

export class Issuing extends ClusterClients {
  issue(cluster: RegisteredCluster, request: TargetTokenRequest, signal: AbortSignal): Promise<Grant> {
    return this.use(cluster, (target) => issueToken(target, request, signal));
  }

  review(cluster: RegisteredCluster, request: ReviewRequest, signal: AbortSignal): Promise<boolean> {
    return this.use(cluster, (target) => reviewToken(target, request, signal));
  }

  ensureAnchor(cluster: RegisteredCluster, anchor: AnchorName & { readonly account: string }, signal: AbortSignal): Promise<string> {
    return this.use(cluster, (target) => ensureAnchor(target, anchor, anchor.account, signal));
  }

  deleteAnchor(cluster: RegisteredCluster, anchor: AnchorName, signal: AbortSignal): Promise<boolean> {
    return this.use(cluster, (target) => deleteAnchor(target, anchor, signal));
  }
}
