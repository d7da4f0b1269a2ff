// What a SubjectAccessReview answered. Whoever asks one reads the answer here, so that no two of them differ.

import { isFields } from '../kubernetes/untrusted.ts';

export interface AccessDecision {
  readonly allowed: boolean;
  /** What went wrong in deciding; empty if nothing did. A no may be due to that alone. */
  readonly evaluationError: string;
}

/** The decision; undefined for an answer that holds none. Nothing but `true` is taken for a yes, and a denial rules over it. */
export function accessDecision(review: unknown): AccessDecision | undefined {
  const status = isFields(review) ? review['status'] : undefined;
  if (!isFields(status)) return undefined;
  const { allowed = false, denied = false, evaluationError = '' } = status;
  if (typeof allowed !== 'boolean' || typeof denied !== 'boolean' || typeof evaluationError !== 'string') return undefined;
  return { allowed: allowed && !denied, evaluationError };
}
