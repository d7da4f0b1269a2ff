import { beforeAll, describe, expect, it } from '@jest/globals';
import { StatusError } from '../../../src/kubernetes/status.ts';
import { type TokenIssuer, verifyServiceAccountToken } from '../../access/service-account-tokens.ts';
import { generateSigningKey, parseSigningKey } from '../../access/signing-key.ts';
import { createToken, type PostedTokenRequest } from '../../reviews/token.ts';
import { core, storedObjects } from '../access/stored-objects.ts';
import { type Exchange, readRecording } from '../recorded.ts';

const UID = 'ab92bebf-09c1-471d-81fe-84e584411bac';
const now = Date.UTC(2026, 10, 15, 0, 7, 14, 900);
const objects = storedObjects(
  core('ServiceAccount', { name: 'builder', namespace: 'team-a', uid: UID }),
  core('Secret', { name: 'bindme', namespace: 'team-a', uid: 'secret-1' }),
  core('Pod', { name: 'web', namespace: 'team-a', uid: 'pod-1' }, { spec: { serviceAccountName: 'builder' } }),
  core('Pod', { name: 'placed', namespace: 'team-a', uid: 'pod-2' }, { spec: { serviceAccountName: 'builder', nodeName: 'n' } }),
  core('Pod', { name: 'lost', namespace: 'team-a', uid: 'pod-3' }, { spec: { serviceAccountName: 'builder', nodeName: 'gone' } }),
  core('Pod', { name: 'other', namespace: 'team-a', uid: 'pod-4' }, { spec: { serviceAccountName: 'default2' } }),
  core('Node', { name: 'n', uid: 'node-1' }),
);
const hub = 'https://hub.test';

let issuer: TokenIssuer;

beforeAll(async () => {
  const key = parseSigningKey(generateSigningKey());
  issuer = { issuer: hub, key, audiences: [hub], objects };
});

function posted(body: unknown, options: Partial<PostedTokenRequest> = {}): PostedTokenRequest {
  const object = { apiVersion: 'authentication.k8s.io/v1', kind: 'TokenRequest', metadata: {}, ...(body as object | null) };
  return { object, namespace: 'team-a', name: 'builder', manager: 'unknown', admit: () => {}, ...options };
}

function claimsOf(token: string): Readonly<Record<string, unknown>> {
  return JSON.parse(Buffer.from(String(token.split('.')[1]), 'base64url').toString());
}

async function issue(body: unknown) {
  const response = (await createToken(posted(body), issuer, now)) as never as {
    spec: Record<string, unknown>;
    status: { token: string; expirationTimestamp: string };
  };
  return { ...response, claims: claimsOf(response.status.token) };
}

describe('createToken', () => {
  const exchanges = readRecording('token-requests').filter(isContentExchange);

  it.each(exchanges.map((each) => [each.name, each] as const))('returns the recorded result of %s', async (_, { request, response }) => {
    const [, , , , namespace = '', , name = ''] = decodeURIComponent(request.path).split('/');
    const result = await createToken(posted(JSON.parse(request.body ?? '{}'), { namespace, name }), issuer, now).catch(statusOf);
    expect(normalize(result)).toEqual(normalize(JSON.parse(response.body)));
  });

  it('issues tokens that pass verification', async () => {
    const { status } = await issue({ spec: { audiences: ['x', 'y'] } });
    expect(await verifyServiceAccountToken(status.token, ['y', 'z'], issuer, now)).toMatchObject({ type: 'accepted', audiences: ['y'] });
  });

  it.each([
    ['nothing', undefined, {}],
    ['a Secret', { kind: 'Secret', apiVersion: 'v1', name: 'bindme' }, { secret: { name: 'bindme', uid: 'secret-1' } }],
    ['a Node', { kind: 'Node', apiVersion: 'v1', name: 'n' }, { node: { name: 'n', uid: 'node-1' } }],
    ['a Pod', { kind: 'Pod', apiVersion: 'v1', name: 'web' }, { pod: { name: 'web', uid: 'pod-1' } }],
    ['a Pod on a Node', { kind: 'Pod', name: 'placed' }, { pod: { name: 'placed', uid: 'pod-2' }, node: { name: 'n', uid: 'node-1' } }],
    ['a Pod on a missing Node', { kind: 'Pod', name: 'lost' }, { pod: { name: 'lost', uid: 'pod-3' }, node: { name: 'gone' } }],
    ['a Pod of an unknown apiVersion', { kind: 'Pod', apiVersion: 'a/b/c', name: 'web' }, { pod: { name: 'web', uid: 'pod-1' } }],
  ])('binds a token to %s', async (_, boundObjectRef, bound) => {
    const { claims } = await issue({ spec: { boundObjectRef } });
    expect(claims['kubernetes.io']).toEqual({ namespace: 'team-a', serviceaccount: { name: 'builder', uid: UID }, ...bound });
  });

  it('sets the requested lifetime', async () => {
    const { spec, status, claims } = await issue({ spec: { expirationSeconds: 3607, boundObjectRef: { kind: 'Pod', name: 'web' } } });
    expect(claims['exp']).toBe(Math.floor(now / 1000) + 3607);
    expect(spec['expirationSeconds']).toBe(3607);
    expect(Date.parse(status.expirationTimestamp)).toBe(Math.floor(now / 1000) * 1000 + 3_607_000);
  });

  it('checks the namespace before the name, and the service account before the lifetime', async () => {
    const rejection = new Error('rejected');
    const wrong = { metadata: { name: 'nope' }, spec: { expirationSeconds: 1 } };
    const admit = () => {
      throw rejection;
    };
    await expect(createToken(posted(wrong, { admit }), issuer, now)).rejects.toBe(rejection);
    await expect(createToken(posted(wrong), issuer, now)).rejects.toThrow('must match the service account name');
    await expect(createToken(posted({ spec: { expirationSeconds: 1 } }, { name: 'ghost' }), issuer, now)).rejects.toThrow('not found');
    await expect(createToken(posted({ spec: { expirationSeconds: 1, boundObjectRef: {} } }), issuer, now)).rejects.toThrow(
      'less than 10 minutes',
    );
  });

  it('rejects names of Object.prototype as kinds of bound objects', async () => {
    const boundObjectRef = { kind: 'toString', apiVersion: 'v1', name: 'bindme' };
    await expect(createToken(posted({ spec: { boundObjectRef } }), issuer, now)).rejects.toThrow(
      'cannot bind token to object of type /v1, Kind=toString',
    );
  });

  it('rejects a lifetime of 2^63-1 seconds, and reports all its digits', async () => {
    await expect(createToken(posted({ spec: { expirationSeconds: 9223372036854775807n } }), issuer, now)).rejects.toThrow(
      'Invalid value: 9223372036854775807: may not specify a duration larger than 2^32 seconds',
    );
  });
});

/** Returns true for exchanges that depend only on the content of the request, not on decoding, authorization or encoding. */
function isContentExchange({ name, request, response }: Exchange): boolean {
  if (request.path.includes('?') || !/\/serviceaccounts\/[^/]+\/token$/.test(request.path) || request.method !== 'POST') return false;
  if (![201, 400, 404, 409, 422].includes(response.status) || ['ns-missing', 'audiences-long'].includes(name)) return false;
  const isDecoded = !/cannot be handled|unrecognized|\(must be/.test(response.body);
  const isPlain = response.headers['warning'] === undefined && request.headers['user-agent'] === undefined;
  return isDecoded && isPlain && request.headers['content-type'] === 'application/json' && !request.headers['accept']?.includes('yaml');
}

function statusOf(error: unknown): unknown {
  if (error instanceof StatusError) return error.status;
  throw error;
}

/** Replaces values that differ between runs; drops fields that the encoder adds or omits. */
function normalize(value: unknown): unknown {
  return JSON.parse(JSON.stringify(value), (key, field) => {
    if (['creationTimestamp', 'time', 'uid'].includes(key)) return '…';
    if (key === 'token' || (key === 'boundObjectRef' && field === null)) return undefined;
    return key === 'expirationTimestamp' ? String(field).slice(0, 16) : field;
  });
}
