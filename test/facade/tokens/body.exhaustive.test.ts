// Bodies of token requests.

import { gzipSync } from 'node:zlib';
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { onlyExhaustive } from '../../support/scaled.ts';
import { startSlowProxy } from '../../support/slow-proxy.ts';
import { ACCOUNT_UID } from '../../targets/wire-target.ts';
import { allowingHub, bytesOf, FacadeWorld, TOKEN_PATH, TOKEN_REQUEST, VALID_LINES } from '../facade-world.ts';
import { failureOf, type RawResponse, statusOf } from '../raw-connection.ts';

let world: FacadeWorld;
beforeAll(async () => {
  world = await FacadeWorld.start({ settings: { facadePort: 0 } });
});
afterAll(() => world.close());

const [HOST = '', AUTHORIZATION = ''] = VALID_LINES;
const typed = (type: string | undefined, body: string | Buffer = JSON.stringify(TOKEN_REQUEST), more: readonly string[] = []) =>
  bytesOf({ lines: [HOST, AUTHORIZATION, ...(type === undefined ? [] : [`Content-Type: ${type}`])], body, more });
const post = (body: string | object, query = '') =>
  world.raw(bytesOf({ target: `${TOKEN_PATH}${query}`, body: typeof body === 'string' ? body : JSON.stringify(body) }));
const spec = (more: object) => ({ ...TOKEN_REQUEST, spec: { audiences: ['api'], ...more } });
const responseOf = ({ text }: RawResponse) =>
  JSON.parse(text.slice(text.indexOf('\r\n\r\n') + 4)) as { status: { token: string }; spec: object };
/** Returns the body of the last request to the target. */
const sent = () => JSON.parse(world.tokenRequests.at(-1)?.body ?? 'null') as { metadata: object; spec: object };
/** Sends a request that must not reach the target. */
const withoutTargetRequest = async <T>(request: Promise<T>): Promise<T> => {
  const { length } = world.tokenRequests;
  const response = await request;
  expect(world.tokenRequests).toHaveLength(length);
  return response;
};

describe('request body', () => {
  const yaml = 'kind: TokenRequest\nspec:\n  audiences: [api]\n';
  const protobuf = Buffer.from(
    'azhzAAooChhhdXRoZW50aWNhdGlvbi5rOHMuaW8vdjESDFRva2VuUmVxdWVzdBIfChAKABIAGgAiACoAMgA4AEIAEgUKA2FwaRoECgASABoAIgA=',
    'base64',
  );
  it.each([
    ['no media type', typed(undefined), 201],
    ['YAML', typed('application/yaml', yaml), 201],
    ['YAML of 1 KiB', typed('application/yaml', yaml.padEnd(1 << 10, '#')), 201],
    ['YAML of more than 1 KiB', typed('application/yaml', yaml.padEnd((1 << 10) + 1, '#')), 413],
    ['JSON of more than 1 KiB that is called YAML', typed('application/yaml', JSON.stringify(TOKEN_REQUEST).padEnd(8 << 10)), 201],
    ['JSON of 8 KiB', typed('application/json', JSON.stringify(TOKEN_REQUEST).padEnd(8 << 10)), 201],
    ['JSON of more than 8 KiB', typed('application/json', JSON.stringify(TOKEN_REQUEST).padEnd((8 << 10) + 1)), 413],
    ['protobuf of more than 8 KiB', typed('application/vnd.kubernetes.protobuf', Buffer.alloc((8 << 10) + 1)), 413],
    ['UTF-8', typed('application/json; charset=utf-8'), 201],
    ['UTF-8 without a hyphen', typed('application/json; charset=UTF8'), 201],
    ['US-ASCII', typed('application/json;charset="us-ascii"'), 201],
    ['an empty charset', typed('application/json; charset=""'), 201],
    ['an empty Content-Encoding', typed('application/json', JSON.stringify(TOKEN_REQUEST), ['Content-Encoding:']), 201],
    ['protobuf, as kubectl sends it', typed('application/vnd.kubernetes.protobuf', protobuf), 201],
    ['text', typed('text/plain'), 415],
    ['a form', typed('application/x-www-form-urlencoded'), 415],
    ['a parameter with two values', typed('application/json;a=b;A="c"'), 415],
    ['UTF-16', typed('application/json; charset=utf-16'), 415],
    ['compressed', typed('application/json', gzipSync(JSON.stringify(TOKEN_REQUEST)), ['Content-Encoding: gzip']), 415],
    ['empty', typed('application/json', ''), 400],
    ['cut', typed('application/json', '{"spec":{"audiences":["api"]'), 400],
    ['a byte order mark', typed('application/json', `\ufeff${JSON.stringify(TOKEN_REQUEST)}`), 400],
    ['NaN', typed('application/json', '{"spec":{"audiences":["api"],"expirationSeconds":NaN}}'), 400],
    ['two objects', typed('application/json', `${JSON.stringify(TOKEN_REQUEST)}${JSON.stringify(TOKEN_REQUEST)}`), 400],
    ['a comma too many', typed('application/json', '{"spec":{"audiences":["api"],}}'), 400],
    ['nested', typed('application/json', '['.repeat(8_000)), 400],
    ['nested and closed', typed('application/json', `{"spec":${'['.repeat(4_000)}${']'.repeat(4_000)}}`), 400],
    ['another kind', typed('application/json', JSON.stringify({ ...TOKEN_REQUEST, kind: 'TokenReview' })), 400],
    [
      'another kind with fields of a TokenRequest',
      typed('application/json', JSON.stringify({ ...TOKEN_REQUEST, kind: 'TokenReview', spec: { token: 1 } })),
      400,
    ],
    ['another group', typed('application/json', JSON.stringify({ ...TOKEN_REQUEST, apiVersion: 'v1' })), 400],
  ])('checks the media type, size, syntax and kind of a body: %s', async (_case, bytes, status) => {
    const { length } = world.tokenRequests;
    expect(statusOf(await world.raw(bytes))).toBe(status);
    expect(world.tokenRequests).toHaveLength(status === 201 ? length + 1 : length);
  });

  it.each([
    ['bytes after the object', '{"spec":{"audiences":["api"]}}{"spec":{}}'],
    ['half of a surrogate pair', String.raw`{"spec":{"audiences":["\ud800"]}}`],
    ['an escaped surrogate pair', String.raw`{"spec":{"audiences":["\ud83d\ude00"]}}`],
  ])('rejects JSON that is sent as YAML with %s', async (_case, body) => {
    expect(statusOf(await world.raw(typed('application/yaml', body)))).toBe(400);
  });

  it.each([
    ['CreateOptions', 'authentication.k8s.io/v1'],
    ['DeleteOptions', 'v1'],
    ['Status', 'v1'],
    ['WatchEvent', 'apps/v1'],
    ['TokenRequest', 'authentication.k8s.io/__internal'],
  ])('rejects kinds that every API group has, and internal versions, as not registered: %s', async (kind, apiVersion) => {
    expect(failureOf(await withoutTargetRequest(post({ ...TOKEN_REQUEST, kind, apiVersion })))).toMatchObject({
      code: 400,
      message: expect.stringContaining(`no kind "${kind}" is registered for version "${apiVersion}"`),
    });
  });

  it.each([
    ['a value', 'kind: &a TokenRequest\nmetadata: {name: *a}\n', 2],
    ['a key', 'kind: &a TokenRequest\n\nmetadata: {*a : x}\n', 3],
    ['a merge key', 'kind: TokenRequest\nmetadata:\n  labels: &a {a: b}\n  annotations: {<<: *a}\n', 4],
  ])('rejects a YAML alias, which could repeat a large value: %s', async (_case, text, line) => {
    const response = await withoutTargetRequest(world.raw(typed('application/yaml', text)));
    expect(failureOf(response)).toMatchObject({
      code: 400,
      message: expect.stringContaining(`yaml: line ${line}: aliases are not supported`),
    });
  });

  /** Sends 64 MiB after this head, as fast as the server reads. Returns the bytes that were read before the connection closed. */
  async function sendExcess(head: Buffer, piece: Buffer) {
    const connection = await world.open();
    await connection.write(head);
    let taken = 0;
    while (taken < 64 << 20 && (await connection.write(piece))) taken += piece.length;
    return { response: await connection.read(() => false), taken };
  }

  const WITH_LENGTH = bytesOf({ more: [`Content-Length: ${64 << 20}`], body: '' });
  const CHUNKED = bytesOf({ more: ['Transfer-Encoding: chunked'], body: '' });
  const PIECE = Buffer.alloc(1 << 16, ' ');

  it.each([
    ['with Content-Length', WITH_LENGTH, PIECE],
    ['chunked', CHUNKED, Buffer.from(`10000\r\n${' '.repeat(0x10000)}\r\n`)],
  ])('rejects a body above 8 KiB without reading the rest: %s', async (_case, head, piece) => {
    const { response, taken } = await withoutTargetRequest(sendExcess(head, piece));
    expect(statusOf(response)).toBe(413);
    expect(failureOf(response)).toMatchObject({
      kind: 'Status',
      reason: 'RequestEntityTooLarge',
      message: 'Request entity too large: limit is 8192',
      code: 413,
    });
    expect(response.isClosed).toBe(true);
    // Unread bytes use no memory; some are in kernel buffers.
    expect(taken).toBeLessThan(32 << 20);
  });

  it('delivers the rejection of an excessive body on a slow link', async () => {
    const link = await startSlowProxy(world.port);
    const connection = await world.open({ port: link.port });
    link.delay(250);
    void connection.write(WITH_LENGTH);
    for (let bytes = 0; bytes < 10 << 20; bytes += PIECE.length) void connection.write(PIECE);
    const response = await withoutTargetRequest(connection.read(() => false));
    expect(statusOf(response)).toBe(413);
    expect(failureOf(response)).toMatchObject({ kind: 'Status', code: 413 });
    await link.close();
  });

  onlyExhaustive(() => {
    it('returns 408 for a body that does not arrive within ten seconds', async () => {
      const connection = await world.open();
      void connection.write(bytesOf({ more: ['Content-Length: 1000'], body: '' }));
      // One byte per second. Server and test share a process, so other work delays both.
      let seconds = 0;
      const timer = setInterval(() => {
        seconds += 1;
        void connection.write(' ');
      }, 1_000);
      const response = await withoutTargetRequest(connection.read(() => false)).finally(() => clearInterval(timer));
      expect(statusOf(response)).toBe(408);
      expect(failureOf(response)).toMatchObject({ kind: 'Status', status: 'Failure', code: 408 });
      expect(seconds).toBeLessThanOrEqual(10);
    });
  });
});

describe('unknown and duplicate fields', () => {
  it.each([
    ['a key twice', '{"spec":{"audiences":["api"],"expirationSeconds":600,"expirationSeconds":700}}', 'duplicate field'],
    ['__proto__', '{"spec":{"audiences":["api"],"__proto__":{"polluted":1}},"__proto__":{"polluted":1}}', 'unknown field'],
    ['constructor', '{"spec":{"audiences":["api"]},"constructor":{"prototype":{"polluted":1}}}', 'unknown field'],
    ['attestations', '{"spec":{"audiences":["api"],"attestations":[{"type":"x"}]}}', 'unknown field'],
  ])(
    'warns about an unknown or duplicate field, rejects the request with fieldValidation=Strict, and forwards only known fields: %s',
    async (_case, body, noun) => {
      const warned = await post(body);
      expect(statusOf(warned)).toBe(201);
      expect(warned.text).toMatch(new RegExp(`\\r\\nwarning: 299 - "${noun}`, 'i'));
      expect(Object.keys(sent()).toSorted()).toEqual(['apiVersion', 'kind', 'metadata', 'spec', 'status']);
      expect(Object.keys(sent().spec).toSorted()).toEqual(['audiences', 'boundObjectRef', 'expirationSeconds']);
      const strict = await withoutTargetRequest(post(body, '?fieldValidation=Strict'));
      expect(failureOf(strict)).toMatchObject({ code: 400, message: expect.stringContaining(noun) });
      expect(({} as Record<string, unknown>)['polluted']).toBeUndefined();
    },
  );

  it('returns no status from the request body', async () => {
    const response = await post({ ...TOKEN_REQUEST, status: { token: 'mine', expirationTimestamp: '2099-01-01T00:00:00Z' } });
    expect(responseOf(response).status.token).toMatch(/^eyJ/);
    expect(response.text).not.toContain('mine');
    expect(sent()).not.toHaveProperty('status.token', 'mine');
  });
});

describe('TokenRequest spec', () => {
  it.each([
    ['another namespace', { ...TOKEN_REQUEST, metadata: { namespace: 'other' } }, 400],
    ['a lifetime as a string', spec({ expirationSeconds: '600' }), 400],
    ['a lifetime with a fraction', spec({ expirationSeconds: 600.5 }), 400],
    ['a lifetime beyond the range of numbers', '{"spec":{"audiences":["api"],"expirationSeconds":1e400}}', 400],
    [
      'a lifetime that Kubernetes would extend to a year for a Pod',
      spec({ expirationSeconds: 3607, boundObjectRef: { kind: 'Pod', apiVersion: 'v1', name: 'web' } }),
      422,
    ],
    ['no audiences', spec({ audiences: [] }), 422],
    ['bound to a Node', spec({ boundObjectRef: { kind: 'Node', apiVersion: 'v1', name: 'n' } }), 400],
    [
      'bound to a webhook',
      spec({ boundObjectRef: { kind: 'ValidatingWebhookConfiguration', apiVersion: 'admissionregistration.k8s.io/v1', name: 'n' } }),
      400,
    ],
    ['bound to a Foo', spec({ boundObjectRef: { kind: 'Foo', apiVersion: 'v1', name: 'n' } }), 400],
  ])('rejects an invalid namespace or spec without a request to the target: %s', async (_case, body, status) => {
    expect(statusOf(await withoutTargetRequest(post(body)))).toBe(status);
  });

  it.each([
    ['a short lifetime', spec({ expirationSeconds: 1, boundObjectRef: { kind: 'Foo', apiVersion: 'v1', name: 'n' } })],
    ['another UID', { ...spec({ boundObjectRef: { kind: 'Foo', apiVersion: 'v1', name: 'n' } }), metadata: { uid: 'other' } }],
  ])('reports an unsupported kind of bound object before other mistakes: %s', async (_case, body) => {
    const message = 'cannot bind token to object of type /v1, Kind=Foo';
    expect(failureOf(await withoutTargetRequest(post(body)))).toMatchObject({ code: 400, message });
  });

  it.each([
    ['too short', '599'],
    ['zero', '0'],
    ['negative', '-1'],
    ['too long', '4294967297'],
    ['beyond doubles', '9007199254740993'],
  ])('passes a lifetime to the target unchanged: %s', async (_case, seconds) => {
    await post(`{"spec":{"audiences":["api"],"expirationSeconds":${seconds}}}`);
    expect(world.tokenRequests.at(-1)?.body).toContain(`"expirationSeconds":${seconds},`);
  });

  it.each([
    ['another name of the service account', { metadata: { name: 'nope' } }, { metadata: { name: 'nope' } }],
    [
      'the default in place of a null lifetime',
      { spec: { audiences: ['api'], expirationSeconds: null } },
      { spec: { audiences: ['api'], expirationSeconds: 3600 } },
    ],
    [
      'a bound object whose name is a path',
      spec({ boundObjectRef: { kind: 'Secret', apiVersion: 'v1', name: '../x' } }),
      { spec: { boundObjectRef: { name: '../x' } } },
    ],
  ])('passes metadata and spec to the target: %s', async (_case, body, expected) => {
    await post({ ...TOKEN_REQUEST, ...body });
    expect(sent()).toMatchObject(expected);
  });

  it('rejects 1,001 owner references', async () => {
    const withOwners = (count: number) => ({ ...TOKEN_REQUEST, metadata: { ownerReferences: Array.from({ length: count }, () => ({})) } });
    expect(statusOf(await post(withOwners(1_000)))).toBe(201);
    expect(failureOf(await withoutTargetRequest(post(withOwners(1_001))))).toMatchObject({
      code: 422,
      message: expect.stringContaining('metadata.ownerReferences: Too many: 1001: must have at most 1000 items'),
    });
  });

  it('returns 409 for another service account of the same name', async () => {
    const response = await post({ ...TOKEN_REQUEST, metadata: { uid: 'another' } });
    expect(failureOf(response)).toMatchObject({
      code: 409,
      reason: 'Conflict',
      // The target ignores the UID; the response has the message of a target that checks it.
      message: `Operation cannot be fulfilled on TokenRequest.authentication.k8s.io "deployer": the UID in the token request (another) does not match the UID of the service account (${ACCOUNT_UID})`,
    });
    expect(sent()).toMatchObject({ metadata: { uid: 'another' } });
    expect(statusOf(await post({ ...TOKEN_REQUEST, metadata: { uid: ACCOUNT_UID } }))).toBe(201);
  });

  it.each([
    ['400 audiences', Array.from({ length: 400 }, (_, index) => `audience-${index}`)],
    ['a long audience', ['a'.repeat(8_000)]],
    ['control characters', ['a\u0000b\u001f', '<&>']],
  ])('accepts audiences of any form: %s', async (_case, audiences) => {
    const response = await post(spec({ audiences }));
    expect(statusOf(response)).toBe(201);
    expect(responseOf(response).spec).toMatchObject({ audiences });
  });
});

describe('protected service accounts and audiences', () => {
  it('rejects an audience that the façade accepts in the tokens of callers', async () => {
    const hub = allowingHub({ TokenReview: () => ({ authenticated: true, user: { username: 'alice' }, audiences: ['facade'] }) });
    const other = await FacadeWorld.start({ hub, settings: { facadePort: 0, facadeAudiences: ['facade'] } });
    expect(await other.post(spec({ audiences: ['api', 'facade'] }))).toMatchObject({ status: 403 });
    expect(other.target.requests).toEqual([]);
    await other.close();
  });

  it('rejects an audience that is reserved for tokens of Purser itself', async () => {
    const other = await FacadeWorld.start();
    const response = await other.post(spec({ audiences: ['api', 'purser:https://10.0.0.1:6443'] }));
    expect(response).toMatchObject({ status: 403 });
    expect(JSON.stringify(response)).toContain("is reserved for Purser's own tokens");
    expect(other.target.requests).toEqual([]);
    await other.close();
  });

  it('rejects a token request for Purser’s own service account', async () => {
    const other = await FacadeWorld.start();
    const path = '/orchestrator/prod-eu/api/v1/namespaces/purser-system/serviceaccounts/purser/token';
    expect(await other.post(TOKEN_REQUEST, { path })).toMatchObject({ status: 403 });
    expect(other.tokenRequests).toEqual([]);
    expect(await other.post(TOKEN_REQUEST, { path: `${path}?dryRun=All` })).toMatchObject({ status: 403 });
    await other.close();
  });

  it('reviews no resource name of a whole cluster or set for a protected namespace, and returns 403', async () => {
    const names: string[] = [];
    const hub = allowingHub({
      SubjectAccessReview: ({ spec: { resourceAttributes } }) => {
        names.push(resourceAttributes['name'] ?? '');
        return { allowed: ['prod-eu', 'set:prod'].includes(resourceAttributes['name'] ?? '') };
      },
    });
    const other = await FacadeWorld.start({ hub });
    const path = '/orchestrator/prod-eu/api/v1/namespaces/kube-system/serviceaccounts/deployer/token';
    expect(await other.post(TOKEN_REQUEST, { path })).toMatchObject({ status: 403 });
    expect(names).toEqual(['prod-eu', 'set:-'].flatMap((scope) => [`${scope}/kube-system/deployer`, `${scope}/kube-system`]));
    await other.close();
  });
});
