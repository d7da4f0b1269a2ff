// Authorization for metrics, as in kube-rbac-proxy: the caller needs `get` on the path /metrics.

import type { IncomingMessage } from 'node:http';
import { isAllowed } from '../../access/hub-review.ts';
import type { KubeClient } from '../../kube/client.ts';
import { rejectOnAbort } from '../../kube/deadline.ts';
import { accessForbidden } from '../../kubernetes/access-forbidden.ts';
import type { Clock } from '../../std/clock.ts';
import { ExpiringCache } from '../../std/expiring-cache.ts';
import type { Logger } from '../../telemetry/logger.ts';
import type { Authenticator } from '../authenticate.ts';
import { toAddressKey } from '../limits/tenant.ts';

export interface MetricsAccessOptions {
  readonly authenticator: Pick<Authenticator, 'authenticate'>;
  readonly hub: Pick<KubeClient, 'createReview'>;
  readonly clock: Clock;
  readonly log: Logger;
}

/** Returns a function that authorizes a request for metrics. The function throws 400, 401, 403 or 429, or 503 if a review fails. */
export function createMetricsAccessCheck(options: MetricsAccessOptions): (request: IncomingMessage, signal: AbortSignal) => Promise<void> {
  const { authenticator, hub, clock, log } = options;
  const decisions = new ExpiringCache<boolean>({ clock, ttlMs: TTL_MS, maxEntries: MAX_ENTRIES });
  return async (request, signal) => {
    const { user, tokenId } = await authenticator.authenticate(
      { rawHeaders: request.rawHeaders, address: toAddressKey(request.socket.remoteAddress) },
      signal,
    );
    const mayRead = await rejectOnAbort(
      decisions.find(tokenId, () => isAllowed(hub, user, { nonResourceAttributes: ATTRIBUTES }, log)),
      signal,
    );
    if (!mayRead) throw accessForbidden({ name: user.username }, { type: 'path', ...ATTRIBUTES }, '');
  };
}

const ATTRIBUTES = { verb: 'get', path: '/metrics' };
const TTL_MS = 10_000;
const MAX_ENTRIES = 100;
