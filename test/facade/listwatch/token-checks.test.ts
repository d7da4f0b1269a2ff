import { describe, expect, it } from '@jest/globals';
import { assert, asyncProperty, boolean, double, integer } from 'fast-check';
import type { Caller } from '../../../src/facade/authenticate.ts';
import { Authenticator } from '../../../src/facade/authenticate.ts';
import { TokenChecks } from '../../../src/facade/listwatch/token-checks.ts';
import { FakeClock } from '../../support/clock.ts';
import { silentLog } from '../../support/silent-log.ts';

const HUB_CACHE_MS = 10_000;
const STEP_MS = 100;

/** A hub that accepts one token until it is revoked, and can cache its reviews for ten seconds, as kube-apiserver does. */
class World {
  readonly clock = new FakeClock();
  isKnown = true;
  groups = ['admins', 'staff'];
  reviews = 0;
  #cachedAt = Number.NEGATIVE_INFINITY;
  readonly #cachesReviews: boolean;
  readonly #checks: TokenChecks;
  readonly #authenticator = new Authenticator({
    hub: { getText: async () => '', createReview: (async () => ({ status: this.#review() })) as never },
    clock: this.clock,
    log: silentLog,
    audiences: [],
  });

  constructor({ cachesReviews = false, random = () => 0.5 }: { readonly cachesReviews?: boolean; readonly random?: () => number } = {}) {
    this.#cachesReviews = cachesReviews;
    this.#checks = new TokenChecks({ clock: this.clock, random });
  }

  caller() {
    return this.#authenticator.authenticate(
      { rawHeaders: ['authorization', 'Bearer a-token'], address: '10.0.0.1' },
      new AbortController().signal,
    );
  }

  /** Opens a stream. Returns a function that returns true while the stream is open. */
  async stream(caller?: Caller): Promise<() => boolean> {
    let isOpen = true;
    this.#checks.join(caller ?? (await this.caller()), () => (isOpen = false));
    return () => isOpen;
  }

  async pass(ms: number): Promise<void> {
    for (let passed = 0; passed < ms; passed += STEP_MS) {
      this.clock.advance(STEP_MS);
      await new Promise(setImmediate);
    }
  }

  #review(): unknown {
    this.reviews += 1;
    const isCached = this.clock.monotonic() - this.#cachedAt < HUB_CACHE_MS;
    if (!this.isKnown && !isCached) return { user: {}, error: 'invalid bearer token' };
    if (this.#cachesReviews && !isCached) this.#cachedAt = this.clock.monotonic();
    return { authenticated: true, user: { username: 'alice', groups: this.groups } };
  }
}

describe('TokenChecks after a revocation', () => {
  it('ends all streams of a revoked token within ten seconds', async () => {
    const anyTime = asyncProperty(
      integer({ min: 0, max: 15_000 }),
      double({ min: 0, max: 1, noNaN: true }),
      boolean(),
      async (ms, chance, isBusy) => {
        const world = new World({ random: () => chance });
        const isOpen = await world.stream();
        await world.pass(ms);
        if (isBusy) await world.caller();
        world.isKnown = false;
        await world.pass(10_000);
        expect(isOpen()).toBe(false);
      },
    );
    await assert(anyTime, { numRuns: 40 });
  });

  it('ends a stream within ten seconds if a cached review admitted its request', async () => {
    const world = new World();
    await world.caller();
    world.isKnown = false;
    await world.pass(9_900);
    const isOpen = await world.stream();
    await world.pass(STEP_MS);
    expect(isOpen()).toBe(false);
  });

  it('ends a stream within twelve seconds on a hub that caches reviews for ten seconds', async () => {
    const anyTime = asyncProperty(integer({ min: 0, max: 25_000 }), double({ min: 0, max: 1, noNaN: true }), async (ms, chance) => {
      const world = new World({ cachesReviews: true, random: () => chance });
      const isOpen = await world.stream();
      await world.pass(ms);
      world.isKnown = false;
      await world.pass(12_000);
      expect(isOpen()).toBe(false);
    });
    await assert(anyTime, { numRuns: 40 });
  });

  it('sends one review about every five seconds for all streams of a token', async () => {
    const world = new World();
    await Promise.all(Array.from({ length: 50 }, () => world.stream()));
    await world.pass(60_000);
    expect(world.reviews).toBe(12);
  });
});

describe('TokenChecks after a change of groups', () => {
  it('ends a stream within ten seconds and admits the caller with the new groups', async () => {
    const world = new World();
    const isOpen = await world.stream();
    await world.pass(3_000);
    world.groups = ['staff'];
    await world.pass(10_000);
    expect(isOpen()).toBe(false);
    const isReopened = await world.stream();
    await world.pass(10_000);
    expect(isReopened()).toBe(true);
  });

  it('keeps a stream if the hub returns the same groups in another order', async () => {
    const world = new World();
    const isOpen = await world.stream();
    world.groups = ['staff', 'admins'];
    await world.pass(20_000);
    expect(isOpen()).toBe(true);
  });

  it('ends a stream with the old groups even if another stream of the same token has the new groups', async () => {
    const world = new World();
    const before = await world.caller();
    world.groups = ['staff'];
    await world.pass(10_000);
    const isNewOpen = await world.stream();
    const isOldOpen = await world.stream(before);
    await world.pass(10_000);
    expect([isOldOpen(), isNewOpen()]).toEqual([false, true]);
  });
});
