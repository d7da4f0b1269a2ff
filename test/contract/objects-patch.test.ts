// JSON, merge and strategic merge patches, and the fieldValidation of all writes.

import { describe, expect, it } from '@jest/globals';
import { CONFIG_MAPS, configMap, fieldManagers, GROUP, NAMESPACE, prepareWorld, WIDGETS, widget } from './objects.ts';
import { outcome } from './requests.ts';
import { contractServer } from './server.ts';

const objects = prepareWorld(contractServer());
const REJECTED = '422 Invalid: the server rejected our request due to an error in our request';

/** Replaces the patched object, which errors quote in full, with `…`. */
function withoutQuote(text: string): string {
  return text.replace(/(patch: Invalid value: )"(?:[^"\\]|\\.)*"/, '$1…');
}

describe('merge patch', () => {
  it('sets, removes and keeps fields of an object', async () => {
    await objects.create(CONFIG_MAPS, configMap('merge', { data: { a: '1', b: '2' } }, { labels: { x: 'y' } }));
    const { status, body } = await objects.merge(`${CONFIG_MAPS}/merge?fieldManager=m`, { data: { a: null, c: '3' } });
    expect([status, body['data'], body.metadata['labels']]).toEqual([200, { b: '2', c: '3' }, { x: 'y' }]);
    expect(fieldManagers(body)).toContain('m Update {"f:data":{"f:c":{}}}');
  });

  it('keeps the resourceVersion if nothing changes', async () => {
    const created = await objects.create(WIDGETS, widget('noop', { spec: { size: 1 } }));
    for (const patch of [{}, { spec: { size: 1 } }, { spec: { color: null } }, { metadata: { generation: 7, creationTimestamp: null } }]) {
      expect((await objects.merge(`${WIDGETS}/noop?fieldManager=other`, patch)).body).toEqual(created);
    }
  });

  it('rejects an outdated resourceVersion', async () => {
    const { metadata } = await objects.create(CONFIG_MAPS, configMap('based'));
    const { resourceVersion } = metadata;
    expect((await objects.merge(`${CONFIG_MAPS}/based`, { metadata: { resourceVersion }, data: { a: '1' } })).status).toBe(200);
    expect(outcome(await objects.merge(`${CONFIG_MAPS}/based`, { metadata: { resourceVersion }, data: { a: '2' } }))).toBe(
      '409 Conflict: Operation cannot be fulfilled on configmaps "based": the object has been modified; please apply your changes to the latest version and try again',
    );
  });

  it.each([
    ['[]', '400 BadRequest: error decoding patch: json: cannot unmarshal array into Go value of type map[string]interface {}'],
    ['{', '400 BadRequest: error decoding patch: unexpected end of JSON input'],
    ['{"metadata":{"name":"other"}}', '400 BadRequest: the name of the object (other) does not match the name on the URL (bad)'],
    ['{"metadata":{"name":null}}', '400 BadRequest: the name of the object (bad based on URL) was undeterminable: name must be provided'],
    [
      '{"metadata":{"namespace":"other"}}',
      '400 BadRequest: the namespace of the provided object does not match the namespace sent on the request',
    ],
    ['{"metadata":{"uid":"x"}}', '422 Invalid: ConfigMap "bad" is invalid: metadata.uid: Invalid value: "x": field is immutable'],
    ['{"metadata":{"resourceVersion":"abc"}}', '500: strconv.ParseUint: parsing "abc": invalid syntax'],
    [
      '{"kind":"Secret"}',
      '422 Invalid:  "" is invalid: patch: Invalid value: …: converting (v1.Secret) to (core.ConfigMap): unknown conversion',
    ],
    [
      '{"data":{"a":1}}',
      '422 Invalid:  "" is invalid: patch: Invalid value: …: json: cannot unmarshal number into Go struct field ConfigMap.data of type string',
    ],
    [
      '{"metadata":{"labels":{"a":"b c"}}}',
      /^422 Invalid: ConfigMap "bad" is invalid: \[?metadata.labels: Invalid value: "b c": a valid label must be /,
    ],
  ])('rejects the merge patch %s', async (patch, expected) => {
    await objects.post(CONFIG_MAPS, configMap('bad'));
    expect(withoutQuote(outcome(await objects.merge(`${CONFIG_MAPS}/bad`, patch)))).toMatch(
      typeof expected === 'string' ? toExactPattern(expected) : expected,
    );
  });

  it.each([
    ['{"kind":"Gadget"}', `422 Invalid: Gadget.${GROUP} "bad" is invalid: kind: Invalid value: "Gadget": must be Widget`],
    ['{"kind":null}', /^422 Invalid: {2}"" is invalid: patch: Invalid value: …: Object 'Kind' is missing in '\{"apiVersion":/],
    ['{"apiVersion":"v2"}', /^422 Invalid: Widget\S* "bad" is invalid: apiVersion: Invalid value: "v2": must be life\.test\/v1$/],
    [
      '{"spec":{"size":101}}',
      `422 Invalid: Widget.${GROUP} "bad" is invalid: spec.size: Invalid value: 101: spec.size in body should be less than or equal to 100`,
    ],
    ['{"spec":{"tags":["a","a"]}}', `422 Invalid: Widget.${GROUP} "bad" is invalid: spec.tags[1]: Duplicate value: "a"`],
    [
      '{"metadata":{"labels":{"a":1}}}',
      '422 Invalid:  "" is invalid: patch: Invalid value: …: json: cannot unmarshal number into Go struct field ObjectMeta.labels of type string',
    ],
  ])('rejects the merge patch %s of a custom resource', async (patch, expected) => {
    await objects.post(WIDGETS, widget('bad'));
    expect(withoutQuote(outcome(await objects.merge(`${WIDGETS}/bad`, patch)))).toMatch(
      typeof expected === 'string' ? toExactPattern(expected) : expected,
    );
  });

  it('changes only the status at the status subresource', async () => {
    await objects.create(WIDGETS, widget('status', { spec: { size: 1 } }));
    const patch = { status: { ready: true }, spec: { size: 9 }, metadata: { labels: { a: 'b' } } };
    const { body } = await objects.merge(`${WIDGETS}/status/status`, patch);
    expect([body['status'], body['spec'], body.metadata['labels']]).toEqual([{ ready: true }, { size: 1, color: 'red' }, undefined]);
  });
});

describe('JSON patch', () => {
  it('applies operations of a JSON patch in order', async () => {
    await objects.create(CONFIG_MAPS, configMap('json', { data: { a: '1', b: '2' } }, { labels: { 'x.y/z': 'q' } }));
    const { status, body } = await objects.json(`${CONFIG_MAPS}/json`, [
      { op: 'test', path: '/data/a', value: '1' },
      { op: 'replace', path: '/data/a', value: '9' },
      { op: 'move', from: '/data/b', path: '/data/c' },
      { op: 'copy', from: '/data/a', path: '/data/d' },
      { op: 'remove', path: '/metadata/labels/x.y~1z' },
      { op: 'add', path: '/metadata/annotations', value: { n: 'm' } },
      { op: 'replace', path: '/data/new', value: 'kept' },
    ]);
    expect([status, body['data'], body.metadata['labels'], body.metadata['annotations']]).toEqual([
      200,
      { a: '9', c: '2', d: '9', new: 'kept' },
      undefined,
      { n: 'm' },
    ]);
  });

  it('applies all operations of a JSON patch or none', async () => {
    const created = await objects.create(CONFIG_MAPS, configMap('nothing', { data: { a: '1' } }));
    const patch = [
      { op: 'add', path: '/data/b', value: '2' },
      { op: 'test', path: '/data/a', value: '2' },
    ];
    const response = await objects.json(`${CONFIG_MAPS}/nothing`, patch);
    expect([outcome(response), response.body['details']]).toEqual([REJECTED, {}]);
    expect((await objects.get(`${CONFIG_MAPS}/nothing`)).body).toEqual(created);
  });

  it.each([
    [[{ op: 'remove', path: '/data/missing' }], REJECTED],
    [[{ op: 'add', path: '/missing/x', value: 1 }], REJECTED],
    [[{ op: 'bogus', path: '/data' }], REJECTED],
    [[{ op: 'add' }], REJECTED],
    [[{ op: 'add', path: '/metadata/finalizers/7', value: 'x' }], REJECTED],
    [{ op: 'add' }, '400 BadRequest: error decoding patch: json: cannot unmarshal object into Go value of type []handlers.jsonPatchOp'],
    [
      [{ op: 5, path: '/x' }],
      '400 BadRequest: error decoding patch: json: cannot unmarshal number into Go struct field jsonPatchOp.op of type string',
    ],
    [
      [{ op: 'replace', path: '/metadata/name', value: 'x' }],
      '400 BadRequest: the name of the object (x) does not match the name on the URL (bad)',
    ],
    [
      [{ op: 'replace', path: '', value: {} }],
      '400 BadRequest: the name of the object (bad based on URL) was undeterminable: name must be provided',
    ],
    [[{ op: 'remove', path: '/kind' }], '200'],
    [
      Array.from({ length: 10_001 }, () => ({ op: 'test', path: '/kind', value: 'ConfigMap' })),
      '413 RequestEntityTooLarge: Request entity too large: The allowed maximum operations in a JSON patch is 10000, got 10001',
    ],
  ])('rejects invalid operations of a JSON patch, and accepts the removal of kind (%#)', async (patch, expected) => {
    await objects.post(CONFIG_MAPS, configMap('bad', { data: { a: '1' } }));
    expect(outcome(await objects.json(`${CONFIG_MAPS}/bad`, patch))).toBe(expected);
  });
});

describe('JSON patch with copy operations', () => {
  const LIMIT = 3 * 1024 * 1024;

  it.each([
    [LIMIT, '200'],
    [LIMIT + 1, REJECTED],
  ])('responds to copies of %i bytes of JSON with %s', async (bytes, expected) => {
    // The size includes the quotes of a string.
    const rest = bytes - 6 * 500_000;
    const patch = [...Array.from({ length: 6 }, () => 'large'), 'rest'].flatMap((key) => [
      { op: 'copy', from: `/data/${key}`, path: '/data/copy' },
      { op: 'remove', path: '/data/copy' },
    ]);
    await objects.create(
      CONFIG_MAPS,
      configMap(`copied-${bytes}`, { data: { large: 'x'.repeat(500_000 - 2), rest: 'x'.repeat(rest - 2) } }),
    );
    expect(outcome(await objects.json(`${CONFIG_MAPS}/copied-${bytes}`, patch))).toBe(expected);
  });

  it('rejects operations that each double the object', async () => {
    await objects.post(CONFIG_MAPS, configMap('doubled', { data: { a: 'x' } }));
    const patch = Array.from({ length: 28 }, (_, index) => ({ op: 'copy', from: '/data', path: `/data/k${index}` }));
    expect(outcome(await objects.json(`${CONFIG_MAPS}/doubled`, patch))).toBe(REJECTED);
  });
});

describe('strategic merge patch', () => {
  it('merges finalizers, and removes those of a $deleteFromPrimitiveList directive', async () => {
    await objects.create(CONFIG_MAPS, configMap('merged', {}, { finalizers: ['a.b/c'] }));
    const { status, body } = await objects.strategic(`${CONFIG_MAPS}/merged`, {
      metadata: { finalizers: ['d.e/f'], '$deleteFromPrimitiveList/finalizers': ['a.b/c'] },
    });
    expect([status, body.metadata['finalizers']]).toEqual([200, ['d.e/f']]);
  });

  it('removes items and replaces maps with $patch directives', async () => {
    const secrets = [{ name: 'a' }, { name: 'b' }];
    const accounts = `/api/v1/namespaces/${NAMESPACE}/serviceaccounts`;
    await objects.create(accounts, { metadata: { name: 'directed', labels: { a: '1' } }, secrets });
    const { body } = await objects.strategic(`${accounts}/directed`, {
      metadata: { labels: { $patch: 'replace', b: '2' } },
      secrets: [{ name: 'a', $patch: 'delete' }],
    });
    expect([body['secrets'], body.metadata['labels']]).toEqual([[{ name: 'b' }], { b: '2' }]);
  });

  it.each([[{ binaryData: { a: '*' } }, 'map[binaryData:map[a:*]]', 'error decoding from json: illegal base64 data at input byte 0']])(
    'rejects values that are not valid base64: %j',
    async (patch, quoted, cause) => {
      await objects.post(CONFIG_MAPS, configMap('typed'));
      expect(outcome(await objects.strategic(`${CONFIG_MAPS}/typed`, patch))).toBe(
        `422 Invalid:  "" is invalid: patch: Invalid value: "${quoted}": ${cause}`,
      );
    },
  );

  it('ignores kind and apiVersion of the patch', async () => {
    const created = await objects.create(CONFIG_MAPS, configMap('any-type'));
    expect((await objects.strategic(`${CONFIG_MAPS}/any-type`, { kind: 'Secret', apiVersion: 'v9' })).body).toEqual(created);
  });

  it('rejects patches of custom resources', async () => {
    expect(outcome(await objects.strategic(`${WIDGETS}/any`, {}))).toBe(
      '415 UnsupportedMediaType: the body of the request was in an unknown format - accepted media types include: application/json-patch+json, application/merge-patch+json, application/apply-patch+yaml',
    );
  });
});

describe('fieldValidation', () => {
  const configMapText = (name: string) =>
    `{"kind":"ConfigMap","apiVersion":"v1","metadata":{"name":"${name}","bogus":1},"zzz":1,"data":{"a":"1","a":"2"}}`;
  const widgetText = (name: string) =>
    `{"kind":"Widget","apiVersion":"${GROUP}/v1","metadata":{"name":"${name}","bogus":1},"zzz":1,"spec":{"size":1,"size":2,"q":1}}`;
  const patchText = '{"metadata":{"bogus":1},"zzz":1,"data":{"a":"1","a":"2"}}';
  const inDocument = ['unknown field "metadata.bogus"', 'unknown field "zzz"', 'duplicate field "data.a"'];
  const inPatch = ['duplicate field "data.a"', 'unknown field "metadata.bogus"', 'unknown field "zzz"'];
  const inWidget = ['duplicate field "spec.size"', 'unknown field "metadata.bogus"', 'unknown field "spec.q"', 'unknown field "zzz"'];
  const inYaml = ['line 5: key "a" already set in map'];

  const writes: readonly [string, (name: string, query: string) => ReturnType<typeof objects.get>, readonly string[], string][] = [
    [
      'create',
      (name, query) => objects.post(`${CONFIG_MAPS}?dryRun=All${query}`, configMapText(`${name}-new`)),
      inDocument,
      '400 BadRequest: ConfigMap in version "v1" cannot be handled as a ConfigMap: ',
    ],
    [
      'update',
      (name, query) => objects.put(`${CONFIG_MAPS}/${name}?dryRun=All${query}`, configMapText(name)),
      inDocument,
      '400 BadRequest: ConfigMap in version "v1" cannot be handled as a ConfigMap: ',
    ],
    [
      'merge patch',
      (name, query) => objects.merge(`${CONFIG_MAPS}/${name}?dryRun=All${query}`, patchText),
      inPatch,
      '422 Invalid:  "" is invalid: patch: Invalid value: …: ',
    ],
    [
      'strategic merge patch',
      (name, query) => objects.strategic(`${CONFIG_MAPS}/${name}?dryRun=All${query}`, patchText),
      inPatch,
      '422 Invalid:  "" is invalid: patch: Invalid value: …: ',
    ],
    [
      'create of a custom resource',
      (name, query) => objects.post(`${WIDGETS}?dryRun=All${query}`, widgetText(`${name}-new`)),
      inWidget,
      '400 BadRequest: Widget in version "v1" cannot be handled as a Widget: ',
    ],
    [
      'merge patch of a custom resource',
      (name, query) =>
        objects.merge(`${WIDGETS}/${name}?dryRun=All${query}`, '{"metadata":{"bogus":1},"zzz":1,"spec":{"size":1,"size":2,"q":1}}'),
      inWidget,
      '422 Invalid:  "" is invalid: patch: Invalid value: …: ',
    ],
  ];

  it.each(writes)('warns about, rejects or ignores unknown and duplicate fields: %s', async (_, write, found, rejection) => {
    await objects.post(CONFIG_MAPS, configMap('fields'));
    await objects.post(WIDGETS, widget('fields'));
    for (const query of ['', '&fieldValidation=Warn']) {
      const { status, warnings } = await write('fields', query);
      expect([Math.floor(status / 100), warnings]).toEqual([2, found]);
    }
    const strict = await write('fields', '&fieldValidation=Strict');
    expect([withoutQuote(outcome(strict)), strict.warnings]).toEqual([`${rejection}strict decoding error: ${found.join(', ')}`, []]);
    const ignored = await write('fields', '&fieldValidation=Ignore');
    expect([Math.floor(ignored.status / 100), ignored.warnings]).toEqual([2, []]);
  });

  it('warns about, rejects or ignores duplicate fields of an apply', async () => {
    const yaml = `apiVersion: v1\nkind: ConfigMap\nmetadata: {name: yaml}\ndata: {a: "1",\n  a: "2"}\n`;
    const apply = (query: string) => objects.apply(`${CONFIG_MAPS}/yaml?dryRun=All&fieldManager=m${query}`, yaml);
    expect((await apply('')).warnings).toEqual(inYaml);
    expect((await apply('&fieldValidation=Ignore')).warnings).toEqual([]);
    expect(outcome(await apply('&fieldValidation=Strict'))).toBe(
      '400 BadRequest: error strict decoding YAML: error converting YAML to JSON: yaml: unmarshal errors:\n  line 5: key "a" already set in map',
    );
  });

  it('rejects an apply with unknown fields for every value of fieldValidation', async () => {
    for (const validation of ['Ignore', 'Warn', 'Strict']) {
      const response = await objects.apply(
        `${CONFIG_MAPS}/unknown?fieldManager=m&fieldValidation=${validation}`,
        configMap('unknown', { zzz: 1 }),
      );
      expect(outcome(response)).toBe(
        '500: failed to create typed patch object (/unknown; /v1, Kind=ConfigMap): .zzz: field not declared in schema',
      );
    }
  });
});

function toExactPattern(text: string): RegExp {
  return new RegExp(`^${RegExp.escape(text)}$`);
}
