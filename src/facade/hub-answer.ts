// Reviews by the hub: an answer that says yes or no, or none at all.

import { accessDecision } from '../access/access-decision.ts';
import type { KubeClient } from '../kube/client.ts';
import { type SubjectAccessReview, SubjectAccessReviews } from '../kube/reviews.ts';
import { StatusError, serviceUnavailable } from '../kubernetes/status.ts';
import { type Fields, isFields } from '../kubernetes/untrusted.ts';
import type { Logger } from '../telemetry/logger.ts';
import type { User } from './request.ts';

/** What a user would do. */
export type AccessAttributes = Pick<SubjectAccessReview['spec'], 'resourceAttributes' | 'nonResourceAttributes'>;

/** Whether the hub lets a user do something. Throws 503 when it does not say. */
export async function isAllowed(
  hub: Pick<KubeClient, 'createReview'>,
  { username, uid, groups, extra }: User,
  attributes: AccessAttributes,
  log: Logger,
): Promise<boolean> {
  const lists = Object.fromEntries(Object.entries(extra).map(([key, values]) => [key, [...values]]));
  const spec = { user: username, uid, groups: [...groups], extra: lists, ...attributes };
  const review = hub.createReview(SubjectAccessReviews, { spec }, { timeoutMs: REVIEW_MS });
  const decision = accessDecision(await answerOf(ACCESS_REVIEW, review, log));
  if (decision === undefined) throw unreadable(ACCESS_REVIEW, log);
  return decision.allowed;
}

/** How long the hub may take to answer. */
export const REVIEW_MS = 10_000;
const ACCESS_REVIEW = 'SubjectAccessReview';
const RETRY_SECONDS = 1;

/** What a review answered. Throws 503 when there is no answer; nobody may then be told yes or no. */
async function answerOf(what: string, review: Promise<unknown>, log: Logger): Promise<unknown> {
  try {
    return await review;
  } catch (error) {
    log.warn({ error }, `the hub did not answer a ${what}`);
    throw unavailable(what, error instanceof StatusError ? error.retryAfterSeconds : undefined);
  }
}

/** The status of what a review answered; 503 likewise where there is none. */
export async function reviewStatus(what: string, review: Promise<unknown>, log: Logger): Promise<Fields> {
  const answer = await answerOf(what, review, log);
  const status = isFields(answer) ? answer['status'] : undefined;
  if (!isFields(status)) throw unreadable(what, log);
  return status;
}

/** A field that says yes or no; absent is no. Throws 503 for anything else: nothing but `true` is taken for a yes. */
export function decisionOf(what: string, status: Fields, field: string, log: Logger): boolean {
  const { [field]: decision = false } = status;
  if (typeof decision !== 'boolean') throw unreadable(what, log);
  return decision;
}

/** The refusal when the hub says neither yes nor no. */
export function unreadable(what: string, log: Logger): StatusError {
  log.warn(`the hub answered a ${what} with something else`);
  return unavailable(what);
}

function unavailable(what: string, retryAfterSeconds = RETRY_SECONDS): StatusError {
  return serviceUnavailable(`the hub gave no answer to a ${what}, please try again`, Math.min(Math.max(retryAfterSeconds, 1), 60));
}
