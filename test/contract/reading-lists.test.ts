// Lists: which revision, which page, in which order, and what is refused.

import { beforeAll, describe, expect, it } from '@jest/globals';
import { adminOf, definition, messageOf } from './admin.ts';
import { contractServer } from './server.ts';

const server = contractServer();
const admin = adminOf(server);
const MAPS = '/api/v1/namespaces/lists/configmaps';
const WIDGETS = '/apis/lists.test/v1/widgets';
const anything = { type: 'object', 'x-kubernetes-preserve-unknown-fields': true };

/** One collection of a built-in kind and one of a custom kind, each with a to e at revision `then`, and f since then. */
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
}, 60_000);

function objectAt(path: string, name: string, labels: object = {}): object {
  const type = path.startsWith('/api/') ? { apiVersion: 'v1', kind: 'ConfigMap' } : { apiVersion: 'lists.test/v1', kind: 'Widget' };
  return { ...type, metadata: { name, labels } };
}

/** A continue token as servers make it, or not. */
function token(content: unknown): string {
  return Buffer.from(typeof content === 'string' ? content : JSON.stringify(content)).toString('base64url');
}

function contentOf(continueToken = ''): unknown {
  return JSON.parse(Buffer.from(continueToken, 'base64url').toString());
}

describe.each(COLLECTIONS)('the revision of a list of %s', (_, path) => {
  const NEW = ['a', 'c', 'd', 'e', 'f'];
  const OLD = ['a', 'b', 'c', 'd', 'e'];

  it.each([
    ['the latest without resourceVersion', '', '', NEW],
    ['the latest without resourceVersion, by pages', '', 'limit=2', NEW.slice(0, 2)],
    ['the latest for an empty resourceVersion', '', 'resourceVersion=&resourceVersionMatch=', NEW],
    ['any for 0, and all of it whatever the limit', '0', 'limit=2', NEW],
    ['any for 0 by NotOlderThan, and all of it whatever the limit', '0', 'limit=2&resourceVersionMatch=NotOlderThan', NEW],
    ['a newer one than N', 'then', '', NEW],
    ['a newer one than N by NotOlderThan', 'then', 'resourceVersionMatch=NotOlderThan', NEW],
    ['a newer one than N by NotOlderThan, by pages', 'then', 'resourceVersionMatch=NotOlderThan&limit=3', NEW.slice(0, 3)],
    ['exactly N with a limit', 'then', 'limit=100', OLD],
    ['exactly N with a limit that is smaller than the list', 'then', 'limit=2', OLD.slice(0, 2)],
    ['a newer one than N for a limit that is none', 'then', 'limit=-1', NEW],
    ['a newer one than N with a limit, when one object is asked for by its name', 'then', 'limit=5&fieldSelector=metadata.name%3Df', ['f']],
    ['exactly N by Exact, also when one object is asked for', 'then', 'resourceVersionMatch=Exact&fieldSelector=metadata.name%3Db', ['b']],
    ['exactly N by Exact', 'then', 'resourceVersionMatch=Exact', OLD],
    ['exactly N by Exact, by pages', 'then', 'resourceVersionMatch=Exact&limit=3', OLD.slice(0, 3)],
  ])('is %s', async (_case, version, rest, expected) => {
    const old = then.get(path);
    const asked = version === 'then' ? old : version;
    const list = await admin.list(`${path}?resourceVersion=${asked}&${rest}`);
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
  ])('refuses %s', async (query, problem) => {
    const { status, body } = await admin.get(`${path}?${query}`);
    const text = `ListOptions.meta.k8s.io "" is invalid: resourceVersionMatch: ${problem}`;
    expect([status, JSON.parse(body)]).toMatchObject([
      422,
      { message: text, reason: 'Invalid', details: { group: 'meta.k8s.io', kind: 'ListOptions' } },
    ]);
  });

  it('names all that is wrong with its options at once', async () => {
    const answer = await admin.get(`${path}?resourceVersionMatch=Bogus&continue=x&sendInitialEvents=`);
    expect(messageOf(answer)).toBe(
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
  ])('cannot be %s', async (version, problem, text = version) => {
    const answer = await admin.get(`${path}?resourceVersion=${version}`);
    const why = `resourceVersion: Invalid value: "${text}": strconv.ParseUint: parsing "${text}": ${problem}`;
    expect([answer.status, messageOf(answer)]).toEqual([400, `invalid resource version: ${why}`]);
  });

  it.each([
    ['abc', 'invalid syntax'],
    ['18446744073709551616', 'value out of range'],
  ])('cannot be %s for one object either, which is an error of the server', async (version, problem) => {
    const { status, body } = await admin.get(`${path}/a?resourceVersion=${version}`);
    const message = `resourceVersion: Invalid value: "${version}": strconv.ParseUint: parsing "${version}": ${problem}`;
    expect([status, JSON.parse(body)]).toEqual([
      500,
      { kind: 'Status', apiVersion: 'v1', metadata: {}, status: 'Failure', message, code: 500 },
    ]);
  });
});

describe('a revision in the future', () => {
  const future = { v: 'meta.k8s.io/v1', rv: 9_000_000, start: '/a' };

  it('is waited for in vain by lists, pages and gets', async () => {
    const paths = COLLECTIONS.flatMap(([, path]) => [
      `${path}?resourceVersion=9000000&limit=1`,
      `${path}?resourceVersion=9000000&timeoutSeconds=1`,
      `${path}?continue=${token(future)}`,
      `${path}/a?resourceVersion=9000000`,
    ]);
    for (const answer of await Promise.all(paths.map((path) => admin.get(path)))) {
      expect([answer.status, answer.headers['retry-after']]).toEqual([504, '1']);
      expect(JSON.parse(answer.body)).toMatchObject({
        message: expect.stringMatching(/^Timeout: Too large resource version: 9000000, current: \d+$/),
        reason: 'Timeout',
        details: { causes: [{ reason: 'ResourceVersionTooLarge', message: 'Too large resource version' }], retryAfterSeconds: 1 },
      });
    }
  });

  it('is waited for with success if it comes', async () => {
    const { metadata } = await admin.patch(`${MAPS}/a`, { data: { round: '1' } });
    const wanted = Number(metadata.resourceVersion) + 1;
    const waiting = admin.list(`${MAPS}?resourceVersion=${wanted}`);
    await admin.patch(`${MAPS}/a`, { data: { round: '2' } });
    expect(Number((await waiting).metadata.resourceVersion)).toBeGreaterThanOrEqual(wanted);
  });
});

describe.each(COLLECTIONS)('the pages of a list of %s', (_, path) => {
  it('show one revision, whatever happens meanwhile', async () => {
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
    expect(contentOf(first.metadata.continue)).toEqual({ v: 'meta.k8s.io/v1', rv, start: '/c\0' });
    expect(third.metadata.continue ?? '').toBe('');
  });

  it('have no next one when the limit is met exactly', async () => {
    const { metadata, items } = await admin.list(`${path}?limit=5`);
    expect([items.length, metadata.continue ?? '', metadata.remainingItemCount]).toEqual([5, '', undefined]);
  });

  it.each([
    ['a label selector', 'labelSelector=odd%3Dtrue'],
    ['a field selector', 'fieldSelector=metadata.name!%3Dd'],
  ])('are full under %s, and do not tell how many are left', async (_case, selector) => {
    const first = await admin.list(`${path}?limit=2&${selector}`);
    expect(first.items.map(({ metadata }) => metadata.name)).toEqual(['a', 'c']);
    expect(first.metadata.remainingItemCount).toBeUndefined();
    const second = await admin.list(`${path}?limit=2&${selector}&continue=${first.metadata.continue}`);
    expect(second.items.map(({ metadata }) => metadata.name)[0]).toBe('e');
  });

  it('tell how many are left under selectors that select everything', async () => {
    expect((await admin.list(`${path}?limit=2&labelSelector=&fieldSelector=`)).metadata.remainingItemCount).toBe(3);
  });

  it('may change limit and selector on the way', async () => {
    const { metadata } = await admin.list(`${path}?limit=1`);
    expect(await admin.names(`${path}?continue=${metadata.continue}`)).toEqual(['c', 'd', 'e', 'f']);
    expect(await admin.names(`${path}?continue=${metadata.continue}&labelSelector=!odd`)).toEqual(['f']);
  });

  it('give all the rest to who takes any revision', async () => {
    const { metadata } = await admin.list(`${path}?limit=1`);
    expect(await admin.names(`${path}?continue=${metadata.continue}&limit=1&resourceVersion=0`)).toEqual(['c', 'd', 'e', 'f']);
  });

  it('do not go with a revision', async () => {
    const { metadata } = await admin.list(`${path}?limit=1`);
    const answer = await admin.get(`${path}?continue=${metadata.continue}&resourceVersion=${metadata.resourceVersion}`);
    expect([answer.status, messageOf(answer)]).toEqual([400, 'specifying resource version is not allowed when using continue']);
  });

  it.each([
    ['with a slash', { v: 'meta.k8s.io/v1', rv: -1, start: '/d' }, ['d', 'e', 'f']],
    ['without one', { v: 'meta.k8s.io/v1', rv: -1, start: 'd\0' }, ['e', 'f']],
    ['with fields in capitals', { V: 'meta.k8s.io/v1', RV: -1, Start: 'e' }, ['e', 'f']],
    ['with unknown fields', { v: 'meta.k8s.io/v1', rv: -1, start: 'f', more: true }, ['f']],
    ['behind the end', { v: 'meta.k8s.io/v1', rv: -1, start: 'zz' }, []],
  ])('continue at the latest revision from a token %s', async (_case, content, expected) => {
    expect(await admin.names(`${path}?continue=${token(content)}`)).toEqual(expected);
  });

  it.each([
    ['!', 'illegal base64 data at input byte 0'],
    ['e', 'illegal base64 data at input byte 0'],
    ['eyJ9=', 'illegal base64 data at input byte 4'],
    [token('x'), "invalid character 'x' looking for beginning of value"],
    [token('{'), 'unexpected end of JSON input'],
    [token('[]'), 'json: cannot unmarshal array into Go value of type storage.continueToken'],
    [token({ v: 5 }), 'json: cannot unmarshal number into Go struct field continueToken.v of type string'],
    [token({}), 'server does not recognize this encoded version '],
    [token({ v: 'v9' }), 'server does not recognize this encoded version v9'],
    [token({ v: 'meta.k8s.io/v1' }), 'incorrect encoded start resourceVersion (version meta.k8s.io/v1)'],
    [token({ v: 'meta.k8s.io/v1', rv: 1 }), 'encoded start key empty (version meta.k8s.io/v1)'],
    [token({ v: 'meta.k8s.io/v1', rv: 1, start: '../x' }), '../x'],
    [token({ v: 'meta.k8s.io/v1', rv: 1, start: 'a//b' }), 'a//b'],
    [token({ v: 'meta.k8s.io/v1', rv: 1, start: 'a/' }), 'a/'],
  ])('do not start from %s', async (bad, why) => {
    const answer = await admin.get(`${path}?continue=${encodeURIComponent(bad)}`);
    expect([answer.status, messageOf(answer)]).toEqual([400, `invalid continue token: continue key is not valid: ${why}`]);
  });
});

describe('a list across namespaces', () => {
  it('goes by namespace, then by name, and pages cross the border', async () => {
    // '-' comes before '/', and so does `lists-a/z` before `lists/a`.
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

  it('has tokens that hold the namespace', async () => {
    const { metadata } = await admin.list('/api/v1/configmaps?labelSelector=across&limit=1');
    expect(contentOf(metadata.continue)).toMatchObject({ start: '/lists-a/y\0' });
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
  ])('are refused when they are %s', async (query, message) => {
    const answer = await admin.get(`${WIDGETS}?${query}`);
    expect([answer.status, messageOf(answer)]).toEqual([400, message]);
  });

  it.each([
    ['the first of several counts', 'limit=1&limit=x', 1],
    ['unknown ones mean nothing', 'limits=1', 5],
    ['what Go cannot read is not there', 'limit=1%zz&labelSelector=a;b', 5],
    ['the time for a list is not limited by timeoutSeconds', 'timeoutSeconds=-3', 5],
    ['`watch` may be false', 'watch=False&limit=2', 2],
    ['the deadline may be long', 'timeout=1h1m1.5s', 5],
  ])('are taken so that %s', async (_case, query, count) => {
    expect(await admin.names(`${WIDGETS}?${query}`)).toHaveLength(count);
  });
});

describe('an empty list', () => {
  it('has items all the same', async () => {
    const { body: maps } = await admin.get(`${MAPS}?labelSelector=nope`);
    expect(maps).toMatch(/^{"kind":"ConfigMapList","apiVersion":"v1","metadata":{"resourceVersion":"\d+"},"items":\[\]}\n$/);
    const { body: widgets } = await admin.get(`${WIDGETS}?labelSelector=nope`);
    expect(widgets).toMatch(
      /^{"apiVersion":"lists.test\/v1","items":\[\],"kind":"WidgetList","metadata":{"continue":"","resourceVersion":"\d+"}}\n$/,
    );
  });

  it('comes from a namespace that there is not', async () => {
    expect(await admin.names('/api/v1/namespaces/no-such/configmaps')).toEqual([]);
  });
});
