// TokenReview: whose token is this?

import type { KubeObject } from '../../src/kubernetes/object.ts';
import { badRequest } from '../../src/kubernetes/status.ts';
import { type Authenticators, authenticate } from '../access/authenticate.ts';
import { userInfo } from './user-status.ts';

/** Answers as if a request with this token had come for the audiences of the review. Throws BadRequest when there is no token. */
export async function reviewToken(
  review: KubeObject,
  { authenticators, now }: { readonly authenticators: Authenticators; readonly now: number },
): Promise<KubeObject> {
  const { spec: { token = '', audiences: wanted = [] } = {}, status = {} }: TokenReview = review;
  if (token === '') throw badRequest('token is required for TokenReview in authentication');
  const audiences = wanted.length > 0 ? wanted : authenticators.audiences;
  const result = await authenticate(`Bearer ${token}`, audiences, authenticators, now);
  // Kubernetes leaves in the status what the client put there and the outcome does not replace.
  if (result.type === 'rejected') return { ...review, status: { user: {}, ...status, authenticated: false, error: result.reason } };
  return { ...review, status: { ...status, authenticated: true, user: userInfo(result.user), audiences: result.audiences } };
}

interface TokenReview extends KubeObject {
  readonly spec?: { readonly token?: string; readonly audiences?: readonly string[] };
  readonly status?: Readonly<Record<string, unknown>>;
}
