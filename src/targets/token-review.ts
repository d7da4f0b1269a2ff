// Puts a token to the target that issued it: accounts are re-created, signing keys change, bound objects go.

import { TokenReviews } from '../kube/reviews.ts';
import { StatusError } from '../kubernetes/status.ts';
import { fieldsOf, isKind } from '../kubernetes/untrusted.ts';
import type { Sensitive } from '../std/sensitive.ts';
import { redacted, statusFailure } from './failure.ts';
import { IssueError } from './issue-error.ts';
import type { Target } from './target.ts';

/** A token and what it should be good for. */
export interface ReviewRequest {
  readonly token: Sensitive<string>;
  /** The user name that the token should stand for. */
  readonly subject: string;
  readonly audiences: readonly string[];
}

/** Whether the target accepts the token, for every audience and as that subject. Throws an IssueError if it does not say. */
export async function reviewToken(target: Target, { token, subject, audiences }: ReviewRequest, signal: AbortSignal): Promise<boolean> {
  const spec = { token: token.reveal(), audiences };
  try {
    const review: unknown = await target.call((client, options) => client.createReview(TokenReviews, { spec }, options), signal);
    return isAccepted(statusOf(review), subject, audiences);
  } catch (error) {
    throw error instanceof StatusError ? statusFailure(redacted(error, token.reveal())) : error;
  }
}

function statusOf(review: unknown): Readonly<Record<string, unknown>> {
  const { status } = fieldsOf(review);
  if (!isKind(review, 'authentication.k8s.io/v1', TokenReviews.kind) || status === undefined) {
    throw new IssueError('AnswerUntrusted', 'it is not an answered TokenReview');
  }
  return fieldsOf(status);
}

function isAccepted(status: Readonly<Record<string, unknown>>, subject: string, audiences: readonly string[]): boolean {
  const { authenticated, user, audiences: accepted } = status;
  const names = new Set(Array.isArray(accepted) ? accepted : []);
  return authenticated === true && fieldsOf(user)['username'] === subject && audiences.every((audience) => names.has(audience));
}
