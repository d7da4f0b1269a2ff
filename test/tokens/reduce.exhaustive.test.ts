import { afterEach, describe, expect, it } from '@jest/globals';
import type { ManagedToken } from '../../src/api/managed-token.gen.ts';
import { AnchorFinalizer, Annotation, Label, LabelValue } from '../../src/api/names.ts';
import type { Secret, Stored } from '../../src/api/resources.ts';
import { KeptObjects, recordedBytes } from '../../src/kube/namespace-bytes.ts';
import { createTokenInformers } from '../../src/tokens/informers.ts';
import { secretConflictFailure } from '../../src/tokens/policy/messages.ts';
import { parseRecord } from '../../src/tokens/policy/record.ts';
import { findConflict, type SecretConflict } from '../../src/tokens/policy/secret.ts';
import { type StoredToken, specProblems } from '../../src/tokens/policy/spec.ts';
import { reduceSecret, reduceToken, SECRET_BUDGET, TOKEN_BUDGET } from '../../src/tokens/reduce.ts';
import { startWireWorld, type WireWorld } from '../kube/wire-world.ts';
import { aGrant, aToken, jwt, writtenSecret } from '../support/builders.ts';
import { FakeClock } from '../support/clock.ts';
import { onlyExhaustive } from '../support/scaled.ts';
import { stored } from '../support/stored.ts';

const KILOBYTE = 1_024;

/** Returns a ManagedToken with this many kilobytes of metadata. */
function large(index: number, kilobytes: number): ManagedToken {
  const annotations = { 'example.com/filler': 'x'.repeat(kilobytes * KILOBYTE) };
  return aToken()
    .withMetadata({ name: `t-${index}`, uid: `uid-${index}`, resourceVersion: `${index + 1}`, annotations, labels: annotations })
    .build();
}

const TOKEN = aToken().build();

/** Returns a Secret of the ManagedToken with other annotations of this many characters. */
function secretWith(length: number): Stored<Secret> {
  return {
    metadata: {
      name: TOKEN.metadata.name ?? '',
      namespace: TOKEN.metadata.namespace ?? '',
      uid: 'secret-uid',
      resourceVersion: '7',
      labels: { [Label.managedBy]: LabelValue.managedBy, team: 'a' },
      annotations: { [Annotation.expiresAt]: '2026-03-01T13:00:00Z', 'example.com/filler': 'x'.repeat(length) },
      ownerReferences: [{ apiVersion: 'v1', kind: 'ManagedToken', name: 'ci', uid: TOKEN.metadata.uid ?? '', controller: true }],
    },
    type: 'Opaque',
  };
}

describe('reduceSecret', () => {
  it('keeps digests of overlong names of owners in a stub', () => {
    const { metadata, ...secret } = secretWith(0);
    const owner = { apiVersion: 'v1', kind: 'ManagedToken', name: 'x'.repeat(100_000), uid: 'y', controller: true };
    const stub = reduceSecret({ ...secret, metadata: { ...metadata, ownerReferences: [owner] } });
    expect(stub.metadata.ownerReferences).toEqual([{ ...owner, name: expect.stringMatching(/^sha256:/) }]);
  });

  it('keeps no data and no managedFields, and only the claims that Purser compares with the record', () => {
    const { metadata, ...secret } = secretWith(0);
    const data = {
      token: Buffer.from(jwt({ iss: 'https://issuer', sub: 'me', aud: ['you'], jti: 'id', iat: 1, exp: 2 })).toString('base64'),
    };
    const reduced = reduceSecret({ ...secret, metadata: { ...metadata, managedFields: [{ manager: 'purser' }] }, data });
    expect(reduced.metadata).toEqual(metadata);
    expect(reduced).not.toHaveProperty('data');
    expect(reduced.claims).toEqual({ subject: 'me', audiences: ['you'], issuedAt: 1_000, expiresAt: 2_000 });
  });

  it('keeps labels and annotations of other managers, so that a write does not remove them', () => {
    const secret = secretWith(1_000);
    expect(reduceSecret(secret)).toMatchObject({ metadata: secret.metadata });
  });

  it('keeps the largest labels and annotations that the CRD permits in a spec, with the record of Purser', () => {
    const keyed = (prefix: string, count: number, value: string) =>
      Object.fromEntries(Array.from({ length: count }, (_, index) => [`${prefix}${index}`.padEnd(317, 'k'), value]));
    // The record names the keys once more, and quotes are escaped.
    const { metadata, ...secret } = secretWith(26 * KILOBYTE);
    const annotations = { ...metadata.annotations, ...keyed('a', 16, '"'.repeat(1_024)) };
    const allowed = { ...secret, metadata: { ...metadata, labels: keyed('l', 48, 'v'.repeat(63)), annotations } };
    expect(reduceSecret(allowed)).toMatchObject({ metadata: { labels: allowed.metadata.labels, annotations } });
    expect(reduceSecret(allowed).isTooLarge).toBeUndefined();
  });

  it('keeps a stub of a Secret with 250 kB of annotations, which is reported as a conflict with a remedy', () => {
    const secret = reduceSecret(secretWith(250_000));
    expect(JSON.stringify(secret).length).toBeLessThan(1_000);
    const conflict = findConflict({ token: TOKEN, secret });
    expect(conflict && secretConflictFailure(conflict)).toEqual({
      reason: 'SecretConflict',
      message: `The metadata of Secret ${TOKEN.metadata.name} exceeds 96 KiB. Remove labels and annotations that Purser did not set.`,
    });
  });
});

/** Returns a Secret whose annotations, owner and token are as long as the API server admits together. */
function largeSecret(index: number, namespace = 'crowd'): Stored<Secret> {
  const own = Object.values(Annotation).map((name) => [name, 'x'.repeat(8 * KILOBYTE)]);
  const { metadata } = secretWith(30 * KILOBYTE);
  const name = `s-${index}`;
  const claims = { aud: Array.from({ length: 100 }, () => 'x'.repeat(100)) };
  return {
    metadata: {
      ...metadata,
      namespace,
      name,
      uid: `${namespace}-${name}`,
      annotations: { ...metadata.annotations, ...Object.fromEntries(own) },
      ownerReferences: [{ apiVersion: 'v1', kind: 'ManagedToken', name: 'x'.repeat(30 * KILOBYTE), uid: 'u', controller: true }],
    },
    type: 'Opaque',
    data: { token: Buffer.from(jwt(claims)).toString('base64') },
  };
}

describe('reduceSecret of a Secret that is too large', () => {
  it('keeps less than 6 KiB of a Secret with long annotations, owner names and claims, and sets isTooLarge', () => {
    const secret = reduceSecret(largeSecret(0));
    expect(secret.isTooLarge).toBe(true);
    expect(recordedBytes(secret)).toBeLessThan(6 * KILOBYTE);
  });

  it('keeps the record and the usual claims of the token', () => {
    const { metadata, ...secret } = secretWith(250_000);
    const { data, metadata: written } = writtenSecret({ token: TOKEN, cluster: undefined, secret: undefined }, aGrant());
    const annotations = { ...metadata.annotations, ...written.annotations };
    const reduced = reduceSecret({ ...secret, metadata: { ...metadata, annotations }, ...(data && { data }) });
    expect(parseRecord(reduced.metadata.annotations)).toEqual(parseRecord(written.annotations));
    expect(reduced.claims?.subject).toBe('system:serviceaccount:deploy:deployer');
  });
});

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
    expect(reduceToken(stored(token))).toEqual(token);
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
    const { metadata } = reduceToken(stored(token));
    expect(metadata).toEqual({ ...aToken().build().metadata, annotations: { [Annotation.rotate]: '1' } });
  });

  it('shares equal specs and conditions of ManagedTokens, but not a status, whose signature is for one ManagedToken', () => {
    const conditions = [
      { type: 'Ready', status: 'True', reason: 'Issued', message: 'm', lastTransitionTime: '2026-03-01T12:00:00Z' },
    ] as const;
    const build = (name: string) =>
      reduceToken(stored(aToken().withMetadata({ name }).withStatus({ conditions, tokenDigest: 'd' }).build()));
    const [a, b] = [build('a'), build('b')];
    expect([a.spec, a.status?.conditions, a.status]).toEqual([b.spec, b.status?.conditions, b.status]);
    expect([a.spec === b.spec, a.status?.conditions === b.status?.conditions, a.status === b.status]).toEqual([true, true, false]);
  });

  it('keeps labels and annotations that the controller of sets has set, with digests of long values', () => {
    const names = (...keys: readonly string[]) => Object.fromEntries(['.', ...keys.map((key) => `f:${key}`)].map((key) => [key, {}]));
    const owned = (labels: object, annotations: object) => ({ 'f:metadata': { 'f:labels': labels, 'f:annotations': annotations } });
    const token = aToken()
      .withMetadata({
        labels: { created: 'x', applied: 'y', theirs: 'z' },
        annotations: { 'example.com/long': 'n'.repeat(300), 'example.com/theirs': 'z' },
        managedFields: [
          { manager: 'purser-sets', operation: 'Update', fieldsV1: owned(names('created', 'absent'), names('example.com/long')) },
          { manager: 'purser-sets', operation: 'Apply', fieldsV1: owned(names('applied'), names()) },
          { manager: 'kubectl', operation: 'Update', fieldsV1: owned(names('theirs'), names('example.com/theirs')) },
          { manager: 'purser-sets' },
        ],
      })
      .build();
    const { labels, annotations } = reduceToken(stored(token)).metadata;
    expect(labels).toEqual({ created: 'x', applied: 'y' });
    expect(annotations).toEqual({ 'example.com/long': expect.stringMatching(/^sha256:/) });
  });

  it('replaces a long request with a digest that differs for another request', () => {
    const [one, same, other] = ['a', 'a', 'b'].map(
      (letter) =>
        reduceToken(stored(aToken().annotated(Annotation.rotate, letter.repeat(100_000)).build())).metadata.annotations?.[
          Annotation.rotate
        ],
    );
    expect(one).toMatch(/^sha256:[0-9a-f]{64}$/);
    expect([same === one, other === one]).toEqual([true, false]);
  });

  it('keeps a request to revoke, and no record, in a stub', () => {
    const finalizers = Array.from({ length: 3_000 }, (_, index) => `example.com/finalizer-${index}`);
    const token = aToken()
      .withMetadata({ finalizers })
      .annotated(Annotation.revoke, 'leak')
      .annotated(Annotation.issuedFor, 'forged')
      .build();
    const { isTooLarge, metadata } = reduceToken(stored(token));
    expect([isTooLarge, metadata.annotations]).toEqual([true, { [Annotation.revoke]: 'leak' }]);
  });

  it('keeps anchors, digest and handled revocation of an overlong status in a stub', () => {
    const place = { cluster: 'prod-eu', namespace: 'deploy', serviceAccount: 'deployer', clusterUID: '', credential: '' };
    const records = { tokenDigest: 'sha256:0', lastRevokeRequest: 'leak', anchors: [place] };
    const secretName = 'x'.repeat(70 * KILOBYTE);
    expect(
      reduceToken(
        stored(
          aToken()
            .withStatus({ ...records, secretName })
            .build(),
        ),
      ).status,
    ).toEqual(records);
  });

  it('keeps a stub of a ManagedToken that is too large, which is reported as invalid', () => {
    const annotations = Object.fromEntries(Array.from({ length: 32 }, (_, index) => [`a-${index}`, 'x'.repeat(4 * KILOBYTE)]));
    const finalizers = [...Array.from({ length: 2_000 }, (_, index) => `example.com/finalizer-${index}`), AnchorFinalizer];
    const stub = reduceToken(stored(aToken().writing({ name: 'kept', annotations }).withMetadata({ finalizers }).build()));
    expect([stub.spec.secret, stub.metadata.finalizers]).toEqual([{ name: 'kept', outputs: ['Token'] }, [AnchorFinalizer]]);
    expect(recordedBytes(stub)).toBeLessThan(KILOBYTE);
    expect(specProblems(stub, {})).toMatchObject([{ type: 'FieldValueTooLong', field: 'spec' }]);
  });
});

/** Size of ManagedTokens of which 1,024 take a little more than 32 MiB. */
const SHARE_KILOBYTES = 32;
const MANY = 1_100;

function sized(index: number, kilobytes: number): ManagedToken {
  const annotations = { filler: 'x'.repeat(kilobytes * 1_024) };
  return aToken()
    .writing({ name: 'ci', annotations })
    .withMetadata({ namespace: 'crowd', uid: `crowd-${index}`, name: `t-${index}` })
    .build();
}

describe('TOKEN_BUDGET', () => {
  it('keeps stubs of the ManagedTokens in a namespace that exceed 32 MiB, which are reported as invalid', () => {
    const kept = new KeptObjects(TOKEN_BUDGET);
    for (let index = 0; index < MANY; index++) kept.set(reduceToken(stored(sized(index, SHARE_KILOBYTES))));
    const stubs = [...kept.all.values()].filter(({ isOverBudget }) => isOverBudget);
    expect(MANY - stubs.length).toBeGreaterThan(1_000);
    expect(stubs[0]?.spec.secret.annotations).toBeUndefined();
    expect(specProblems(stubs[0] as StoredToken, {})).toMatchObject([{ type: 'FieldValueForbidden', field: 'spec' }]);
    expect(estimateBytes([...kept.all.values()])).toBeLessThan((32 << 20) + MANY * 1_024);
  });
});

describe('SECRET_BUDGET', () => {
  it('keeps stubs of the Secrets in a namespace that exceed 32 MiB, and small Secrets', () => {
    const kept = new KeptObjects(SECRET_BUDGET);
    const add = (name: string, length: number) => {
      const { metadata, ...secret } = secretWith(length);
      kept.set(reduceSecret({ ...secret, metadata: { ...metadata, name, uid: name } }));
    };
    for (let index = 0; index < MANY; index++) add(`s-${index}`, 31 * KILOBYTE);
    add('ci', 32_000);
    add('small', 10);
    const stub = kept.all.get(`${TOKEN.metadata.namespace}/ci`)!;
    expect([stub.isOverBudget, recordedBytes(stub) < KILOBYTE]).toEqual([true, true]);
    expect(secretConflictFailure(findConflict({ token: TOKEN, secret: stub }) as SecretConflict).message).toBe(
      'Purser does not write Secret ci, because the Secrets of ManagedTokens in the namespace take too much memory. Delete unused Secrets with the label tokens.purser.dev/managed-by.',
    );
    expect(kept.all.get(`${TOKEN.metadata.namespace}/small`)?.isOverBudget).toBeUndefined();
  });
});

function estimateBytes(tokens: readonly StoredToken[]): number {
  return tokens.reduce((bytes, token) => bytes + recordedBytes(token), 0);
}

describe('createTokenInformers on a hub without WatchList', () => {
  let world: WireWorld;
  afterEach(() => world.close());

  /** Starts a hub with these ManagedTokens, and returns the objects in the store of the informer. */
  async function listTokens(tokens: readonly ManagedToken[], maxBytes: number): Promise<readonly StoredToken[]> {
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
    const informers = createTokenInformers({ client: world.client, clock, random: () => 0 });
    const running = informers.tokens.changes$.subscribe();
    while (!informers.tokens.synced) await new Promise((resolve) => setImmediate(resolve));
    const kept = informers.tokens.store.list();
    running.unsubscribe();
    return kept;
  }

  it('lists ManagedTokens of 393 KiB each in pages that fit, and keeps only stubs of the ManagedTokens', async () => {
    const kept = await listTokens(
      Array.from({ length: 20 }, (_, index) => large(index, 196)),
      1_000 * KILOBYTE,
    );

    expect(kept).toHaveLength(20);
    expect(estimateBytes(kept)).toBeLessThan(20 * KILOBYTE);
  });

  onlyExhaustive(() => {
    it('keeps at most slightly more than 32 MiB of the ManagedTokens in one namespace', async () => {
      const annotations = { filler: 'x'.repeat(60 * KILOBYTE) };
      const token = (index: number) =>
        aToken()
          .writing({ name: 'ci', annotations })
          .withMetadata({ name: `t-${index}`, uid: `uid-${index}`, resourceVersion: '1' })
          .build();
      const kept = await listTokens(
        Array.from({ length: 1_200 }, (_, index) => token(index)),
        64_000 * KILOBYTE,
      );

      expect(kept).toHaveLength(1_200);
      expect(estimateBytes(kept)).toBeLessThan(34_000 * KILOBYTE);
    });
  });
});
