// What can be done for a ManagedToken.

import type { FailureReason, IssueReason } from '../../api/reasons.ts';
import type { AnchorPlace } from './anchors.ts';
import type { TokenRecord } from './record.ts';

/** Why there is no token, or no newer one. */
export interface TokenFailure {
  readonly reason: FailureReason | 'Forbidden' | 'SecretConflict' | 'InvalidSpec' | 'MassWithdrawal' | 'RemovalDelayed';
  /** What people can do about it. */
  readonly message: string;
}

/** How the wanted Secret comes about: some changes of a Secret are only possible by making it anew. */
export type SecretWrite = 'create' | 'update' | 'replace';

/** Nothing can be done now. */
export interface HoldPlan {
  readonly type: 'hold';
  /** Absent when there is nothing to complain about: rotation is suspended, or it is too soon. */
  readonly failure?: TokenFailure;
  /** Whether the keys with the token are to be removed from the Secret. */
  readonly strip: boolean;
  /** When to look again; absent when only a change can help. */
  readonly until?: number;
}

/** A token is issued and written. */
export interface IssuePlan {
  readonly type: 'issue';
  readonly reason: IssueReason;
  readonly write: SecretWrite;
  /** If no token can be had: whether the old one has to go all the same. */
  readonly dropOld: boolean;
  /** The account that the answer must be for; absent when any of that name will do. */
  readonly accountUID?: string;
  /** Whether an anchor that exists must be deleted first. */
  readonly freshAnchor: boolean;
  /** What the new token follows; absent when there is nothing, or nothing readable. */
  readonly previous?: TokenRecord;
}

/** The token that is there is written anew. */
export interface RewritePlan {
  readonly type: 'rewrite';
  /** The name of the Secret to read the token from. */
  readonly from: string;
  readonly write: SecretWrite;
  readonly record: TokenRecord;
}

/** All that can be done; exactly one at a time, so that what comes next is decided on what came of it. */
export type TokenPlan =
  /** It is being deleted and nothing of ours is in the way. */
  | { readonly type: 'none' }
  /** Everything is as it should be. */
  | { readonly type: 'wait'; readonly until: number }
  | HoldPlan
  | IssuePlan
  | RewritePlan
  /** Secrets of former names are deleted. */
  | { readonly type: 'remove'; readonly secrets: readonly string[] }
  /** The anchor and then these Secrets are deleted, because of this value of the annotation. */
  | { readonly type: 'revoke'; readonly request: string; readonly secrets: readonly string[] }
  /** Anchors are deleted where tokens of this spec no longer have them. */
  | { readonly type: 'leave'; readonly places: readonly AnchorPlace[] }
  /**
   * The finalizer is removed after the anchors: `delete` retries until each is gone, `orphaned` tries once and reports the rest,
   * `expired` tries once, `none` sends nothing to any cluster.
   */
  | { readonly type: 'release'; readonly anchor: 'delete' | 'orphaned' | 'none' }
  /** The token is put to TokenReview. */
  | { readonly type: 'verify' };
