// Sends SubjectAccessReviews to the hub, parses the responses to TokenReviews and SubjectAccessReviews, and handles failed reviews.

import type { CallOptions, KubeClient } from '../kube/client.ts';
import { type SubjectAccessReview, SubjectAccessReviews } from '../kube/reviews.ts';
import { type Fields, isFields } from '../kubernetes/object.ts';
import { StatusError, serviceUnavailable } from '../kubernetes/status.ts';
import { omitUndefined } from '../std/omit-undefined.ts';
import type { Logger } from '../telemetry/logger.ts';
import type { User } from './user.ts';

/** The action that a SubjectAccessReview checks. */
export type ReviewAttributes = Pick<SubjectAccessReview['spec'], 'resourceAttributes' | 'nonResourceAttributes'>;

export interface AccessDecision {
  readonly allowed: boolean;
  /** Error of an authorizer; empty if there is none. The error may be the only reason for a denial. */
  readonly evaluationError: string;
}

/** Kind of a review, as it appears in messages. */
export type HubReviewKind = 'TokenReview' | 'SubjectAccessReview';

/** Error for a response to a review that cannot be parsed. Callers must treat the result of the review as unknown. */
export class UnreadableReviewError extends Error {
  override readonly name = 'UnreadableReviewError';

  constructor(kind: HubReviewKind) {
    super(`the status in the response to a ${kind} is missing or malformed`);
  }
}

/** Default timeout of a review, in milliseconds. */
export const REVIEW_MS = 10_000;

/** Returns the hub's decision about an action of a user. Throws the error of the request, or an UnreadableReviewError. */
export async function reviewAccess(
  hub: Pick<KubeClient, 'createReview'>,
  { username, uid, groups, extra }: User,
  attributes: ReviewAttributes,
  options: CallOptions = { timeoutMs: REVIEW_MS },
): Promise<AccessDecision> {
  const extras = Object.entries(extra).map(([key, values]) => [key, [...values]] as const);
  const spec = omitUndefined({
    user: username,
    uid: uid || undefined,
    groups: [...groups],
    extra: extras.length > 0 ? Object.fromEntries(extras) : undefined,
    ...attributes,
  });
  const decision = parseAccessDecision(await hub.createReview(SubjectAccessReviews, { spec }, options));
  if (decision === undefined) throw new UnreadableReviewError('SubjectAccessReview');
  return decision;
}

/** Returns the decision in the response to a review, or undefined if the response contains none. `denied` overrides `allowed`. */
export function parseAccessDecision(review: unknown): AccessDecision | undefined {
  const status = isFields(review) ? review['status'] : undefined;
  if (!isFields(status)) return undefined;
  const { allowed = false, denied = false, evaluationError = '' } = status;
  if (typeof allowed !== 'boolean' || typeof denied !== 'boolean' || typeof evaluationError !== 'string') return undefined;
  return { allowed: allowed && !denied, evaluationError };
}

/** Waits for a TokenReview and returns its status. Throws the error of the request, or an UnreadableReviewError. */
export async function readTokenReviewStatus(response: Promise<unknown>): Promise<Fields & { readonly authenticated: boolean }> {
  const review = await response;
  const status = isFields(review) ? review['status'] : undefined;
  if (!isFields(status)) throw new UnreadableReviewError('TokenReview');
  const { authenticated = false } = status;
  if (typeof authenticated !== 'boolean') throw new UnreadableReviewError('TokenReview');
  return { ...status, authenticated };
}

/**
 * Waits for a review of a caller of the façade or of /metrics. If the review fails, logs the error and throws 503: the caller is neither
 * allowed nor denied.
 */
export async function awaitReview<T>(kind: HubReviewKind, review: Promise<T>, log: Logger): Promise<T> {
  try {
    return await review;
  } catch (error) {
    log.warn({ error, review: kind }, 'review on the hub failed');
    const retryAfterSeconds = (error instanceof StatusError ? error.retryAfterSeconds : undefined) ?? RETRY_SECONDS;
    throw serviceUnavailable(`the hub failed to process a ${kind}, please try again`, Math.min(Math.max(retryAfterSeconds, 1), 60));
  }
}

/** Returns true if the hub allows a caller of the façade or of /metrics to perform an action. Throws 503 if the review fails. */
export async function isAllowed(
  hub: Pick<KubeClient, 'createReview'>,
  user: User,
  attributes: ReviewAttributes,
  log: Logger,
): Promise<boolean> {
  return (await awaitReview('SubjectAccessReview', reviewAccess(hub, user, attributes), log)).allowed;
}

const RETRY_SECONDS = 1;
