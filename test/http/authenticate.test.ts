// Who a bearer token stands for, while many ask.

import { describe, expect, it } from '@jest/globals';
import { Authenticator, createReviewLimit } from '../../src/http/authenticate.ts';
import { FakeClock } from '../support/clock.ts';
import { silentLog } from '../support/silent-log.ts';

const BURST = 400;

/** A hub that knows every token that begins with `good`. */
class World {
  readonly clock = new FakeClock();
  reviews = 0;
  isAway = false;
  readonly #authenticator = new Authenticator({
    hub: { createReview: (async (_resource: unknown, { spec }: { spec: { token: string } }) => this.#review(spec.token)) as never },
    clock: this.clock,
    log: silentLog,
    audiences: [],
  });

  /** 200, or the code of the refusal. */
  async code(token: string): Promise<number> {
    const caller = this.#authenticator.authenticate(['authorization', `Bearer ${token}`], new AbortController().signal);
    return caller.then(
      () => 200,
      ({ code }: { code: number }) => code,
    );
  }

  flood(count = BURST): Promise<readonly number[]> {
    return Promise.all(Array.from({ length: count }, (_, index) => this.code(`bad-${index}`)));
  }

  async #review(token: string): Promise<unknown> {
    this.reviews += 1;
    if (this.isAway) throw new Error('the hub is away');
    return { status: token.startsWith('good') ? { authenticated: true, user: { username: token } } : { user: {} } };
  }
}

describe('a flood of unknown tokens', () => {
  it('turns newcomers away for as long as it lasts, and no longer, in case 120', async () => {
    const world = new World();
    await world.flood();
    expect(await world.code('good-newcomer')).toBe(429);
    expect(await world.code('good-newcomer')).toBe(429);
    world.clock.advance(10_000);
    expect(await world.code('good-newcomer')).toBe(200);
  });

  it('keeps nobody waiting who was known before, even while the hub is away, in case 120', async () => {
    const world = new World();
    expect(await world.code('good-friend')).toBe(200);
    world.clock.advance(10_000);
    world.isAway = true;
    expect(await world.code('good-friend')).toBe(503);
    await world.flood();
    world.isAway = false;
    expect(await world.code('good-friend')).toBe(200);
  });
});

it('puts no more unknown tokens to the hub for having two that ask', async () => {
  const clock = new FakeClock();
  const reviewLimit = createReviewLimit(clock);
  let reviews = 0;
  const createReview = async () => {
    reviews += 1;
    return { status: { user: {} } };
  };
  const all = [['a'], []].map(
    (audiences) => new Authenticator({ hub: { createReview: createReview as never }, clock, log: silentLog, audiences, reviewLimit }),
  );
  const flood = all.flatMap((each) =>
    Array.from({ length: BURST }, (_, index) =>
      each.authenticate(['authorization', `Bearer bad-${index}`], new AbortController().signal).catch(() => {}),
    ),
  );
  await Promise.all(flood);
  expect(reviews).toBe(BURST);
});

it('asks the hub once for all who come with the same token at once', async () => {
  const world = new World();
  expect(await Promise.all(Array.from({ length: 5 }, () => world.code('good-friend')))).toEqual([200, 200, 200, 200, 200]);
  expect(world.reviews).toBe(1);
});
