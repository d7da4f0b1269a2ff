// What the end of a request says of the target, and of the address that it was sent to.

import { TransportError } from '../kube/transport-error.ts';
import { StatusError } from '../kubernetes/status.ts';
import type { Outcome } from './breaker.ts';
import { isNeverSent, isOutage } from './failure.ts';
import { IssueError } from './issue-error.ts';

/** For the circuit breaker. */
export function outcomeOf(error: unknown): Outcome {
  if (error instanceof StatusError) return isOutage(error) ? 'failure' : 'success';
  return error instanceof TransportError ? 'failure' : 'abandoned';
}

/** Of a request that may have waited for a connection all the time, it says nothing of the target. */
export function isTimeout(error: unknown): boolean {
  return error instanceof TransportError && error.code === 'ETIMEDOUT';
}

/** Whether somebody is there who answers for the cluster. */
export function isAnswer(error: unknown): boolean {
  return error instanceof StatusError && !isOutage(error);
}

/** Only what was never sent may be sent to another address. */
export function mayTryElsewhere(error: unknown): boolean {
  if (error instanceof IssueError) return error.reason === 'AddressRefused';
  return error instanceof TransportError && isNeverSent(error.code);
}
