import { describe, expect, it } from '@jest/globals';
import * as fc from 'fast-check';
import { builtInKinds } from '../../../apiserver/kinds/registry.ts';
import type { KubeObject } from '../../../src/kubernetes/object.ts';
import { reviewKinds, TOKEN_REQUEST } from '../../../src/kubernetes/reviews.ts';
import { bool, bytes, int64, list, map, objectStruct, pointer, raw, struct, text, time } from '../../../src/kubernetes/schema/go-struct.ts';
import type { Schema } from '../../../src/kubernetes/schema/schema.ts';
import { decodeTyped } from '../../../src/kubernetes/wire/decode-typed.ts';
import {
  encodeItemJson,
  encodeListFrame,
  encodeObjectJson,
  encodeWatchEvent,
  formatBody,
  joinList,
} from '../../../src/kubernetes/wire/encode.ts';
import { toNode, toValue } from '../../../src/kubernetes/wire/json-node.ts';
import { parseJson } from '../../../src/kubernetes/wire/json-parse.ts';
import { encodeOrderedJson } from '../../../src/kubernetes/wire/ordered-json.ts';
import { parseYaml } from '../../../src/kubernetes/wire/yaml/parse.ts';
import { type Recording, recordings } from '../../support/golden.ts';

const schemas = new Map<string, Schema>([
  ...[...builtInKinds, ...reviewKinds].map(
    ({ group, version, kind, schema }) => [`${group === '' ? '' : `${group}/`}${version} ${kind}`, schema] as const,
  ),
  ['authentication.k8s.io/v1 TokenRequest', TOKEN_REQUEST],
]);

interface RecordedObject {
  readonly name: string;
  readonly body: string;
  readonly object: KubeObject;
}

const all: readonly Recording[] = [...recordings('token-requests'), ...recordings('resources'), ...recordings('cluster-lists')];
const objects: readonly RecordedObject[] = all.flatMap(({ name, response: { body: recordedBody = '', headers } }) => {
  // Recordings contain a placeholder in brackets instead of each token.
  const body = recordedBody.replaceAll('<jwt>', 'jwt');
  if (headers['content-type'] !== 'application/json' || !body.startsWith('{') || body.includes('}\n{')) return [];
  return [{ name, body, object: toValue(parseJson(Buffer.from(body))) as unknown as KubeObject }];
});

describe('encodeObjectJson and formatBody', () => {
  const builtIn = objects.filter(({ object: { apiVersion, kind } }) => schemas.has(`${apiVersion} ${kind}`));
  const custom = objects.filter(
    ({ object: { apiVersion } }) => apiVersion?.startsWith('example.dev/') || apiVersion?.startsWith('registry.'),
  );

  it.each(builtIn.map((each) => [each.name, each] as const))('encodes the decoded object %s as recorded', (_, { object, body }) => {
    const schema = schemas.get(`${object.apiVersion} ${object.kind}`) ?? {};
    const { value } = decodeTyped(parseJson(Buffer.from(body)), schema);
    const pretty = body.startsWith('{\n');
    expect(formatBody(encodeObjectJson(value as unknown as KubeObject, schema), { mediaType: 'json', pretty })).toBe(body);
  });

  it.each(custom.map((each) => [each.name, each] as const))('encodes %s as recorded', (_, { object, body }) => {
    expect(formatBody(encodeObjectJson(object), { mediaType: 'json', pretty: false })).toBe(body);
  });

  it('compares more than 60 built-in and 20 custom objects', () => {
    expect(builtIn.length).toBeGreaterThan(60);
    expect(custom.length).toBeGreaterThan(20);
  });

  it('encodes an error as recorded', () => {
    const errors = objects.filter(({ object: { kind } }) => kind === 'Status');
    expect(errors.length).toBeGreaterThan(100);
    for (const { body, object } of errors) {
      expect(formatBody(encodeOrderedJson(object), { mediaType: 'json', pretty: body.startsWith('{\n') })).toBe(body);
    }
  });
});

describe('encodeObjectJson', () => {
  const schema = objectStruct('v1.Sample', {
    spec: struct('v1.SampleSpec', {
      count: int64(),
      flag: bool(),
      maybe: pointer(bool()),
      at: time(),
      names: list(text()),
      ref: pointer(struct('v1.Ref', { name: text() })),
    }),
    data: map(bytes()),
    any: raw(),
  });
  const object = (rest: object) => ({ apiVersion: 'v1', kind: 'Sample', metadata: {}, ...rest });

  it('encodes empty times and empty structs held by value', () => {
    expect(encodeObjectJson(object({}), schema)).toBe('{"kind":"Sample","apiVersion":"v1","metadata":{},"spec":{"at":null}}');
  });

  it('omits zero values except those of pointers and of fields without omitempty', () => {
    const spec = { count: 0, flag: false, maybe: false, names: [], ref: {}, unknown: 1 };
    expect(encodeObjectJson(object({ spec, data: {} }), schema)).toBe(
      '{"kind":"Sample","apiVersion":"v1","metadata":{},"spec":{"maybe":false,"at":null,"ref":{}}}',
    );
  });

  it('sorts maps by bytes, keeps raw values and escapes like Go', () => {
    expect(encodeObjectJson(object({ data: { '\uffff': 'a', '😀': 'b', a: 'c' }, any: { b: '<&>\u2028', a: [1n, -0.5] } }), schema)).toBe(
      '{"kind":"Sample","apiVersion":"v1","metadata":{},"spec":{"at":null},"data":{"a":"c","\uffff":"a","😀":"b"},' +
        String.raw`"any":{"b":"\u003c\u0026\u003e\u2028","a":[1,-0.5]}}`,
    );
  });

  it('encodes text that decodes to the same object', () => {
    const names = fc.array(fc.string({ unit: 'binary' }));
    const spec = fc.record(
      { count: fc.integer(), flag: fc.boolean(), maybe: fc.boolean(), names, ref: fc.record({ name: fc.string() }) },
      { requiredKeys: [] },
    );
    const data = fc.dictionary(fc.string(), fc.base64String());
    fc.assert(
      fc.property(fc.record({ spec, data, any: fc.jsonValue() }), (fields) => {
        const { value } = decodeTyped(toNode(object(JSON.parse(JSON.stringify(fields)))), schema);
        const again = decodeTyped(parseJson(Buffer.from(encodeObjectJson(value as unknown as KubeObject, schema))), schema);
        expect(again).toEqual({ value, strictErrors: [] });
      }),
    );
  });
});

describe('joinList', () => {
  const secret = { apiVersion: 'v1', kind: 'Secret', metadata: { name: 's' } };
  const schema = objectStruct('v1.Secret', {});

  it('omits the type of items of built-in lists', () => {
    const head = { apiVersion: 'v1', kind: 'SecretList', metadata: { resourceVersion: '5', continue: '' } };
    expect(joinList({ ...encodeListFrame(head, true), items: [encodeItemJson(secret, schema)] })).toBe(
      '{"kind":"SecretList","apiVersion":"v1","metadata":{"resourceVersion":"5"},"items":[{"metadata":{"name":"s"}}]}',
    );
  });

  it('sorts the keys of custom lists and always includes continue', () => {
    const head = { apiVersion: 'a/v1', kind: 'BList', metadata: { resourceVersion: '5' } };
    expect(joinList({ ...encodeListFrame(head, false), items: [] })).toBe(
      '{"apiVersion":"a/v1","items":[],"kind":"BList","metadata":{"continue":"","resourceVersion":"5"}}',
    );
    const page = { ...head, metadata: { resourceVersion: '5', continue: 'abc', remainingItemCount: 3 } };
    expect(joinList({ ...encodeListFrame(page, false), items: [] })).toContain(
      '"metadata":{"continue":"abc","remainingItemCount":3,"resourceVersion":"5"}',
    );
  });

  it('encodes ten thousand objects within five seconds of CPU time', () => {
    const object = {
      ...secret,
      metadata: { name: 'x', labels: { a: 'b' }, annotations: { text: 'y'.repeat(500) } },
      data: { k: 'v'.repeat(500) },
    };
    const before = process.cpuUsage();
    const items = Array.from({ length: 10_000 }, () => encodeItemJson(object));
    formatBody(joinList({ ...encodeListFrame({ apiVersion: 'v1', kind: 'List', metadata: {} }, false), items }), {
      mediaType: 'json',
      pretty: true,
    });
    expect(process.cpuUsage(before).user).toBeLessThan(5_000_000);
  });
});

describe('formatBody', () => {
  it('indents by two spaces, without a newline at the end', () => {
    expect(formatBody('{"a":{},"b":[],"c":[1,{"d":"{[,:]}\\"}"}]}', { mediaType: 'json', pretty: true })).toBe(
      '{\n  "a": {},\n  "b": [],\n  "c": [\n    1,\n    {\n      "d": "{[,:]}\\"}"\n    }\n  ]\n}',
    );
  });

  it('ends compact JSON with a newline', () => {
    expect(formatBody('{}', { mediaType: 'json', pretty: false })).toBe('{}\n');
  });

  it.each(['accept-yaml', 'list-yaml'])('encodes YAML as recorded in %s', (name) => {
    const body = all.find((each) => each.name === name)?.response.body ?? '';
    const json = encodeOrderedJson(toValue(parseYaml(Buffer.from(body)).node));
    expect(formatBody(json, { mediaType: 'yaml', pretty: false })).toBe(body);
  });
});

describe('encodeWatchEvent', () => {
  it('encodes an event as one line', () => {
    expect(encodeWatchEvent('ADDED', '{"a":1}')).toBe('{"type":"ADDED","object":{"a":1}}\n');
  });
});
