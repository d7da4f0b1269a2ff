// Who Purser is on a target. Its own account is the one whose tokens it must never give away.

import { untilAborted } from '../kube/deadline.ts';
import { SelfSubjectReviews, TokenReviews } from '../kube/reviews.ts';
import { StatusError } from '../kubernetes/status.ts';
import { fieldsOf, textOf } from '../kubernetes/untrusted.ts';
import { statusFailure } from './failure.ts';
import { IssueError } from './issue-error.ts';
import type { Asker, TokenSource } from './target.ts';

/** Our user name on the target, asked once per credential. Throws an IssueError as long as it is not known. */
export async function ownUsername(target: TokenSource, signal: AbortSignal): Promise<string> {
  const { known } = target.username;
  if (known !== undefined) return known;
  // Several may wait for one answer, so none of them can call the question off.
  const found = target.username.get(() => findUsername(target));
  return await untilAborted(found, signal);
}

/** Our user name on the target, asked anew. */
export async function findUsername(target: Asker, signal?: AbortSignal): Promise<string> {
  try {
    return await askUsername(target, signal);
  } catch (error) {
    if (!(error instanceof StatusError)) throw error;
    const failure = statusFailure(error);
    const isOurs = failure.reason === 'TargetRefused' || failure.reason === 'TargetForbidden';
    throw isOurs ? new IssueError('IdentityUnknown', error.message) : failure;
  }
}

async function askUsername(target: Asker, signal: AbortSignal | undefined): Promise<string> {
  try {
    const review: unknown = await target.call((client, options) => client.createReview(SelfSubjectReviews, {}, options), signal);
    return checked(statusOf(review)['userInfo']);
  } catch (error) {
    // Servers before 1.28 do not serve it.
    if (error instanceof StatusError && error.code === 404) return await askOlderServer(target, signal);
    throw error;
  }
}

/** A review of our own token tells the same; certificates stand for their common name. */
async function askOlderServer(target: Asker, signal: AbortSignal | undefined): Promise<string> {
  const { credential } = target;
  if (credential?.type === 'certificate') return checked({ username: credential.commonName });
  if (credential === undefined) throw new IssueError('IdentityUnknown');
  const spec = { token: credential.token.reveal() };
  const review: unknown = await target.call((client, options) => client.createReview(TokenReviews, { spec }, options), signal);
  return checked(statusOf(review)['user']);
}

function statusOf(review: unknown): Readonly<Record<string, unknown>> {
  return fieldsOf(fieldsOf(review)['status']);
}

function checked(user: unknown): string {
  const username = textOf(fieldsOf(user)['username']);
  if (username === '') throw new IssueError('IdentityUnknown', 'the answer names no user');
  if (username === 'system:anonymous') throw new IssueError('CredentialRejected', 'the cluster takes Purser for an anonymous user');
  return username;
}
