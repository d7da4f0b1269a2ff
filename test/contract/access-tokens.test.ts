// TokenRequests: the order of checks, the claims of tokens, and the invalidation of tokens.

import { createPublicKey, type JsonWebKey, verify } from 'node:crypto';
import { beforeAll, describe, expect, it } from '@jest/globals';
import { eventually } from './eventually.ts';
import { createSender, type KubeResponse, outcome } from './requests.ts';
import { contractServer } from './server.ts';
import { create } from './world.ts';

const server = contractServer();
const send = createSender(server);
const NAMESPACE_PATH = '/api/v1/namespaces/tokens';
const uids: Record<string, string> = {};

beforeAll(async () => {
  await createObject('/api/v1/namespaces', { metadata: { name: 'tokens' } });
  await createObject('/api/v1/nodes', { metadata: { name: 'node-1' } });
  for (const name of ['robot', 'other']) uids[name] = await createObject(`${NAMESPACE_PATH}/serviceaccounts`, { metadata: { name } });
  uids['anchor'] = await createObject(`${NAMESPACE_PATH}/secrets`, { metadata: { name: 'anchor' } });
  for (const [name, account, node] of [
    ['loose', 'robot', ''],
    ['placed', 'robot', 'node-1'],
    ['lost', 'robot', 'no-such-node'],
    ['foreign', 'other', ''],
  ] as const)
    uids[name] = await createObject(`${NAMESPACE_PATH}/pods`, pod(name, account, node));
});

describe('validation of a TokenRequest', () => {
  const short = { expirationSeconds: 1 };
  it.each([
    [
      'a name other than that of the service account',
      'ghost',
      { metadata: { name: 'robot' }, spec: short },
      /^422 Invalid: .*metadata\.name: Invalid value: "robot": must match the service account name if specified$/,
    ],
    ['a missing service account', 'ghost', { metadata: { uid: 'x' }, spec: short }, /^404 NotFound: serviceaccounts "ghost" not found$/],
    [
      'another UID',
      'robot',
      { metadata: { uid: 'x' }, spec: short },
      /^409 Conflict: .*the UID in the token request \(x\) does not match the UID of the service account/,
    ],
    [
      'a lifetime below ten minutes',
      'robot',
      { spec: { ...short, boundObjectRef: { kind: 'Nothing' } } },
      /^422 Invalid: TokenRequest\.authentication\.k8s\.io "" is invalid: spec\.expirationSeconds: Invalid value: 1: may not specify a duration less than 10 minutes$/,
    ],
    [
      'a bound object of an unsupported kind',
      'robot',
      { spec: { boundObjectRef: { kind: 'Nothing', uid: 'x' } } },
      /^400 BadRequest: cannot bind token to object of type \/, Kind=Nothing$/,
    ],
    [
      'a bound Pod of another service account',
      'robot',
      { spec: { boundObjectRef: { kind: 'Pod', name: 'foreign', uid: 'x' } } },
      /^400 BadRequest: cannot bind token for serviceaccount "robot" to pod running with different serviceaccount name\.$/,
    ],
    [
      'another UID of the bound object',
      'robot',
      { spec: { boundObjectRef: { kind: 'Secret', name: 'anchor', uid: 'x' } } },
      /^409 Conflict: Operation cannot be fulfilled on Secret "anchor": the UID in the bound object reference \(x\) does not match the UID in record\. The object might have been deleted and then recreated$/,
    ],
    [
      'a bound Node that does not exist',
      'robot',
      { spec: { boundObjectRef: { kind: 'Node', name: 'nowhere' } } },
      /^404 NotFound: nodes "nowhere" not found$/,
    ],
    [
      'an invalid name of the bound object',
      'robot',
      { spec: { boundObjectRef: { kind: 'Pod', name: 'a/b' } } },
      /^400 BadRequest: Name parameter invalid: "a\/b": may not contain '\/'$/,
    ],
    ['a service account without a name', '', {}, /^400 BadRequest: name must be provided$/],
  ])('rejects a TokenRequest with %s', async (_, account, body, expected) => {
    expect(outcome(await send(`${NAMESPACE_PATH}/serviceaccounts/${account}/token`, { body }))).toMatch(expected);
  });

  it.each([
    [600, 201],
    [599, 422],
    [4_294_967_296, 201],
    [4_294_967_297, 422],
    [0, 422],
    [-1, 422],
  ])('responds to a lifetime of %d seconds with %d', async (expirationSeconds, status) => {
    expect((await request('robot', { expirationSeconds })).status).toBe(status);
  });

  it.each([
    ['600.5', 'json: cannot unmarshal number 600.5 into Go struct field TokenRequestSpec.spec.expirationSeconds of type int64'],
    ['"600"', 'json: cannot unmarshal string into Go struct field TokenRequestSpec.spec.expirationSeconds of type int64'],
    [
      '9223372036854775808',
      'json: cannot unmarshal number 9223372036854775808 into Go struct field TokenRequestSpec.spec.expirationSeconds of type int64',
    ],
  ])('rejects expirationSeconds: %s, which is not an int64', async (seconds, problem) => {
    const response = await send(`${NAMESPACE_PATH}/serviceaccounts/robot/token`, { body: `{"spec":{"expirationSeconds":${seconds}}}` });
    expect(outcome(response)).toBe(`400 BadRequest: TokenRequest in version "v1" cannot be handled as a TokenRequest: ${problem}`);
  });

  it.each(['GET', 'PUT', 'PATCH', 'DELETE'])('rejects the method %s', async (method) => {
    const body = method === 'GET' || method === 'DELETE' ? {} : { body: {} };
    const response = await send(`${NAMESPACE_PATH}/serviceaccounts/robot/token`, { method, ...body });
    expect(outcome(response)).toBe('405 MethodNotAllowed: the server does not allow this method on the requested resource');
  });
});

describe('service account token', () => {
  const basics = { iss: 'https://hub.test', aud: ['https://hub.test'], sub: 'system:serviceaccount:tokens:robot' };

  it.each([
    ['no object', {}, 3600, {}],
    ['a Secret', { boundObjectRef: { kind: 'Secret', name: 'anchor' } }, 3600, { secret: ['anchor'] }],
    ['a Node', { boundObjectRef: { kind: 'Node', name: 'node-1' }, expirationSeconds: 3607 }, 3607, { node: ['node-1'] }],
    ['a Pod', { boundObjectRef: { apiVersion: 'v1', kind: 'Pod', name: 'loose' }, expirationSeconds: 700 }, 700, { pod: ['loose'] }],
    ['a Pod on a Node', { boundObjectRef: { kind: 'Pod', name: 'placed' } }, 3600, { node: ['node-1'], pod: ['placed'] }],
  ] as const)('has the expected claims if the token is bound to %s', async (_, spec, seconds, bound) => {
    const response = await request('robot', spec);
    const claims = decodeClaims(response);
    const objects = Object.entries(bound).map(([kind, [name]]) => [kind, { name, uid: expect.any(String) }]);
    expect(claims).toEqual({
      ...basics,
      exp: claims.iat + seconds,
      iat: expect.any(Number),
      nbf: claims.iat,
      jti: expect.stringMatching(/^[0-9a-f-]{36}$/),
      'kubernetes.io': { namespace: 'tokens', serviceaccount: { name: 'robot', uid: uids['robot'] }, ...Object.fromEntries(objects) },
    });
    expect(Object.keys(claims)).toEqual(['aud', 'exp', 'iat', 'iss', 'jti', 'kubernetes.io', 'nbf', 'sub']);
    expect([seconds, seconds - 1]).toContain(secondsLeft(response));
  });

  it('names a missing Node in the claims of a token bound to a Pod on that Node', async () => {
    const { 'kubernetes.io': kube } = decodeClaims(await request('robot', { boundObjectRef: { kind: 'Pod', name: 'lost' } }));
    expect(kube['node']).toEqual({ name: 'no-such-node' });
  });

  it('has a signature that a published key of the server verifies', async () => {
    const { body } = await send('/openid/v1/jwks');
    const [header = '', claims = '', signature = ''] = tokenOf(await request('robot', {})).split('.');
    const { alg, kid, ...rest } = JSON.parse(Buffer.from(header, 'base64url').toString()) as { alg: string; kid: string };
    expect(rest).toEqual({});
    const key = (body['keys'] as (JsonWebKey & { kid: string; alg: string; use: string })[]).find((each) => each.kid === kid);
    expect(key).toMatchObject({ alg, use: 'sig' });
    const publicKey = createPublicKey({ key: key as JsonWebKey, format: 'jwk' });
    const verifyKey = { key: publicKey, dsaEncoding: 'ieee-p1363' } as const;
    expect(verify('sha256', Buffer.from(`${header}.${claims}`), verifyKey, Buffer.from(signature, 'base64url'))).toBe(true);
  });

  it('returns the metadata of the TokenRequest', async () => {
    const metadata = { labels: { a: 'b' }, annotations: { c: 'd' }, generateName: 'g-', finalizers: ['x.y/z'], resourceVersion: '7' };
    const { body } = await send(`${NAMESPACE_PATH}/serviceaccounts/robot/token?fieldManager=me`, {
      body: { metadata, spec: { audiences: ['x', ''] } },
    });
    expect(body.metadata).toMatchObject({ ...metadata, name: 'robot', namespace: 'tokens', uid: uids['robot'] });
    expect(body.metadata.managedFields).toMatchObject([{ manager: 'me', subresource: 'token' }]);
    expect(body['spec']).toEqual({ audiences: ['x', ''], expirationSeconds: 3600, boundObjectRef: null });
  });
});

describe('authentication with a service account token', () => {
  // The tokens are not used earlier, because kube-apiserver caches authenticated tokens.
  it.each([
    ['Secret', { kind: 'Secret', name: 'short' }, 'secrets', { metadata: { name: 'short' } }],
    ['Pod', { kind: 'Pod', name: 'short' }, 'pods', undefined],
    ['service account', undefined, 'serviceaccounts', undefined],
  ])('rejects tokens bound to a %s that is deleted, even after its re-creation', async (_, boundObjectRef, plural, content) => {
    const account = `brief-${plural}`;
    await createObject(`${NAMESPACE_PATH}/serviceaccounts`, { metadata: { name: account } });
    const object = plural === 'serviceaccounts' ? { metadata: { name: account } } : (content ?? pod('short', account, ''));
    if (boundObjectRef) await createObject(`${NAMESPACE_PATH}/${plural}`, object);
    const [forDeleted, forRecreated] = [0, 1].map(() => request(account, boundObjectRef ? { boundObjectRef } : {}));
    const [first, second] = [tokenOf(await (forDeleted as Promise<KubeResponse>)), tokenOf(await (forRecreated as Promise<KubeResponse>))];
    const name = boundObjectRef?.name ?? account;
    await send(`${NAMESPACE_PATH}/${plural}/${name}?gracePeriodSeconds=0`, { method: 'DELETE' });
    await eventually(async () => expect((await send(`${NAMESPACE_PATH}/${plural}/${name}`)).status).toBe(404));
    await eventually(async () => expect((await send('/version', { as: first })).status).toBe(401));
    await createObject(`${NAMESPACE_PATH}/${plural}`, object);
    expect(outcome(await send('/version', { as: second }))).toBe('401 Unauthorized: Unauthorized');
  });
});

describe('negotiation for a TokenRequest and a TokenReview', () => {
  const REVIEWS = '/apis/authentication.k8s.io/v1/tokenreviews';
  const as = (kind: string, version = 'v1') => ({ accept: `application/json;as=${kind};v=${version};g=meta.k8s.io` });

  it.each(['v1', 'v1beta1'])('returns PartialObjectMetadata %s if requested', async (version) => {
    const headers = as('PartialObjectMetadata', version);
    const responses = [
      await send(`${NAMESPACE_PATH}/serviceaccounts/robot/token`, { headers, body: { spec: { audiences: ['a'] } } }),
      await send(REVIEWS, { headers, body: { spec: { token: 'x' } } }),
    ];
    for (const { status, body } of responses) {
      expect(status).toBe(201);
      expect(Object.keys(body)).toEqual(['kind', 'apiVersion', 'metadata']);
      expect(body).toMatchObject({ kind: 'PartialObjectMetadata', apiVersion: `meta.k8s.io/${version}` });
    }
  });

  it.each([
    [`${NAMESPACE_PATH}/serviceaccounts/robot/token`, { spec: { audiences: ['a'] } }, 'TokenRequest'],
    [REVIEWS, { spec: { token: 'x' } }, 'TokenReview'],
  ])('rejects PartialObjectMetadataList and Table at %s', async (path, body, kind) => {
    const message = `you requested PartialObjectMetadataList, but the requested object is not a list (*authentication.${kind})`;
    expect(outcome(await send(path, { headers: as('PartialObjectMetadataList'), body }))).toBe(`406 NotAcceptable: ${message}`);
    expect((await send(path, { headers: as('Table'), body })).status).toBe(406);
  });
});

function request(account: string, spec: object): Promise<KubeResponse> {
  return send(`${NAMESPACE_PATH}/serviceaccounts/${account}/token`, { body: { spec } });
}

interface Claims {
  readonly iat: number;
  readonly exp: number;
  readonly 'kubernetes.io': Readonly<Record<string, unknown>>;
}

function decodeClaims(response: KubeResponse): Claims {
  return JSON.parse(Buffer.from(tokenOf(response).split('.')[1] ?? '', 'base64url').toString()) as Claims;
}

function tokenOf({ body }: KubeResponse): string {
  return (body['status'] as { readonly token: string }).token;
}

/** Returns the lifetime in the response, in seconds; the token is signed a moment later. */
function secondsLeft(response: KubeResponse): number {
  const { expirationTimestamp } = response.body['status'] as { readonly expirationTimestamp: string };
  return Date.parse(expirationTimestamp) / 1000 - decodeClaims(response).iat;
}

async function createObject(path: string, body: object): Promise<string> {
  return (await create(server, path, body)).metadata.uid;
}

function pod(name: string, serviceAccountName: string, nodeName: string): object {
  const containers = [{ name: 'main', image: 'registry.test/main' }];
  return {
    metadata: { name },
    spec: { serviceAccountName, ...(nodeName !== '' && { nodeName }), terminationGracePeriodSeconds: 0, containers },
  };
}
