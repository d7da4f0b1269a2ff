// Reviews on a target. They determine Purser's own user there, the audiences of the API server, and the validity of issued tokens.

import { rejectOnAbort } from '../kube/deadline.ts';
import { SelfSubjectReviews, TokenReviews } from '../kube/reviews.ts';
import type { Fields } from '../kubernetes/object.ts';
import { StatusError } from '../kubernetes/status.ts';
import { fieldsOf, isKind, textOf } from '../kubernetes/untrusted.ts';
import type { Sensitive } from '../std/sensitive.ts';
import { selectToken } from './credential.ts';
import { IssueError, redactError, toStatusFailure } from './issue-error.ts';
import { isReservedAudience } from './policy/grant.ts';
import type { Target, TargetCaller, TokenSource } from './target.ts';

/**
 * Returns Purser's user name on the target. Requests a review until one succeeds, and then keeps the name until the target is replaced.
 * Throws an IssueError if the review fails.
 */
export async function findOwnUsername(target: TokenSource, signal: AbortSignal): Promise<string> {
  const { known } = target.username;
  if (known !== undefined) return known;
  // Several callers may wait for one review, so none of them can cancel it.
  const found = target.username.get(() => reviewOwnUsername(target));
  return await rejectOnAbort(found, signal);
}

/** Returns Purser's user name on the target from a new review. Throws an IssueError if the review fails. */
export async function reviewOwnUsername(target: TargetCaller, signal?: AbortSignal): Promise<string> {
  try {
    return await reviewUsername(target, signal);
  } catch (error) {
    if (!(error instanceof StatusError)) throw error;
    const failure = toStatusFailure(error);
    const isRejected = failure.reason === 'RequestRejected' || failure.reason === 'TargetForbidden';
    throw isRejected ? new IssueError('IdentityUnknown', error.message) : failure;
  }
}

/** A token and the subject and audiences that it should be valid for. */
export interface ReviewRequest {
  readonly token: Sensitive<string>;
  /** User name of the service account. */
  readonly subject: string;
  readonly audiences: readonly string[];
}

/**
 * Returns whether the target accepts the token as this subject and for every audience; if there are no audiences, for its own API. Throws
 * an IssueError if the review fails.
 */
export async function reviewToken(target: Target, { token, subject, audiences }: ReviewRequest, signal: AbortSignal): Promise<boolean> {
  const spec = { token: token.reveal(), audiences };
  try {
    const review: unknown = await target.call((client, options) => client.createReview(TokenReviews, { spec }, options), signal);
    const { status } = fieldsOf(review);
    if (!isKind(review, 'authentication.k8s.io/v1', TokenReviews.kind) || status === undefined) {
      throw new IssueError('ResponseUntrusted', 'the response is not a TokenReview with a status');
    }
    return isAccepted(fieldsOf(status), subject, audiences);
  } catch (error) {
    throw error instanceof StatusError ? toStatusFailure(redactError(error, token.reveal())) : error;
  }
}

/**
 * Throws an IssueError if the target's API server does not accept the token for its own API, or if the review fails. Does not throw if
 * Purser is not permitted to review tokens. Caches accepted sets of audiences.
 */
export async function checkAcceptedByAPI(target: Target, { audiences, ...request }: ReviewRequest, signal: AbortSignal): Promise<void> {
  const key = JSON.stringify(audiences.toSorted());
  if (target.acceptedAudiences.get(key)) return;
  try {
    if (!(await reviewToken(target, { ...request, audiences: [] }, signal))) throw new IssueError('AudienceNotAccepted');
    target.acceptedAudiences.set(key, true);
  } catch (error) {
    if (!(error instanceof IssueError) || error.reason !== 'TargetForbidden') throw error;
  }
}

/**
 * Returns the audiences of a target's API server, as reported by a TokenReview of Purser's own token, without audiences that are reserved
 * for Purser's own tokens. Empty if the review reports none, or if Purser is not permitted to review tokens; undefined if the review fails,
 * or if Purser has no bearer token for the target.
 */
export async function findAPIAudiences(target: TargetCaller, signal?: AbortSignal): Promise<readonly string[] | undefined> {
  try {
    const { audiences } = statusOf(await reviewOwnToken(target, signal));
    return Array.isArray(audiences) ? audiences.filter((audience) => typeof audience === 'string' && !isReservedAudience(audience)) : [];
  } catch (error) {
    signal?.throwIfAborted();
    if (error instanceof StatusError) return error.code === 403 ? [] : undefined;
    if (error instanceof IssueError) return undefined;
    throw error;
  }
}

async function reviewUsername(target: TargetCaller, signal: AbortSignal | undefined): Promise<string> {
  try {
    const review: unknown = await target.call((client, options) => client.createReview(SelfSubjectReviews, {}, options), signal);
    return requireUsername(statusOf(review)['userInfo']);
  } catch (error) {
    // Servers before 1.28 do not have SelfSubjectReviews.
    if (error instanceof StatusError && error.code === 404) return await findUsernameByToken(target, signal);
    throw error;
  }
}

/** Returns Purser's user name on older servers: the user of its token, or the common name of its certificate. */
async function findUsernameByToken(target: TargetCaller, signal: AbortSignal | undefined): Promise<string> {
  const { credential } = target;
  if (credential?.type === 'certificate') return requireUsername({ username: credential.commonName });
  return requireUsername(statusOf(await reviewOwnToken(target, signal))['user']);
}

/** Reviews Purser's own token for the API of the target. */
async function reviewOwnToken(target: TargetCaller, signal: AbortSignal | undefined): Promise<unknown> {
  return await target.call((client, options) => {
    const token = selectToken(target.credential, client.transport.server);
    if (token === undefined) throw new IssueError('IdentityUnknown', 'Purser has no bearer token for the cluster');
    return client.createReview(TokenReviews, { spec: { token: token.reveal() } }, options);
  }, signal);
}

function statusOf(review: unknown): Fields {
  return fieldsOf(fieldsOf(review)['status']);
}

function requireUsername(user: unknown): string {
  const username = textOf(fieldsOf(user)['username']);
  if (username === '')
    throw new IssueError('IdentityUnknown', 'the cluster returned no user name for Purser, or the client certificate has no common name');
  if (username === 'system:anonymous') throw new IssueError('CredentialRejected', 'the cluster treats Purser as an anonymous user');
  return username;
}

function isAccepted(status: Fields, subject: string, audiences: readonly string[]): boolean {
  const { authenticated, user, audiences: accepted } = status;
  const acceptedAudiences = new Set(Array.isArray(accepted) ? accepted : []);
  const isFor = (audience: string) => acceptedAudiences.has(audience);
  return authenticated === true && fieldsOf(user)['username'] === subject && audiences.every(isFor);
}
