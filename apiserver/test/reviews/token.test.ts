import { beforeAll, describe, expect, it } from '@jest/globals';
import { StatusError } from '../../../src/kubernetes/status.ts';
import { type TokenIssuer, verifyServiceAccountToken } from '../../access/service-account-tokens.ts';
import { generateSigningKey, parseSigningKey } from '../../access/signing-key.ts';
import { createToken, type PostedTokenRequest } from '../../reviews/token.ts';
import { core, storedObjects } from '../access/stored-objects.ts';
import { type Exchange, recorded } from '../recorded.ts';

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
  const key = parseSigningKey(await generateSigningKey());
  issuer = { issuer: hub, key, audiences: [hub], objects };
});

function posted(body: unknown, options: Partial<PostedTokenRequest> = {}): PostedTokenRequest {
  const object = { apiVersion: 'authentication.k8s.io/v1', kind: 'TokenRequest', metadata: {}, ...(body as object | null) };
  return { object, namespace: 'team-a', name: 'builder', manager: 'unknown', admit: () => {}, ...options };
}

function claimsOf(token: string): Readonly<Record<string, unknown>> {
  return JSON.parse(Buffer.from(String(token.split('.')[1]), 'base64url').toString());
}

async function issued(body: unknown) {
  const answer = (await createToken(posted(body), issuer, now)) as never as {
    spec: Record<string, unknown>;
    status: { token: string; expirationTimestamp: string };
  };
  return { ...answer, claims: claimsOf(answer.status.token) };
}

describe('createToken', () => {
  const answered = recorded('token-requests').filter(isAboutContent);

  it.each(answered.map((each) => [each.name, each] as const))('responds as recorded: %s', async (_, { request, response }) => {
    const [, , , , namespace = '', , name = ''] = decodeURIComponent(request.path).split('/');
    const answer = await createToken(posted(JSON.parse(request.body ?? '{}'), { namespace, name }), issuer, now).catch(statusOf);
    expect(normal(answer)).toEqual(normal(JSON.parse(response.body)));
  });

  it('issues tokens that can be verified', async () => {
    const { status } = await issued({ spec: { audiences: ['x', 'y'] } });
    expect(await verifyServiceAccountToken(status.token, ['y', 'z'], issuer, now)).toMatchObject({ type: 'accepted', audiences: ['y'] });
  });

  it.each([
    ['nothing', undefined, {}],
    ['a secret', { kind: 'Secret', apiVersion: 'v1', name: 'bindme' }, { secret: { name: 'bindme', uid: 'secret-1' } }],
    ['a node', { kind: 'Node', apiVersion: 'v1', name: 'n' }, { node: { name: 'n', uid: 'node-1' } }],
    ['a pod', { kind: 'Pod', apiVersion: 'v1', name: 'web' }, { pod: { name: 'web', uid: 'pod-1' } }],
    ['a pod on a node', { kind: 'Pod', name: 'placed' }, { pod: { name: 'placed', uid: 'pod-2' }, node: { name: 'n', uid: 'node-1' } }],
    ['a pod on a missing node', { kind: 'Pod', name: 'lost' }, { pod: { name: 'lost', uid: 'pod-3' }, node: { name: 'gone' } }],
    ['what an odd version names', { kind: 'Pod', apiVersion: 'a/b/c', name: 'web' }, { pod: { name: 'web', uid: 'pod-1' } }],
  ])('binds a token to %s', async (_, boundObjectRef, bound) => {
    const { claims } = await issued({ spec: { boundObjectRef } });
    expect(claims['kubernetes.io']).toEqual({ namespace: 'team-a', serviceaccount: { name: 'builder', uid: UID }, ...bound });
  });

  it('sets the requested lifetime', async () => {
    const { spec, status, claims } = await issued({ spec: { expirationSeconds: 3607, boundObjectRef: { kind: 'Pod', name: 'web' } } });
    expect(claims['exp']).toBe(Math.floor(now / 1000) + 3607);
    expect(spec['expirationSeconds']).toBe(3607);
    expect(Date.parse(status.expirationTimestamp)).toBe(Math.floor(now / 1000) * 1000 + 3_607_000);
  });

  it('checks the namespace before the name, and the service account before the lifetime', async () => {
    const refusal = new Error('refused');
    const wrong = { metadata: { name: 'nope' }, spec: { expirationSeconds: 1 } };
    const admit = () => {
      throw refusal;
    };
    await expect(createToken(posted(wrong, { admit }), issuer, now)).rejects.toBe(refusal);
    await expect(createToken(posted(wrong), issuer, now)).rejects.toThrow('must match the service account name');
    await expect(createToken(posted({ spec: { expirationSeconds: 1 } }, { name: 'ghost' }), issuer, now)).rejects.toThrow('not found');
    await expect(createToken(posted({ spec: { expirationSeconds: 1, boundObjectRef: {} } }), issuer, now)).rejects.toThrow(
      'less than 10 minutes',
    );
  });

  it('rejects names of Object.prototype as kinds', async () => {
    const boundObjectRef = { kind: 'toString', apiVersion: 'v1', name: 'bindme' };
    await expect(createToken(posted({ spec: { boundObjectRef } }), issuer, now)).rejects.toThrow(
      'cannot bind token to object of type /v1, Kind=toString',
    );
  });

  it('rejects lifetimes beyond the range of doubles', async () => {
    await expect(createToken(posted({ spec: { expirationSeconds: 9223372036854775807n } }), issuer, now)).rejects.toThrow(
      'Invalid value: 9223372036854775807: may not specify a duration larger than 2^32 seconds',
    );
  });
});

/** Exchanges in which the request was decoded and allowed, and asked for JSON: what comes before and after is tested elsewhere. */
function isAboutContent({ name, request, response }: Exchange): boolean {
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

/** Without what depends on the run; what the encoder adds or drops is not of interest here. */
function normal(value: unknown): unknown {
  return JSON.parse(JSON.stringify(value), (key, field) => {
    if (['creationTimestamp', 'time', 'uid'].includes(key)) return '…';
    if (key === 'token' || (key === 'boundObjectRef' && field === null)) return undefined;
    return key === 'expirationTimestamp' ? String(field).slice(0, 16) : field;
  });
}
