import { afterEach, describe, expect, it } from '@jest/globals';
import type { ManagedToken } from '../../src/api/managed-token.gen.ts';
import { AnchorFinalizer, Annotation } from '../../src/api/names.ts';
import { createTokenInformers } from '../../src/tokens/informers.ts';
import { type StoredToken, specProblems } from '../../src/tokens/policy/spec.ts';
import { bytesOf, reduceToken } from '../../src/tokens/reduce-token.ts';
import { startWireWorld, type WireWorld } from '../kube/wire-world.ts';
import { aToken } from '../support/builders.ts';
import { FakeClock } from '../support/clock.ts';

const KILOBYTE = 1_024;

/** A ManagedToken of this many kilobytes, as far as its metadata goes. */
function large(index: number, kilobytes: number): ManagedToken {
  const annotations = { 'example.com/filler': 'x'.repeat(kilobytes * KILOBYTE) };
  return aToken()
    .withMetadata({ name: `t-${index}`, uid: `uid-${index}`, resourceVersion: `${index + 1}`, annotations, labels: annotations })
    .build();
}

function bytesIn(tokens: readonly StoredToken[]): number {
  return tokens.reduce((bytes, token) => bytes + bytesOf(token), 0);
}

describe('reduceToken', () => {
  it('keeps identity, finalizers, requests, spec and status', () => {
    const metadata = {
      resourceVersion: '7',
      creationTimestamp: '2026-03-01T12:00:00Z',
      deletionTimestamp: '2026-03-01T13:00:00Z',
      finalizers: ['example.com/theirs', AnchorFinalizer],
      annotations: { [Annotation.rotate]: 'now', [Annotation.revoke]: 'never' },
    };
    const token = aToken().withMetadata(metadata).withStatus({ observedGeneration: 1, rotations: 3 }).build();
    expect(reduceToken(token)).toEqual(token);
  });

  it('drops labels, foreign annotations, owners and managedFields', () => {
    const token = aToken()
      .withMetadata({
        labels: { team: 'a' },
        annotations: { 'kubectl.kubernetes.io/last-applied-configuration': '{}', [Annotation.rotate]: '1' },
        ownerReferences: [{ apiVersion: 'v1', kind: 'ConfigMap', name: 'a', uid: 'u' }],
        managedFields: [{ manager: 'kubectl' }],
      })
      .build();
    const { metadata } = reduceToken(token);
    expect(metadata).toEqual({ ...aToken().build().metadata, annotations: { [Annotation.rotate]: '1' } });
  });

  it('replaces a long request by a digest that differs for another request', () => {
    const [one, same, other] = ['a', 'a', 'b'].map(
      (letter) =>
        reduceToken(aToken().annotated(Annotation.rotate, letter.repeat(100_000)).build()).metadata.annotations?.[Annotation.rotate],
    );
    expect(one).toMatch(/^sha256:[0-9a-f]{64}$/);
    expect([same === one, other === one]).toEqual([true, false]);
  });

  it('keeps requests to rotate and revoke in a stub', () => {
    const finalizers = Array.from({ length: 3_000 }, (_, index) => `example.com/finalizer-${index}`);
    const token = aToken()
      .withMetadata({ finalizers })
      .annotated(Annotation.revoke, 'leak')
      .annotated(Annotation.issuedFor, 'forged')
      .build();
    const { isTooLarge, metadata } = reduceToken(token);
    expect([isTooLarge, metadata.annotations]).toEqual([true, { [Annotation.revoke]: 'leak' }]);
  });

  it('keeps a stub of a ManagedToken that is too large, which is an invalid one', () => {
    const annotations = Object.fromEntries(Array.from({ length: 32 }, (_, index) => [`a-${index}`, 'x'.repeat(4 * KILOBYTE)]));
    const finalizers = [...Array.from({ length: 2_000 }, (_, index) => `example.com/finalizer-${index}`), AnchorFinalizer];
    const stub = reduceToken(aToken().writing({ name: 'kept', annotations }).withMetadata({ finalizers }).build());
    expect([stub.spec.secret, stub.metadata.finalizers]).toEqual([{ name: 'kept', outputs: ['Token'] }, [AnchorFinalizer]]);
    expect(bytesOf(stub)).toBeLessThan(KILOBYTE);
    expect(specProblems(stub, {})).toMatchObject([{ type: 'FieldValueTooLong', field: 'spec' }]);
  });
});

describe('the informer of ManagedTokens on a hub without WatchList', () => {
  let world: WireWorld;
  afterEach(() => world.close());

  /** Starts a hub with these ManagedTokens, and returns what the informer keeps of them. */
  async function listed(tokens: readonly ManagedToken[], maxBytes: number): Promise<readonly StoredToken[]> {
    const clock = new FakeClock();
    world = await startWireWorld(
      ({ query }, reply) => {
        if (query.get('sendInitialEvents') === 'true')
          return reply.json(422, { kind: 'Status', status: 'Failure', reason: 'Invalid', code: 422 });
        if (query.get('watch') === 'true') return void reply.open();
        const start = Number(query.get('continue') ?? 0);
        const end = start + Number(query.get('limit'));
        const metadata = { resourceVersion: '100', ...(end < tokens.length && { continue: `${end}` }) };
        return reply.json(200, { kind: 'ManagedTokenList', metadata, items: tokens.slice(start, end) });
      },
      clock,
      { maxBytes },
    );
    const informers = createTokenInformers({ client: world.client, clock, random: () => 0, credentialNamespaces: [] });
    const running = informers.tokens.changes$.subscribe();
    while (!informers.tokens.synced) await new Promise((resolve) => setImmediate(resolve));
    const kept = informers.tokens.store.list();
    running.unsubscribe();
    return kept;
  }

  it('lists ManagedTokens of 393 kB each in pages that fit, and keeps little of them', async () => {
    const kept = await listed(
      Array.from({ length: 20 }, (_, index) => large(index, 196)),
      1_000 * KILOBYTE,
    );

    expect(kept).toHaveLength(20);
    expect(bytesIn(kept)).toBeLessThan(20 * KILOBYTE);
  });

  it('keeps little more than 64 MB of the ManagedTokens of one namespace', async () => {
    const annotations = { filler: 'x'.repeat(60 * KILOBYTE) };
    const token = (index: number) =>
      aToken()
        .writing({ name: 'ci', annotations })
        .withMetadata({ name: `t-${index}`, uid: `uid-${index}`, resourceVersion: '1' })
        .build();
    const kept = await listed(
      Array.from({ length: 1_200 }, (_, index) => token(index)),
      64_000 * KILOBYTE,
    );

    expect(kept).toHaveLength(1_200);
    expect(bytesIn(kept)).toBeLessThan(66_000 * KILOBYTE);
  });
});
