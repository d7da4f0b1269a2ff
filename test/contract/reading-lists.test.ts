// Lists: revision, pages, order, and validation of parameters.

import { beforeAll, describe, expect, it } from '@jest/globals';
import { createAdmin, definition, messageOf } from './admin.ts';
import { contractServer } from './server.ts';

const server = contractServer();
const admin = createAdmin(server);
const MAPS = '/api/v1/namespaces/lists/configmaps';
const WIDGETS = '/apis/lists.test/v1/widgets';
const anything = { type: 'object', 'x-kubernetes-preserve-unknown-fields': true };

/** Collections of a built-in kind and of a custom resource. Each has a to e at the revision in `then`; later, f is created and b deleted. */
const COLLECTIONS = [
  ['configmaps', MAPS],
  ['widgets', WIDGETS],
] as const;
const then = new Map<string, string>();

beforeAll(async () => {
  for (const name of ['lists', 'lists-a', 'lists-b']) await admin.create('/api/v1/namespaces', { metadata: { name } });
  const version = { name: 'v1', served: true, storage: true, schema: { openAPIV3Schema: anything } };
  await admin.define(definition('lists.test', 'Widget', 'Cluster', [version]), WIDGETS);
  for (const [, path] of COLLECTIONS) {
    for (const name of ['c', 'a', 'e', 'b', 'd']) await admin.create(path, objectAt(path, name, { odd: String('ace'.includes(name)) }));
    then.set(path, (await admin.list(path)).metadata.resourceVersion);
    await admin.create(path, objectAt(path, 'f'));
    await admin.delete(`${path}/b`);
  }
});

function objectAt(path: string, name: string, labels: object = {}): object {
  const type = path.startsWith('/api/') ? { apiVersion: 'v1', kind: 'ConfigMap' } : { apiVersion: 'lists.test/v1', kind: 'Widget' };
  return { ...type, metadata: { name, labels } };
}

/** Encodes a continue token, valid or not. */
function encodeToken(content: unknown): string {
  return Buffer.from(typeof content === 'string' ? content : JSON.stringify(content)).toString('base64url');
}

function decodeToken(continueToken = ''): unknown {
  return JSON.parse(Buffer.from(continueToken, 'base64url').toString());
}

describe.each(COLLECTIONS)('revision of a list of %s', (_, path) => {
  const NEW = ['a', 'c', 'd', 'e', 'f'];
  const OLD = ['a', 'b', 'c', 'd', 'e'];

  it.each([
    ['the latest revision without resourceVersion', '', '', NEW],
    ['the first page of the latest revision without resourceVersion', '', 'limit=2', NEW.slice(0, 2)],
    ['the latest revision for an empty resourceVersion', '', 'resourceVersion=&resourceVersionMatch=', NEW],
    ['all objects of any revision for 0, regardless of the limit', '0', 'limit=2', NEW],
    ['all objects of any revision for 0 with NotOlderThan, regardless of the limit', '0', 'limit=2&resourceVersionMatch=NotOlderThan', NEW],
    ['a revision newer than N', 'then', '', NEW],
    ['a revision newer than N with NotOlderThan', 'then', 'resourceVersionMatch=NotOlderThan', NEW],
    ['the first page of a revision newer than N with NotOlderThan', 'then', 'resourceVersionMatch=NotOlderThan&limit=3', NEW.slice(0, 3)],
    ['revision N with a limit', 'then', 'limit=100', OLD],
    ['the first page of revision N with a limit', 'then', 'limit=2', OLD.slice(0, 2)],
    ['a revision newer than N with a negative limit', 'then', 'limit=-1', NEW],
    ['a revision newer than N with a limit and a selected name', 'then', 'limit=5&fieldSelector=metadata.name%3Df', ['f']],
    ['revision N with Exact and a selected name', 'then', 'resourceVersionMatch=Exact&fieldSelector=metadata.name%3Db', ['b']],
    ['revision N with Exact', 'then', 'resourceVersionMatch=Exact', OLD],
    ['the first page of revision N with Exact', 'then', 'resourceVersionMatch=Exact&limit=3', OLD.slice(0, 3)],
  ])('returns %s', async (_case, version, rest, expected) => {
    const old = then.get(path);
    const requested = version === 'then' ? old : version;
    const list = await admin.list(`${path}?resourceVersion=${requested}&${rest}`);
    expect(list.items.map(({ metadata }) => metadata.name)).toEqual(expected);
    const isExact = expected.includes('b');
    expect(list.metadata.resourceVersion === old).toBe(isExact);
  });

  it.each([
    ['resourceVersionMatch=Exact', 'Forbidden: resourceVersionMatch is forbidden unless resourceVersion is provided'],
    [
      'resourceVersionMatch=NotOlderThan&resourceVersion=',
      'Forbidden: resourceVersionMatch is forbidden unless resourceVersion is provided',
    ],
    ['resourceVersionMatch=exact&resourceVersion=1', 'Unsupported value: "exact": supported values: "Exact", "NotOlderThan", ""'],
    ['resourceVersionMatch=Exact&resourceVersion=0', 'Forbidden: resourceVersionMatch "exact" is forbidden for resourceVersion "0"'],
    ['resourceVersionMatch=Exact&resourceVersion=1&continue=x', 'Forbidden: resourceVersionMatch is forbidden when continue is provided'],
  ])('rejects %s', async (query, problem) => {
    const { status, body } = await admin.get(`${path}?${query}`);
    const text = `ListOptions.meta.k8s.io "" is invalid: resourceVersionMatch: ${problem}`;
    expect([status, JSON.parse(body)]).toMatchObject([
      422,
      { message: text, reason: 'Invalid', details: { group: 'meta.k8s.io', kind: 'ListOptions' } },
    ]);
  });

  it('reports all invalid options in one message', async () => {
    const response = await admin.get(`${path}?resourceVersionMatch=Bogus&continue=x&sendInitialEvents=`);
    expect(messageOf(response)).toBe(
      'ListOptions.meta.k8s.io "" is invalid: [' +
        'resourceVersionMatch: Forbidden: resourceVersionMatch is forbidden unless resourceVersion is provided, ' +
        'resourceVersionMatch: Forbidden: resourceVersionMatch is forbidden when continue is provided, ' +
        'resourceVersionMatch: Unsupported value: "Bogus": supported values: "Exact", "NotOlderThan", "", ' +
        'sendInitialEvents: Forbidden: sendInitialEvents is forbidden for list]',
    );
  });

  it.each([
    ['abc', 'invalid syntax'],
    ['-1', 'invalid syntax'],
    ['%2B5', 'invalid syntax', '+5'],
    ['1.0', 'invalid syntax'],
    ['18446744073709551616', 'value out of range'],
  ])('rejects resourceVersion=%s for a list', async (version, problem, text = version) => {
    const response = await admin.get(`${path}?resourceVersion=${version}`);
    const cause = `resourceVersion: Invalid value: "${text}": strconv.ParseUint: parsing "${text}": ${problem}`;
    expect([response.status, messageOf(response)]).toEqual([400, `invalid resource version: ${cause}`]);
  });

  it.each([
    ['abc', 'invalid syntax'],
    ['18446744073709551616', 'value out of range'],
  ])('returns 500 for resourceVersion=%s of one object', async (version, problem) => {
    const { status, body } = await admin.get(`${path}/a?resourceVersion=${version}`);
    const message = `resourceVersion: Invalid value: "${version}": strconv.ParseUint: parsing "${version}": ${problem}`;
    expect([status, JSON.parse(body)]).toEqual([
      500,
      { kind: 'Status', apiVersion: 'v1', metadata: {}, status: 'Failure', message, code: 500 },
    ]);
  });
});

describe('future revision', () => {
  const future = { v: 'meta.k8s.io/v1', rv: 9_000_000, start: '/a' };

  it('returns 504 to lists, pages and gets if the revision does not appear in time', async () => {
    const paths = COLLECTIONS.flatMap(([, path]) => [
      `${path}?resourceVersion=9000000&limit=1`,
      `${path}?resourceVersion=9000000&timeoutSeconds=1`,
      `${path}?continue=${encodeToken(future)}`,
      `${path}/a?resourceVersion=9000000`,
    ]);
    for (const response of await Promise.all(paths.map((path) => admin.get(path)))) {
      expect([response.status, response.headers['retry-after']]).toEqual([504, '1']);
      expect(JSON.parse(response.body)).toMatchObject({
        message: expect.stringMatching(/^Timeout: Too large resource version: 9000000, current: \d+$/),
        reason: 'Timeout',
        details: { causes: [{ reason: 'ResourceVersionTooLarge', message: 'Too large resource version' }], retryAfterSeconds: 1 },
      });
    }
  });

  it('returns the list when the revision appears', async () => {
    const { metadata } = await admin.patch(`${MAPS}/a`, { data: { round: '1' } });
    const next = Number(metadata.resourceVersion) + 1;
    const waiting = admin.list(`${MAPS}?resourceVersion=${next}`);
    await admin.patch(`${MAPS}/a`, { data: { round: '2' } });
    expect(Number((await waiting).metadata.resourceVersion)).toBeGreaterThanOrEqual(next);
  });
});

describe.each(COLLECTIONS)('paging of a list of %s', (_, path) => {
  it('returns all pages of one revision despite later changes', async () => {
    const first = await admin.list(`${path}?limit=2`);
    await admin.create(path, objectAt(path, 'ca'));
    await admin.delete(`${path}/d`);
    const second = await admin.list(`${path}?limit=2&continue=${first.metadata.continue}`);
    await admin.create(path, objectAt(path, 'd', { odd: 'false' }));
    await admin.delete(`${path}/ca`);
    const third = await admin.list(`${path}?limit=2&continue=${second.metadata.continue}`);
    const pages = [first, second, third];
    expect(pages.map(({ items }) => items.map(({ metadata }) => metadata.name))).toEqual([['a', 'c'], ['d', 'e'], ['f']]);
    expect(new Set(pages.map(({ metadata }) => metadata.resourceVersion)).size).toBe(1);
    expect(pages.map(({ metadata }) => metadata.remainingItemCount)).toEqual([3, 1, undefined]);
    const rv = Number(first.metadata.resourceVersion);
    expect(decodeToken(first.metadata.continue)).toEqual({ v: 'meta.k8s.io/v1', rv, start: '/c\0' });
    expect(third.metadata.continue ?? '').toBe('');
  });

  it('ends without a continue token if the limit equals the number of objects', async () => {
    const { metadata, items } = await admin.list(`${path}?limit=5`);
    expect([items.length, metadata.continue ?? '', metadata.remainingItemCount]).toEqual([5, '', undefined]);
  });

  it.each([
    ['a label selector', 'labelSelector=odd%3Dtrue'],
    ['a field selector', 'fieldSelector=metadata.name!%3Dd'],
  ])('fills pages up to the limit with %s, without remainingItemCount', async (_case, selector) => {
    const first = await admin.list(`${path}?limit=2&${selector}`);
    expect(first.items.map(({ metadata }) => metadata.name)).toEqual(['a', 'c']);
    expect(first.metadata.remainingItemCount).toBeUndefined();
    const second = await admin.list(`${path}?limit=2&${selector}&continue=${first.metadata.continue}`);
    expect(second.items.map(({ metadata }) => metadata.name)[0]).toBe('e');
  });

  it('returns remainingItemCount with empty selectors', async () => {
    expect((await admin.list(`${path}?limit=2&labelSelector=&fieldSelector=`)).metadata.remainingItemCount).toBe(3);
  });

  it('accepts another limit and selector for the next page', async () => {
    const { metadata } = await admin.list(`${path}?limit=1`);
    expect(await admin.names(`${path}?continue=${metadata.continue}`)).toEqual(['c', 'd', 'e', 'f']);
    expect(await admin.names(`${path}?continue=${metadata.continue}&labelSelector=!odd`)).toEqual(['f']);
  });

  it('returns all remaining objects with resourceVersion=0', async () => {
    const { metadata } = await admin.list(`${path}?limit=1`);
    expect(await admin.names(`${path}?continue=${metadata.continue}&limit=1&resourceVersion=0`)).toEqual(['c', 'd', 'e', 'f']);
  });

  it('rejects a continue token with a resourceVersion', async () => {
    const { metadata } = await admin.list(`${path}?limit=1`);
    const response = await admin.get(`${path}?continue=${metadata.continue}&resourceVersion=${metadata.resourceVersion}`);
    expect([response.status, messageOf(response)]).toEqual([400, 'specifying resource version is not allowed when using continue']);
  });

  it.each([
    ['with a slash', { v: 'meta.k8s.io/v1', rv: -1, start: '/d' }, ['d', 'e', 'f']],
    ['without a slash', { v: 'meta.k8s.io/v1', rv: -1, start: 'd\0' }, ['e', 'f']],
    ['with uppercase fields', { V: 'meta.k8s.io/v1', RV: -1, Start: 'e' }, ['e', 'f']],
    ['with unknown fields', { v: 'meta.k8s.io/v1', rv: -1, start: 'f', more: true }, ['f']],
    ['after the last object', { v: 'meta.k8s.io/v1', rv: -1, start: 'zz' }, []],
  ])('continues at the latest revision with a token %s', async (_case, content, expected) => {
    expect(await admin.names(`${path}?continue=${encodeToken(content)}`)).toEqual(expected);
  });

  it.each([
    ['!', 'illegal base64 data at input byte 0'],
    ['e', 'illegal base64 data at input byte 0'],
    ['eyJ9=', 'illegal base64 data at input byte 4'],
    [encodeToken('x'), "invalid character 'x' looking for beginning of value"],
    [encodeToken('{'), 'unexpected end of JSON input'],
    [encodeToken('[]'), 'json: cannot unmarshal array into Go value of type storage.continueToken'],
    [encodeToken({ v: 5 }), 'json: cannot unmarshal number into Go struct field continueToken.v of type string'],
    [encodeToken({}), 'server does not recognize this encoded version '],
    [encodeToken({ v: 'v9' }), 'server does not recognize this encoded version v9'],
    [encodeToken({ v: 'meta.k8s.io/v1' }), 'incorrect encoded start resourceVersion (version meta.k8s.io/v1)'],
    [encodeToken({ v: 'meta.k8s.io/v1', rv: 1 }), 'encoded start key empty (version meta.k8s.io/v1)'],
    [encodeToken({ v: 'meta.k8s.io/v1', rv: 1, start: '../x' }), '../x'],
    [encodeToken({ v: 'meta.k8s.io/v1', rv: 1, start: 'a//b' }), 'a//b'],
    [encodeToken({ v: 'meta.k8s.io/v1', rv: 1, start: 'a/' }), 'a/'],
  ])('rejects the continue token %s', async (bad, cause) => {
    const response = await admin.get(`${path}?continue=${encodeURIComponent(bad)}`);
    expect([response.status, messageOf(response)]).toEqual([400, `invalid continue token: continue key is not valid: ${cause}`]);
  });
});

describe('list of all namespaces', () => {
  it('orders objects by namespace and name across pages', async () => {
    // `lists-a/z` precedes `lists/a`, because `-` precedes `/`.
    for (const [namespace, name] of [
      ['lists-b', 'a'],
      ['lists-a', 'z'],
      ['lists-a', 'y'],
    ] as const) {
      await admin.create(`/api/v1/namespaces/${namespace}/configmaps`, { metadata: { name, labels: { across: 'yes' } } });
    }
    await admin.patch(`${MAPS}/a`, { metadata: { labels: { across: 'yes' } } });
    const seen: string[] = [];
    for (let next: string | undefined = ''; next !== undefined; ) {
      const page = await admin.list(`/api/v1/configmaps?labelSelector=across&limit=3&continue=${next}`);
      seen.push(page.items.map(({ metadata }) => `${metadata.namespace}/${metadata.name}`).join(' '));
      next = page.metadata.continue;
    }
    expect(seen).toEqual(['lists-a/y lists-a/z lists-b/a', 'lists/a']);
  });

  it('includes the namespace in continue tokens', async () => {
    const { metadata } = await admin.list('/api/v1/configmaps?labelSelector=across&limit=1');
    expect(decodeToken(metadata.continue)).toMatchObject({ start: '/lists-a/y\0' });
  });
});

describe('parameters of a list', () => {
  it.each([
    ['limit=x', 'strconv.ParseInt: parsing "x": invalid syntax'],
    ['limit=', 'strconv.ParseInt: parsing "": invalid syntax'],
    ['limit=1e3', 'strconv.ParseInt: parsing "1e3": invalid syntax'],
    ['limit=9223372036854775808', 'strconv.ParseInt: parsing "9223372036854775808": value out of range'],
    ['timeoutSeconds=1.5', 'strconv.ParseInt: parsing "1.5": invalid syntax'],
    ['limit=x&labelSelector=!', 'strconv.ParseInt: parsing "x": invalid syntax'],
    ['labelSelector=!&resourceVersionMatch=x', "unable to parse requirement: found '', expected: identifier"],
    ['timeout=abc', 'invalid timeout specified in the request URL - time: invalid duration "abc"'],
    ['timeout=1', 'invalid timeout specified in the request URL - time: missing unit in duration "1"'],
  ])('rejects %s', async (query, message) => {
    const response = await admin.get(`${WIDGETS}?${query}`);
    expect([response.status, messageOf(response)]).toEqual([400, message]);
  });

  it.each([
    ['uses the first of several limits', 'limit=1&limit=x', 1],
    ['ignores unknown parameters', 'limits=1', 5],
    ['ignores parameters that Go cannot parse', 'limit=1%zz&labelSelector=a;b', 5],
    ['ignores a negative timeoutSeconds', 'timeoutSeconds=-3', 5],
    ['accepts a false watch parameter', 'watch=False&limit=2', 2],
    ['accepts a long timeout', 'timeout=1h1m1.5s', 5],
  ])('%s', async (_case, query, count) => {
    expect(await admin.names(`${WIDGETS}?${query}`)).toHaveLength(count);
  });
});

describe('empty list', () => {
  it('contains an empty array of items', async () => {
    const { body: maps } = await admin.get(`${MAPS}?labelSelector=nope`);
    expect(maps).toMatch(/^{"kind":"ConfigMapList","apiVersion":"v1","metadata":{"resourceVersion":"\d+"},"items":\[\]}\n$/);
    const { body: widgets } = await admin.get(`${WIDGETS}?labelSelector=nope`);
    expect(widgets).toMatch(
      /^{"apiVersion":"lists.test\/v1","items":\[\],"kind":"WidgetList","metadata":{"continue":"","resourceVersion":"\d+"}}\n$/,
    );
  });

  it('returns no items for a namespace that does not exist', async () => {
    expect(await admin.names('/api/v1/namespaces/no-such/configmaps')).toEqual([]);
  });
});
