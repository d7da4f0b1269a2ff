// Who may read the metrics, as kube-rbac-proxy asks it: whoever the hub knows and lets `get` the path /metrics.

import type { IncomingMessage } from 'node:http';
import { accessForbidden } from '../../apimachinery/access-forbidden.ts';
import type { KubeClient } from '../../kube/client.ts';
import { untilAborted } from '../../kube/deadline.ts';
import { SubjectAccessReviews } from '../../kube/reviews.ts';
import type { Clock } from '../../std/clock.ts';
import type { Logger } from '../../telemetry/logger.ts';
import type { Authenticator } from '../authenticate.ts';
import { FreshCache } from '../fresh-cache.ts';
import { decisionOf, reviewStatus } from '../hub-answer.ts';
import type { User } from '../request.ts';

export interface MetricsAccessOptions {
  readonly authenticator: Pick<Authenticator, 'authenticate'>;
  readonly hub: Pick<KubeClient, 'createReview'>;
  readonly clock: Clock;
  readonly log: Logger;
}

/** Makes the question. It throws 401, 403, or 503 when the hub gives no answer. */
export function metricsAccess(options: MetricsAccessOptions): (request: IncomingMessage, signal: AbortSignal) => Promise<void> {
  const { authenticator, clock } = options;
  const decisions = new FreshCache<boolean>({ clock, ttlMs: TTL_MS, maxEntries: MAX_ENTRIES });
  return async (request, signal) => {
    const { user, tokenId } = await authenticator.authenticate(request.rawHeaders, signal);
    const isAllowed = await untilAborted(
      decisions.find(tokenId, () => mayRead(user, options)),
      signal,
    );
    if (!isAllowed) throw accessForbidden({ name: user.username }, { type: 'path', ...ATTRIBUTES }, '');
  };
}

const ATTRIBUTES = { verb: 'get', path: '/metrics' };
const REVIEW = 'SubjectAccessReview';
const TTL_MS = 10_000;
const MAX_ENTRIES = 100;
const DEADLINE_MS = 10_000;

async function mayRead({ username, uid, groups, extra }: User, { hub, log }: MetricsAccessOptions): Promise<boolean> {
  const lists = Object.fromEntries(Object.entries(extra).map(([key, values]) => [key, [...values]]));
  const spec = { user: username, uid, groups: [...groups], extra: lists, nonResourceAttributes: ATTRIBUTES };
  const status = await reviewStatus(REVIEW, hub.createReview(SubjectAccessReviews, { spec }, { timeoutMs: DEADLINE_MS }), log);
  return decisionOf(REVIEW, status, 'allowed', log) && !decisionOf(REVIEW, status, 'denied', log);
}
