import { generateKeyPairSync, type KeyObject, sign } from 'node:crypto';
import { describe, expect, it } from '@jest/globals';
import { array, assert, constantFrom, property, string, tuple } from 'fast-check';
import type { Caller } from '../../src/facade/authenticate.ts';
import { Authenticator, parseBearerToken } from '../../src/facade/authenticate.ts';
import { ReviewLimit } from '../../src/facade/limits/review-limit.ts';
import { FakeClock } from '../support/clock.ts';
import { onlyExhaustive } from '../support/scaled.ts';
import { silentLog } from '../support/silent-log.ts';

const ATTACKER = '10.0.0.66';
const OTHER_ADDRESS = '10.0.0.7';

/** Returns the user of a token. Tokens that differ only after a tilde belong to one user, or to service accounts of `team-a`. */
function usernameOf(token: string): string {
  const [name = '', id = ''] = token.split('~');
  return name === 'good-of-team-a' ? `system:serviceaccount:team-a:robot-${id}` : name;
}

const HUB_KEY = generateKeyPairSync('ec', { namedCurve: 'P-256' });

/** Returns a token for a service account in `team-b`. */
function signedToken(privateKey: KeyObject, claims: object = {}): string {
  const parts = [
    { alg: 'ES256', typ: 'JWT' },
    { sub: 'system:serviceaccount:team-b:robot', exp: 4_102_444_800, ...claims },
  ];
  const text = parts.map((part) => Buffer.from(JSON.stringify(part)).toString('base64url')).join('.');
  return `${text}.${sign('sha256', Buffer.from(text), { key: privateKey, dsaEncoding: 'ieee-p1363' }).toString('base64url')}`;
}

const SIGNED = signedToken(HUB_KEY.privateKey);

/** A hub that accepts its own token, and every token that begins with `good`. */
class World {
  readonly clock = new FakeClock();
  reviews = 0;
  isAway = false;
  /** Tokens that the hub rejects. */
  revoked: RegExp | undefined;
  readonly #authenticator = new Authenticator({
    hub: {
      createReview: (async (_resource: unknown, { spec }: { spec: { token: string } }) => this.#review(spec.token)) as never,
      getText: async () => JSON.stringify({ keys: [HUB_KEY.publicKey.export({ format: 'jwk' })] }),
    },
    clock: this.clock,
    log: silentLog,
    audiences: [],
  });

  caller(token: string, address = OTHER_ADDRESS): Promise<Caller> {
    const rawHeaders = ['authorization', `Bearer ${token}`];
    return this.#authenticator.authenticate({ rawHeaders, address }, new AbortController().signal);
  }

  /** Returns 200, or the code of the rejection. */
  async code(token: string, address = OTHER_ADDRESS): Promise<number> {
    return this.caller(token, address).then(
      () => 200,
      ({ code }: { code: number }) => code,
    );
  }

  flood(address = ATTACKER): Promise<readonly number[]> {
    return Promise.all(Array.from({ length: 1_000 }, (_, index) => this.code(`bad-${address}-${index}`, address)));
  }

  async #review(token: string): Promise<unknown> {
    this.reviews += 1;
    if (this.isAway) throw new Error('the hub is away');
    const isAccepted = (token.startsWith('good') || token === SIGNED) && !this.revoked?.test(token);
    return { status: isAccepted ? { authenticated: true, user: { username: usernameOf(token) } } : { user: {} } };
  }
}

describe('Authenticator during a flood of unknown tokens', () => {
  it('accepts a new token that the hub has signed while a thousand addresses send invalid ones', async () => {
    const world = new World();
    const floodAll = () => Promise.all(Array.from({ length: 1_000 }, (_, index) => world.code(`bad-${index}`, `10.1.${index}`)));
    expect(await floodAll()).toContain(429);
    // The keys of the hub were requested for the first rejected token.
    expect(await world.code(SIGNED)).toBe(200);
    expect(await world.code('good-newcomer')).toBe(429);
  });

  it.each([
    ['that another key has signed', () => signedToken(generateKeyPairSync('ec', { namedCurve: 'P-256' }).privateKey)],
    ['that has expired', () => signedToken(HUB_KEY.privateKey, { exp: 0 })],
    ['for a user other than a service account', () => signedToken(HUB_KEY.privateKey, { sub: 'alice' })],
    ['with an invalid header and signature', () => `a.${SIGNED.split('.')[1]}.c`],
  ])('sends no review of a token %s from an address beyond its allowance', async (_case, token) => {
    const world = new World();
    await world.flood();
    const { reviews } = world;
    expect([await world.code(token(), ATTACKER), world.reviews]).toEqual([429, reviews]);
  });

  it('limits the reviews of signed tokens of one namespace', async () => {
    const world = new World();
    await world.flood();
    const tokens = Array.from({ length: 100 }, (_, id) => signedToken(HUB_KEY.privateKey, { jti: `${id}` }));
    const codes = await Promise.all(tokens.map((token) => world.code(token, ATTACKER)));
    expect([codes.filter((code) => code === 401).length, codes.filter((code) => code === 429).length]).toEqual([64, 36]);
  });

  it('accepts a new token from an address that does not take part in a flood', async () => {
    const world = new World();
    expect((await world.flood()).filter((code) => code === 429).length).toBeGreaterThan(900);
    expect(await world.code('good-newcomer')).toBe(200);
  });

  onlyExhaustive(() => {
    it('accepts a new token during a flood from several other addresses', async () => {
      const world = new World();
      for (let second = 0; second < 10; second++) {
        for (let index = 0; index < 8; index++) await world.flood(`10.0.1.${index}`);
        expect(await world.code(`good-newcomer-${second}`)).toBe(200);
        world.clock.advance(1_000);
      }
    });
  });

  it('rejects new tokens from the address of a flood until the flood ends', async () => {
    const world = new World();
    await world.flood();
    expect(await world.code('good-newcomer', ATTACKER)).toBe(429);
    world.clock.advance(1_000);
    expect(await world.code('good-newcomer', ATTACKER)).toBe(200);
  });

  it('accepts many new tokens from the address of a proxy', async () => {
    const world = new World();
    const codes: number[] = [];
    for (const size of [32, 64, 128]) {
      const responses = Array.from({ length: size }, (_, index) => world.code(`good-${size}-${index}`));
      codes.push(...(await Promise.all(responses)));
    }
    expect(new Set(codes)).toEqual(new Set([200]));
  });

  it('accepts a known token during a flood, after a failed review of the token', async () => {
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

describe('Authenticator for a caller with many tokens', () => {
  /** Sends 1,000 new tokens of one user. */
  const sendMany = async (world: World, round: number) => {
    const codes: number[] = [];
    for (let index = 0; index < 1_000; index += 20) {
      const tokens = Array.from({ length: 20 }, (_, next) => `good-minter~${round}-${index + next}`);
      codes.push(...(await Promise.all(tokens.map((token) => world.code(token, ATTACKER)))));
    }
    return codes;
  };

  it('reviews a new token of another user while one user sends many new tokens', async () => {
    const world = new World();
    for (let second = 0; second < 10; second++) {
      await sendMany(world, second);
      expect(await world.code(`good-newcomer-${second}`)).toBe(200);
      world.clock.advance(1_000);
    }
  });

  it('rejects new tokens of one user with 429 beyond 64 and the allowance of the address', async () => {
    const codes = await sendMany(new World(), 0);
    expect(codes.filter((code) => code === 200).length).toBeLessThan(64 + 32 + 64 + 20);
    expect(new Set(codes)).toEqual(new Set([200, 429]));
  });

  it('counts the tokens for all service accounts in a namespace together', async () => {
    const world = new World();
    const codes: number[] = [];
    for (let index = 0; index < 1_000; index += 20) {
      const tokens = Array.from({ length: 20 }, (_, next) => `good-of-team-a~${index}-${next}`);
      codes.push(...(await Promise.all(tokens.map((token) => world.code(token, ATTACKER)))));
    }
    expect(codes.filter((code) => code === 200).length).toBeLessThan(64 + 32 + 64 + 20);
  });

  /** Has the hub accept 1,000 tokens of one user, then waits until the results are stale. */
  const collectTokens = async (world: World) => {
    for (let index = 0; index < 1_000; index++) {
      expect(await world.code(`good-collector~${index}`, `10.2.${index % 250}.${index}`)).toBe(200);
      world.clock.advance(100);
    }
    world.clock.advance(10_000);
    world.reviews = 0;
  };
  const sendCollected = (world: World) =>
    Promise.all(Array.from({ length: 1_000 }, (_, index) => world.code(`good-collector~${index}`, `10.2.${index % 250}.${index}`)));

  it('reviews 200 known tokens of one user at once, and rejects additional ones with 429', async () => {
    const world = new World();
    await collectTokens(world);
    const codes = await sendCollected(world);
    expect(world.reviews).toBe(200);
    expect(codes.filter((code) => code === 429)).toHaveLength(800);
    world.clock.advance(1_000);
    await sendCollected(world);
    expect(world.reviews).toBe(300);
  });

  it('reviews known tokens of other users while one user sends many', async () => {
    const world = new World();
    expect(await world.code('good-friend')).toBe(200);
    await collectTokens(world);
    await sendCollected(world);
    expect(await world.code('good-friend')).toBe(200);
  });

  it('reviews a valid token of a user while another client sends 900 revoked tokens of that user', async () => {
    const world = new World();
    await collectTokens(world);
    world.revoked = /~[1-9]\d\d$/;
    const sendRevoked = () => Promise.all(Array.from({ length: 900 }, (_, index) => world.code(`good-collector~${index + 100}`, ATTACKER)));
    for (let round = 0; round < 10; round++) {
      await sendRevoked();
      world.clock.advance(11_000);
    }
    expect(new Set(await sendRevoked())).toEqual(new Set([401, 429]));
    expect(await world.code('good-collector~0')).toBe(200);
  });

  it('reviews the tokens of streams without the limit on known tokens', async () => {
    const world = new World();
    await collectTokens(world);
    const callers = Array.from({ length: 300 }, (_, index) => world.caller(`good-collector~${index}`));
    const streams = (await Promise.allSettled(callers)).flatMap((each) => (each.status === 'fulfilled' ? each.value : []));
    expect(streams).toHaveLength(200);
    world.clock.advance(4_000);
    await sendCollected(world);
    expect(await Promise.all(streams.map(async (caller) => await caller.isStillValid('stream')))).toEqual(streams.map(() => true));
  });

  it('accepts tokens of one user that each come from a different address', async () => {
    const world = new World();
    const codes = await Promise.all(Array.from({ length: 300 }, (_, index) => world.code(`good-replica~${index}`, `10.1.${index}.1`)));
    expect(new Set(codes)).toEqual(new Set([200]));
  });
});

describe('Authenticator', () => {
  it('sends no more reviews for two authenticators with a shared limit than for one', async () => {
    const clock = new FakeClock();
    const reviewLimit = new ReviewLimit(clock);
    let reviews = 0;
    const createReview = async () => {
      reviews += 1;
      return { status: { user: {} } };
    };
    const all = [['a'], []].map(
      (audiences) =>
        new Authenticator({
          hub: { createReview: createReview as never, getText: async () => '' },
          clock,
          log: silentLog,
          audiences,
          reviewLimit,
        }),
    );
    const flood = all.flatMap((each) =>
      Array.from({ length: 200 }, (_, index) => {
        const rawHeaders = ['authorization', `Bearer bad-${index}`];
        return each.authenticate({ rawHeaders, address: ATTACKER }, new AbortController().signal).catch(() => {});
      }),
    );
    await Promise.all(flood);
    // The allowance of an address, then the burst of an address beyond it.
    expect(reviews).toBe(32 + 10);
  });

  it('sends one review for concurrent requests with the same token', async () => {
    const world = new World();
    expect(await Promise.all(Array.from({ length: 5 }, () => world.code('good-friend')))).toEqual([200, 200, 200, 200, 200]);
    expect(world.reviews).toBe(1);
  });
});

const schemes = constantFrom('Bearer', 'bearer', 'BEARER', 'Basic', '');
const headers = array(tuple(constantFrom('authorization', 'Authorization', 'x-remote-user', 'Accept', 'impersonate-group'), string()), {
  maxLength: 4,
});

describe('parseBearerToken', () => {
  it('returns the token after Bearer and one space, otherwise undefined', () => {
    assert(
      property(schemes, string({ unit: 'binary' }), (scheme, rest) => {
        const token = parseBearerToken(['Authorization', `${scheme} ${rest}`]);
        const isOne = scheme.toLowerCase() === 'bearer' && /^[A-Za-z0-9_.~+/-]+=*$/.test(rest);
        expect(token).toBe(isOne ? rest : undefined);
      }),
    );
  });

  it('rejects two Authorization headers, and a token with an impersonation header', () => {
    assert(
      property(headers, (given) => {
        const raw = given.flat();
        const names = given.map(([name]) => name.toLowerCase());
        const count = names.filter((name) => name === 'authorization').length;
        const read = () => parseBearerToken(raw);
        if (count > 1) expect(read).toThrow('more than one');
        else expect(read()).toBeUndefined();
      }),
    );
    expect(() => parseBearerToken(['Authorization', 'Bearer x', 'X-Remote-User', 'y'])).toThrow('x-remote-user');
    expect(() => parseBearerToken(['IMPERSONATE-USER', 'y', 'Authorization', 'Bearer x'])).toThrow('impersonate-user');
  });
});
