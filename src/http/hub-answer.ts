// Reviews by the hub: an answer that says yes or no, or none at all.

import { StatusError as Refusal, type StatusError, serviceUnavailable } from '../api/status.ts';
import { type Fields, isFields } from '../domain/untrusted.ts';
import type { Logger } from '../telemetry/logger.ts';

const RETRY_SECONDS = 1;

/** The status of what a review answered. Throws 503 when there is no answer; nobody may then be told yes or no. */
export async function reviewStatus(what: string, review: Promise<unknown>, log: Logger): Promise<Fields> {
  let answer: unknown;
  try {
    answer = await review;
  } catch (error) {
    log.warn({ error }, `the hub did not answer a ${what}`);
    throw unavailable(what, error instanceof Refusal ? error.retryAfterSeconds : undefined);
  }
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
