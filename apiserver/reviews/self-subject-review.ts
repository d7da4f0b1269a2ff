// SelfSubjectReview: who am I?

import type { KubeObject } from '../../src/kubernetes/object.ts';
import { formatTimestamp } from '../../src/std/timestamp.ts';
import type { User } from '../access/user.ts';
import { userInfo } from './user-status.ts';

/** Answers with the user who asks; nothing of the request is echoed. */
export function reviewSelfSubject(
  { apiVersion, kind }: KubeObject,
  { user, now }: { readonly user: User; readonly now: number },
): KubeObject {
  return { apiVersion, kind, metadata: { creationTimestamp: formatTimestamp(now) }, status: { userInfo: userInfo(user) } };
}
