import type { IncomingMessage } from 'node:http';
import { describe, expect, it } from '@jest/globals';
import type { Caller } from '../../../src/facade/authenticate.ts';
import { createMetricsAccessCheck } from '../../../src/facade/operations/metrics-access.ts';
import { unauthorized } from '../../../src/kubernetes/status.ts';
import { createLogger } from '../../../src/telemetry/logger.ts';
import { FakeClock } from '../../support/clock.ts';

const user = { username: 'prometheus', uid: 'u', groups: ['system:authenticated'], extra: { scopes: ['a'] } };

/** A hub that accepts one token, with a configurable decision. */
class World {
  readonly clock = new FakeClock(0);
  readonly reviews: unknown[] = [];
  status: unknown = { allowed: true };
  readonly #admit = createMetricsAccessCheck({
    authenticator: { authenticate: ({ rawHeaders }) => this.#authenticate(rawHeaders) },
    hub: { createReview: async (_resource, review) => this.#review(review) as never },
    clock: this.clock,
    log: createLogger({ level: 'silent', readable: false, write: () => {} }),
  });

  admit(token = 'known'): Promise<void> {
    const request = { rawHeaders: ['authorization', `Bearer ${token}`], socket: { remoteAddress: '10.0.0.1' } } as IncomingMessage;
    return this.#admit(request, new AbortController().signal);
  }

  async #authenticate(headers: readonly string[]): Promise<Caller> {
    if (headers[1] !== 'Bearer known') throw unauthorized();
    return { user, tokenId: 'id', isStillValid: async () => true };
  }

  #review(review: unknown): unknown {
    this.reviews.push(review);
    return { status: this.status };
  }
}

describe('createMetricsAccessCheck', () => {
  it('sends a review for get on /metrics', async () => {
    const world = new World();
    await world.admit();

    const { username, uid, groups, extra } = user;
    expect(world.reviews).toEqual([
      { spec: { user: username, uid, groups, extra, nonResourceAttributes: { verb: 'get', path: '/metrics' } } },
    ]);
  });

  it('rejects an unknown token, and a user without permission', async () => {
    const world = new World();
    await expect(world.admit('unknown')).rejects.toMatchObject({ code: 401 });
    expect(world.reviews).toEqual([]);
    world.status = { allowed: false };
    await expect(world.admit()).rejects.toMatchObject({ code: 403, message: 'forbidden: User "prometheus" cannot get path "/metrics"' });
  });

  it.each([[{ allowed: true, denied: true }], [{}]])('rejects the request for the decision %j', async (status) => {
    const world = new World();
    world.status = status;
    await expect(world.admit()).rejects.toMatchObject({ code: 403 });
  });

  it('caches a decision for ten seconds, and does not cache failures', async () => {
    const world = new World();
    world.status = 'nonsense';
    await expect(world.admit()).rejects.toMatchObject({ code: 503 });
    world.status = { allowed: true };
    await world.admit();
    world.status = { allowed: false };
    world.clock.advance(9_999);
    await world.admit();
    world.clock.advance(1);
    await expect(world.admit()).rejects.toMatchObject({ code: 403 });
  });
});
