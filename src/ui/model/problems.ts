// Failed requests: cause and remedy for the user, and the time until the next attempt.

import { escapeInvisible } from './visible-text.ts';

/** A failed request, as the page shows it. */
export interface Problem {
  /** HTTP status; 0 if there is no response, or if the response is not a list or watch. */
  readonly status: number;
  readonly cause: string;
  readonly remedy: string;
  /** Minimum time until the next attempt, in milliseconds; undefined if the server sets none. */
  readonly retryAfterMs?: number | undefined;
}

/** A failed request, as an error. */
export class RequestError extends Error {
  override readonly name = 'RequestError';
  readonly problem: Problem;

  constructor(problem: Problem) {
    super(problem.cause);
    this.problem = problem;
  }
}

/** Maximum length of a message from a server, in characters. */
const MAX_MESSAGE = 300;

const REMEDIES: Readonly<Record<number, string>> = {
  401: 'Log in with a valid token.',
  403: 'Ask an administrator for permission to get, list and watch these objects.',
  404: 'If you restarted purser ui, open the new address. Otherwise, update Purser and its CustomResourceDefinitions.',
  429: 'The page retries when the rate limit allows.',
};
const SERVER_REMEDY = "The page retries. If the error persists, check Purser's log.";

/** Server of a list, as the page names it. */
export type Server = 'façade' | 'hub';

/** Returns the problem of a response with an error status; `message` is the message of its Status object, or empty. */
export function createProblem(status: number, message: string, retryAfter: string | null, server: Server = 'façade'): Problem {
  const seconds = Number(retryAfter ?? Number.NaN);
  return {
    status,
    cause: describeCause(status, message, server),
    remedy: REMEDIES[status] ?? SERVER_REMEDY,
    ...(retryAfter !== null && seconds >= 0 && { retryAfterMs: Math.min(seconds, 300) * 1_000 }),
  };
}

/** Causes of a 401. The credential for the hub is that of the user's kubeconfig, for example a client certificate. */
const REJECTION_CAUSES: Readonly<Record<Server, string>> = {
  façade: 'The façade does not accept the token: the token is invalid, has expired, or has none of the accepted audiences.',
  hub: 'The hub does not accept the credential in your kubeconfig: the credential is invalid or has expired.',
};

function describeCause(status: number, message: string, server: Server): string {
  const text = escapeInvisible(message.length > MAX_MESSAGE ? `${message.slice(0, MAX_MESSAGE)}…` : message);
  if (status === 401) return REJECTION_CAUSES[server];
  if (status === 429) return `The ${server} limits the rate of requests.`;
  if (status === 403) return text === '' ? 'You do not have permission to list these objects.' : `Permission denied: ${text}`;
  return `The ${server} responded with status ${status}${text === '' ? '.' : `: ${text}`}`;
}

/** Problem of a request without a response. */
export const NO_RESPONSE: Problem = {
  status: 0,
  cause: 'The server of this page does not respond.',
  remedy: 'The page retries. Check your network, and check that the façade or purser ui is running.',
};

/** Problem of a response that does not have the expected format. */
export const INVALID_RESPONSE: Problem = {
  status: 0,
  cause: 'The response is not a list or watch of Kubernetes objects.',
  remedy: 'The page retries. Check for a proxy between this browser and the façade.',
};

const FIRST_DELAY_MS = 500;
const MAX_DELAY_MS = 10_000;
/** Minimum time until the next attempt after a 403, in milliseconds. */
const FORBIDDEN_DELAY_MS = 30_000;

/**
 * Returns the time until the next attempt, in milliseconds. `random` is a number from 0 to 1; it prevents many pages from retrying
 * together.
 */
export function computeRetryDelay(failures: number, problem: Problem, random: number): number {
  const backoff = Math.min(MAX_DELAY_MS, FIRST_DELAY_MS * 2 ** Math.min(failures, 16));
  const least = problem.status === 403 ? FORBIDDEN_DELAY_MS : 0;
  return Math.max(problem.retryAfterMs ?? 0, least, backoff * (0.5 + random / 2));
}
