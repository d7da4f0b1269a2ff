import { beforeAll, describe, expect, it } from '@jest/globals';
import * as fc from 'fast-check';
import {
  type BoundClaims,
  createClaims,
  type TokenGrant,
  type TokenIssuer,
  verifyServiceAccountToken,
} from '../../access/service-account-tokens.ts';
import { generateSigningKey, parseSigningKey, type SigningKey, signToken } from '../../access/signing-key.ts';
import { core, storedObjects } from './stored-objects.ts';

const now = Date.UTC(2026, 10, 15, 12);
const seconds = now / 1000;
const serviceAccount = core('ServiceAccount', { name: 'robot', namespace: 'lab', uid: 'sa-1' });
const objects = [
  serviceAccount,
  core('Pod', { name: 'web', namespace: 'lab', uid: 'pod-1' }),
  core('Secret', { name: 's', namespace: 'lab', uid: 'secret-1' }),
  core('Node', { name: 'n', uid: 'node-1' }),
];
const bound = {
  pod: { pod: { name: 'web', uid: 'pod-1' }, node: { name: 'n', uid: 'node-1' } },
  secret: { secret: { name: 's', uid: 'secret-1' } },
  node: { node: { name: 'n', uid: 'node-1' } },
} satisfies Record<string, BoundClaims>;

const CRYPTO_FAILURE = 'go-jose/go-jose: error in cryptographic primitive';

let key: SigningKey;
let issuer: TokenIssuer;

beforeAll(async () => {
  key = parseSigningKey(generateSigningKey());
  issuer = { issuer: 'https://hub.test', key, audiences: ['https://hub.test'], objects: storedObjects(...objects) };
});

function token(grant: Partial<TokenGrant> = {}): Promise<string> {
  const defaults = {
    issuer: 'https://hub.test',
    id: 'j-1',
    serviceAccount,
    audiences: ['https://hub.test'],
    lifetimeSeconds: 3600,
  };
  return signToken({ ...createClaims({ ...defaults, ...grant }, now) }, key);
}

function decodePart(part: string | undefined): unknown {
  return JSON.parse(Buffer.from(part ?? '', 'base64url').toString());
}

describe('signToken', () => {
  it('signs the Kubernetes claims in sorted order', async () => {
    const [header, claims] = (await token({ bound: bound.pod, lifetimeSeconds: 31_536_000 })).split('.');
    expect(decodePart(header)).toEqual({ alg: 'ES256', kid: key.id });
    expect(Buffer.from(claims ?? '', 'base64url').toString()).toBe(
      `{"aud":["https://hub.test"],"exp":${seconds + 31_536_000},"iat":${seconds},"iss":"https://hub.test","jti":"j-1",` +
        '"kubernetes.io":{"namespace":"lab","node":{"name":"n","uid":"node-1"},"pod":{"name":"web","uid":"pod-1"},' +
        `"serviceaccount":{"name":"robot","uid":"sa-1"}},"nbf":${seconds},"sub":"system:serviceaccount:lab:robot"}`,
    );
  });
});

describe('verifyServiceAccountToken', () => {
  it.each([
    ['nothing', {}, {}],
    ['a Secret', bound.secret, {}],
    ['a Node', bound.node, { 'node-name': ['n'], 'node-uid': ['node-1'] }],
    ['a Pod', bound.pod, { 'node-name': ['n'], 'node-uid': ['node-1'], 'pod-name': ['web'], 'pod-uid': ['pod-1'] }],
    [
      'a Pod on an unknown Node',
      { pod: bound.pod.pod, node: { name: 'x' } },
      { 'node-name': ['x'], 'pod-name': ['web'], 'pod-uid': ['pod-1'] },
    ],
  ])('returns the service account of a token bound to %s', async (_, claims, expected) => {
    const extra = Object.fromEntries(
      Object.entries({ 'credential-id': ['JTI=j-1'], ...expected }).map(([name, value]) => [`authentication.kubernetes.io/${name}`, value]),
    );
    const groups = ['system:serviceaccounts', 'system:serviceaccounts:lab'];
    const user = { name: 'system:serviceaccount:lab:robot', uid: 'sa-1', groups, extra };
    const verdict = await verifyServiceAccountToken(await token({ bound: claims }), ['x', 'https://hub.test'], issuer, now);
    expect(verdict).toEqual({ type: 'accepted', user, audiences: ['https://hub.test'] });
  });

  it.each([
    ['has expired', 3600 + 61, 'service account token has expired'],
    ['is not valid yet', -61, 'service account token is not valid yet'],
  ])('rejects a token that %s', async (_, ageSeconds, reason) => {
    expect(await verifyServiceAccountToken(await token(), ['https://hub.test'], issuer, now + ageSeconds * 1000)).toEqual({
      type: 'rejected',
      reason,
    });
  });

  it.each([3600 + 60, -60])('accepts a token within the leeway, %d seconds after its issuance', async (ageSeconds) => {
    expect(await verifyServiceAccountToken(await token(), ['https://hub.test'], issuer, now + ageSeconds * 1000)).toMatchObject({
      type: 'accepted',
    });
  });

  it('rejects a token for other audiences', async () => {
    expect(await verifyServiceAccountToken(await token({ audiences: ['a', 'b'] }), ['c', 'd'], issuer, now)).toEqual({
      type: 'rejected',
      reason: 'token audiences ["a" "b"] is invalid for the target audiences ["c" "d"]',
    });
  });

  const longDeleted = new Date(now - 61_000).toISOString();
  const justDeleted = new Date(now - 59_000).toISOString();
  it.each([
    ['the service account does not exist', {}, { robot: undefined }, 'serviceaccounts "robot" not found'],
    ['the service account has another uid', {}, { robot: { uid: 'sa-2' } }, 'service account UID (sa-2) does not match claim (sa-1)'],
    ['the service account was deleted', {}, { robot: { deletionTimestamp: longDeleted } }, 'service account lab/robot has been deleted'],
    ['its Secret does not exist', bound.secret, { s: undefined }, 'service account token has been invalidated'],
    ['its Secret was deleted', bound.secret, { s: { deletionTimestamp: longDeleted } }, 'service account token has been invalidated'],
    [
      'its Secret has another uid',
      bound.secret,
      { s: { uid: 'secret-2' } },
      'secret UID (secret-2) does not match service account secret ref claim (secret-1)',
    ],
    ['its Pod does not exist', bound.pod, { web: undefined }, 'service account token has been invalidated'],
    [
      'its Pod has another uid',
      bound.pod,
      { web: { uid: 'pod-2' } },
      'pod UID (pod-2) does not match service account pod ref claim (pod-1)',
    ],
    ['its Node does not exist', bound.node, { n: undefined }, 'service account token has been invalidated'],
    ['its Node has another uid', bound.node, { n: { uid: 'x' } }, 'node UID (x) does not match service account node ref claim (node-1)'],
    ['the Node of its Pod does not exist', bound.pod, { n: undefined }, undefined],
    ['its Pod was deleted less than a minute ago', bound.pod, { web: { deletionTimestamp: justDeleted } }, undefined],
  ])('verifies the objects of a token: %s', async (_, claims, changes: Readonly<Record<string, object | undefined>>, reason) => {
    const changed = objects.flatMap((object) => {
      const name = object.metadata.name ?? '';
      if (!(name in changes)) return [object];
      return changes[name] === undefined ? [] : [{ ...object, metadata: { ...object.metadata, ...changes[name] } }];
    });
    const verdict = await verifyServiceAccountToken(
      await token({ bound: claims }),
      ['https://hub.test'],
      { ...issuer, objects: storedObjects(...changed) },
      now,
    );
    expect(verdict).toMatchObject(reason === undefined ? { type: 'accepted' } : { type: 'rejected', reason });
  });

  it.each([
    ['that is not a JWT', () => 'garbage', 'unknown'],
    ['from another issuer', () => token({ issuer: 'https://else.test' }), 'unknown'],
    ['whose header is not JSON', async () => `e.${(await token()).split('.').slice(1).join('.')}`, 'unknown'],
    ['whose key id is not a string', async () => `${base64({ kid: 5 })}.${(await token()).split('.').slice(1).join('.')}`, 'unknown'],
    [
      'with an unknown key',
      async () => `${base64({ kid: 'zz' })}.${(await token()).split('.').slice(1).join('.')}`,
      'invalid signature, no keys found',
    ],
    ['with the algorithm none', async () => `${base64({ alg: 'none' })}.${(await token()).split('.')[1]}.`, CRYPTO_FAILURE],
    [
      'with a symmetric algorithm',
      async () => `${base64({ alg: 'HS256' })}.${(await token()).split('.').slice(1).join('.')}`,
      CRYPTO_FAILURE,
    ],
    ['without a signature', async () => `${(await token()).split('.').slice(0, 2).join('.')}.`, CRYPTO_FAILURE],
  ])('does not accept a token %s', async (_, make, outcome) => {
    const verdict = await verifyServiceAccountToken(await make(), ['https://hub.test'], issuer, now);
    expect(verdict).toEqual(outcome === 'unknown' ? { type: 'unknown' } : { type: 'rejected', reason: outcome });
  });

  it('rejects a changed token without quoting it', async () => {
    const whole = await token();
    const alphabet = 'ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_.= \n';
    await fc.assert(
      fc.asyncProperty(fc.nat(), fc.constantFrom(...alphabet.split('')), fc.integer({ min: 0, max: 1 }), async (place, char, removed) => {
        const at = place % whole.length;
        const changed = whole.slice(0, at) + char + whole.slice(at + removed);
        fc.pre(!isSameToken(changed, whole));
        const verdict = await verifyServiceAccountToken(changed, ['https://hub.test'], issuer, now);
        expect(verdict.type).not.toBe('accepted');
        for (const part of changed.split('.').filter(({ length }) => length > 8)) expect(JSON.stringify(verdict)).not.toContain(part);
      }),
      { numRuns: 400 },
    );
  });
});

/** Returns true if both strings encode the same token: base64url ignores line breaks and unused bits at the end of a signature. */
function isSameToken(a: string, b: string): boolean {
  const parts = (text: string) => text.split(/\.(?=[^.]*$)/);
  const [aSigned, aSignature = ''] = parts(a);
  const [bSigned, bSignature = ''] = parts(b);
  return aSigned === bSigned && Buffer.from(aSignature, 'base64url').equals(Buffer.from(bSignature, 'base64url'));
}

function base64(value: unknown): string {
  return Buffer.from(JSON.stringify(value)).toString('base64url');
}
