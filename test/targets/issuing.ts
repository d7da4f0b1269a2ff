// What is asked of targets, each with the target as it is registered.

import { type AnchorName, deleteAnchor, ensureAnchor } from '../../src/targets/anchor.ts';
import { ClusterClients } from '../../src/targets/cluster-clients.ts';
import type { Grant } from '../../src/targets/policy/grant.ts';
import type { TokenRequest } from '../../src/targets/policy/token-request.ts';
import type { RegisteredCluster } from '../../src/targets/registered-cluster.ts';
import { issueToken } from '../../src/targets/token-request.ts';
import { type ReviewRequest, reviewToken } from '../../src/targets/token-review.ts';

export class Issuing extends ClusterClients {
  issue(cluster: RegisteredCluster, request: TokenRequest, signal: AbortSignal): Promise<Grant> {
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
