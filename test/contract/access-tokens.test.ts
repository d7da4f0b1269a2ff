// TokenRequest: which check comes first, what the token says, and when it ends.

import { createPublicKey, type JsonWebKey, verify } from 'node:crypto';
import { beforeAll, describe, expect, it } from '@jest/globals';
import { eventually } from './eventually.ts';
import { type Answer, outcome } from './objects.ts';
import { askOf } from './requests.ts';
import { contractServer } from './server.ts';

const server = contractServer();
const ask = askOf(server);
const HERE = '/api/v1/namespaces/tokens';
const uids: Record<string, string> = {};

beforeAll(async () => {
  await make('/api/v1/namespaces', { metadata: { name: 'tokens' } });
  await make('/api/v1/nodes', { metadata: { name: 'node-1' } });
  for (const name of ['robot', 'other']) uids[name] = await make(`${HERE}/serviceaccounts`, { metadata: { name } });
  uids['anchor'] = await make(`${HERE}/secrets`, { metadata: { name: 'anchor' } });
  for (const [name, account, node] of [
    ['loose', 'robot', ''],
    ['placed', 'robot', 'node-1'],
    ['lost', 'robot', 'no-such-node'],
    ['foreign', 'other', ''],
  ] as const)
    uids[name] = await make(`${HERE}/pods`, pod(name, account, node));
}, 60_000);

describe('the checks of a token request', () => {
  const short = { expirationSeconds: 1 };
  it.each([
    [
      'a name that is not the account',
      'ghost',
      { metadata: { name: 'robot' }, spec: short },
      /^422 Invalid: .*metadata\.name: Invalid value: "robot": must match the service account name if specified$/,
    ],
    ['a missing account', 'ghost', { metadata: { uid: 'x' }, spec: short }, /^404 NotFound: serviceaccounts "ghost" not found$/],
    [
      'another uid',
      'robot',
      { metadata: { uid: 'x' }, spec: short },
      /^409 Conflict: .*the UID in the token request \(x\) does not match the UID of the service account/,
    ],
    [
      'a short life',
      'robot',
      { spec: { ...short, boundObjectRef: { kind: 'Nothing' } } },
      /^422 Invalid: TokenRequest\.authentication\.k8s\.io "" is invalid: spec\.expirationSeconds: Invalid value: 1: may not specify a duration less than 10 minutes$/,
    ],
    [
      'a kind that nothing is bound to',
      'robot',
      { spec: { boundObjectRef: { kind: 'Nothing', uid: 'x' } } },
      /^400 BadRequest: cannot bind token to object of type \/, Kind=Nothing$/,
    ],
    [
      'a bound pod of another account',
      'robot',
      { spec: { boundObjectRef: { kind: 'Pod', name: 'foreign', uid: 'x' } } },
      /^400 BadRequest: cannot bind token for serviceaccount "robot" to pod running with different serviceaccount name\.$/,
    ],
    [
      'another uid of the bound object',
      'robot',
      { spec: { boundObjectRef: { kind: 'Secret', name: 'anchor', uid: 'x' } } },
      /^409 Conflict: Operation cannot be fulfilled on Secret "anchor": the UID in the bound object reference \(x\) does not match the UID in record\. The object might have been deleted and then recreated$/,
    ],
    [
      'a bound node that is not there',
      'robot',
      { spec: { boundObjectRef: { kind: 'Node', name: 'nowhere' } } },
      /^404 NotFound: nodes "nowhere" not found$/,
    ],
    [
      'a bound name that is no name',
      'robot',
      { spec: { boundObjectRef: { kind: 'Pod', name: 'a/b' } } },
      /^400 BadRequest: Name parameter invalid: "a\/b": may not contain '\/'$/,
    ],
    ['an account without a name', '', {}, /^400 BadRequest: name must be provided$/],
  ])('find %s', async (_, account, body, expected) => {
    expect(outcome(await ask(`${HERE}/serviceaccounts/${account}/token`, { body }))).toMatch(expected);
  });

  it.each([
    [600, 201],
    [599, 422],
    [4_294_967_296, 201],
    [4_294_967_297, 422],
    [0, 422],
    [-1, 422],
  ])('take a life of %d seconds with %d', async (expirationSeconds, status) => {
    expect((await request('robot', { expirationSeconds })).status).toBe(status);
  });

  it.each([
    ['600.5', 'json: cannot unmarshal number 600.5 into Go struct field TokenRequestSpec.spec.expirationSeconds of type int64'],
    ['"600"', 'json: cannot unmarshal string into Go struct field TokenRequestSpec.spec.expirationSeconds of type int64'],
    [
      '9223372036854775808',
      'json: cannot unmarshal number 9223372036854775808 into Go struct field TokenRequestSpec.spec.expirationSeconds of type int64',
    ],
  ])('cannot read %s seconds', async (seconds, problem) => {
    const answer = await ask(`${HERE}/serviceaccounts/robot/token`, { body: `{"spec":{"expirationSeconds":${seconds}}}` });
    expect(outcome(answer)).toBe(`400 BadRequest: TokenRequest in version "v1" cannot be handled as a TokenRequest: ${problem}`);
  });

  it.each(['GET', 'PUT', 'PATCH', 'DELETE'])('allow no %s', async (method) => {
    const body = method === 'GET' || method === 'DELETE' ? {} : { body: {} };
    const answer = await ask(`${HERE}/serviceaccounts/robot/token`, { method, ...body });
    expect(outcome(answer)).toBe('405 MethodNotAllowed: the server does not allow this method on the requested resource');
  });
});

describe('a token', () => {
  const basics = { iss: 'https://hub.test', aud: ['https://hub.test'], sub: 'system:serviceaccount:tokens:robot' };

  it.each([
    ['nothing', {}, 3600, {}],
    ['a secret', { boundObjectRef: { kind: 'Secret', name: 'anchor' } }, 3600, { secret: ['anchor'] }],
    ['a node', { boundObjectRef: { kind: 'Node', name: 'node-1' }, expirationSeconds: 3607 }, 3607, { node: ['node-1'] }],
    ['a pod', { boundObjectRef: { apiVersion: 'v1', kind: 'Pod', name: 'loose' }, expirationSeconds: 700 }, 700, { pod: ['loose'] }],
    ['a placed pod', { boundObjectRef: { kind: 'Pod', name: 'placed' } }, 3600, { node: ['node-1'], pod: ['placed'] }],
  ] as const)('bound to %s says so', async (_, spec, seconds, bound) => {
    const answer = await request('robot', spec);
    const claims = claimsOf(answer);
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
    expect([seconds, seconds - 1]).toContain(secondsLeft(answer));
  });

  it('of a pod on a node that is gone still names the node', async () => {
    const { 'kubernetes.io': kube } = claimsOf(await request('robot', { boundObjectRef: { kind: 'Pod', name: 'lost' } }));
    expect(kube['node']).toEqual({ name: 'no-such-node' });
  });

  it('is signed with a key that the server publishes', async () => {
    const { body } = await ask('/openid/v1/jwks');
    const [header = '', claims = '', signature = ''] = tokenOf(await request('robot', {})).split('.');
    const { alg, kid, ...rest } = JSON.parse(Buffer.from(header, 'base64url').toString()) as { alg: string; kid: string };
    expect(rest).toEqual({});
    const key = (body['keys'] as (JsonWebKey & { kid: string; alg: string; use: string })[]).find((each) => each.kid === kid);
    expect(key).toMatchObject({ alg, use: 'sig' });
    const publicKey = createPublicKey({ key: key as JsonWebKey, format: 'jwk' });
    const how = { key: publicKey, dsaEncoding: 'ieee-p1363' } as const;
    expect(verify('sha256', Buffer.from(`${header}.${claims}`), how, Buffer.from(signature, 'base64url'))).toBe(true);
  });

  it('keeps what the request says of itself', async () => {
    const metadata = { labels: { a: 'b' }, annotations: { c: 'd' }, generateName: 'g-', finalizers: ['x.y/z'], resourceVersion: '7' };
    const { body } = await ask(`${HERE}/serviceaccounts/robot/token?fieldManager=me`, {
      body: { metadata, spec: { audiences: ['x', ''] } },
    });
    expect(body.metadata).toMatchObject({ ...metadata, name: 'robot', namespace: 'tokens', uid: uids['robot'] });
    expect(body.metadata.managedFields).toMatchObject([{ manager: 'me', subresource: 'token' }]);
    expect(body['spec']).toEqual({ audiences: ['x', ''], expirationSeconds: 3600, boundObjectRef: null });
  });
});

describe('a token is refused', () => {
  /** A token is not used before its time has come: servers remember for a while what they have accepted. */
  it.each([
    ['when its secret is gone', { kind: 'Secret', name: 'short' }, 'secrets', { metadata: { name: 'short' } }],
    ['when its pod is gone', { kind: 'Pod', name: 'short' }, 'pods', undefined],
    ['when its account is gone', undefined, 'serviceaccounts', undefined],
  ])(
    '%s, and when there is another of that name',
    async (_, boundObjectRef, plural, content) => {
      const account = `brief-${plural}`;
      await make(`${HERE}/serviceaccounts`, { metadata: { name: account } });
      const object = plural === 'serviceaccounts' ? { metadata: { name: account } } : (content ?? pod('short', account, ''));
      if (boundObjectRef) await make(`${HERE}/${plural}`, object);
      const [gone, replaced] = [0, 1].map(() => request(account, boundObjectRef ? { boundObjectRef } : {}));
      const [first, second] = [tokenOf(await (gone as Promise<Answer>)), tokenOf(await (replaced as Promise<Answer>))];
      const name = boundObjectRef?.name ?? account;
      await ask(`${HERE}/${plural}/${name}?gracePeriodSeconds=0`, { method: 'DELETE' });
      await eventually(async () => expect((await ask(`${HERE}/${plural}/${name}`)).status).toBe(404));
      await eventually(async () => expect((await ask('/version', { as: first })).status).toBe(401));
      await make(`${HERE}/${plural}`, object);
      expect(outcome(await ask('/version', { as: second }))).toBe('401 Unauthorized: Unauthorized');
    },
    30_000,
  );
});

describe('the answer to what is never stored', () => {
  const REVIEWS = '/apis/authentication.k8s.io/v1/tokenreviews';
  const as = (kind: string, version = 'v1') => ({ accept: `application/json;as=${kind};v=${version};g=meta.k8s.io` });

  it.each(['v1', 'v1beta1'])('is metadata alone for those who ask for no more: %s', async (version) => {
    const headers = as('PartialObjectMetadata', version);
    const answers = [
      await ask(`${HERE}/serviceaccounts/robot/token`, { headers, body: { spec: { audiences: ['a'] } } }),
      await ask(REVIEWS, { headers, body: { spec: { token: 'x' } } }),
    ];
    for (const { status, body } of answers) {
      expect(status).toBe(201);
      expect(Object.keys(body)).toEqual(['kind', 'apiVersion', 'metadata']);
      expect(body).toMatchObject({ kind: 'PartialObjectMetadata', apiVersion: `meta.k8s.io/${version}` });
    }
  });

  it.each([
    [`${HERE}/serviceaccounts/robot/token`, { spec: { audiences: ['a'] } }, 'TokenRequest'],
    [REVIEWS, { spec: { token: 'x' } }, 'TokenReview'],
  ])('is no list, at %s', async (path, body, kind) => {
    const words = `you requested PartialObjectMetadataList, but the requested object is not a list (*authentication.${kind})`;
    expect(outcome(await ask(path, { headers: as('PartialObjectMetadataList'), body }))).toBe(`406 NotAcceptable: ${words}`);
    expect((await ask(path, { headers: as('Table'), body })).status).toBe(406);
  });
});

function request(account: string, spec: object): Promise<Answer> {
  return ask(`${HERE}/serviceaccounts/${account}/token`, { body: { spec } });
}

interface Claims {
  readonly iat: number;
  readonly exp: number;
  readonly 'kubernetes.io': Readonly<Record<string, unknown>>;
}

function claimsOf(answer: Answer): Claims {
  return JSON.parse(Buffer.from(tokenOf(answer).split('.')[1] ?? '', 'base64url').toString()) as Claims;
}

function tokenOf({ body }: Answer): string {
  return (body['status'] as { readonly token: string }).token;
}

/** Returns the lifetime in the response, in seconds; the token is signed a moment later. */
function secondsLeft(answer: Answer): number {
  const { expirationTimestamp } = answer.body['status'] as { readonly expirationTimestamp: string };
  return Date.parse(expirationTimestamp) / 1000 - claimsOf(answer).iat;
}

async function make(path: string, body: object): Promise<string> {
  const answer = await ask(path, { body });
  if (answer.status !== 201) throw new Error(`POST ${path} answered ${JSON.stringify(answer)}`);
  return answer.body.metadata.uid;
}

function pod(name: string, serviceAccountName: string, nodeName: string): object {
  const containers = [{ name: 'main', image: 'registry.test/main' }];
  return {
    metadata: { name },
    spec: { serviceAccountName, ...(nodeName !== '' && { nodeName }), terminationGracePeriodSeconds: 0, containers },
  };
}
