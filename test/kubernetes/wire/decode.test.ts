import { describe, expect, it } from '@jest/globals';
import { secretKind } from '../../../apiserver/kinds/secret.ts';
import { TOKEN_REQUEST } from '../../../src/kubernetes/reviews.ts';
import { objectStruct } from '../../../src/kubernetes/schema/go-struct.ts';
import type { Schema } from '../../../src/kubernetes/schema/schema.ts';
import { decodeObject } from '../../../src/kubernetes/wire/decode.ts';
import type { DecodedObject, DecodeRequest } from '../../../src/kubernetes/wire/decode-request.ts';
import { parseWriteOptions } from '../../../src/kubernetes/wire/options.ts';
import { toWarningHeaders } from '../../../src/kubernetes/wire/warning.ts';
import { recordings } from '../../support/golden.ts';
import { messageOf, queryOf, requestBody, warningsOf } from './recorded.ts';

const tokenRequest = { group: 'authentication.k8s.io', version: 'v1', kind: 'TokenRequest', builtIn: true, schema: TOKEN_REQUEST };

const wireSchema: Schema = {
  type: 'object',
  properties: {
    spec: {
      type: 'object',
      properties: {
        a: { type: 'integer' },
        n: { type: 'number' },
        free: { type: 'object', 'x-kubernetes-preserve-unknown-fields': true },
      },
    },
  },
};
const wire = { group: 'wire.dev', version: 'v1', kind: 'Wire', builtIn: false, schema: wireSchema };

const LABELS = Array.from({ length: 20_000 }, (_, index) => `"label-${index}":""`).join();

function decode(body: string | Buffer, request: Partial<DecodeRequest> = {}): DecodedObject {
  const kind = request.kind ?? tokenRequest;
  return decodeObject({
    body: Buffer.from(body),
    mediaType: 'json',
    kind,
    isTypeOptional: kind.builtIn,
    fieldValidation: 'Warn',
    isRegistered: (group, version, name) =>
      version === 'v1' && (name === 'TokenReview' || (group === '' && name === 'Pod') || name === 'Event'),
    ...request,
  });
}

function rejection(body: string | Buffer, request: Partial<DecodeRequest> = {}): string {
  try {
    decode(body, request);
    return 'accepted';
  } catch (error) {
    return (error as Error).message;
  }
}

describe('decodeObject with recorded token requests', () => {
  const posts = recordings('token-requests').filter(
    ({ request, response }) =>
      request.path.includes('/builder/token') && request.method === 'POST' && !request.big && response.status !== 403,
  );
  const decodable = posts.filter(({ response }) => [201, 400].includes(response.status));
  const mediaTypeOf = (contentType = '') => (contentType === 'application/yaml' ? 'yaml' : 'json');

  it.each(decodable.map((exchange) => [exchange.name, exchange] as const))('decodes or rejects as recorded: %s', (_, exchange) => {
    const { fieldValidation } = parseWriteOptions(queryOf(exchange), 'CreateOptions');
    const request = { mediaType: mediaTypeOf(exchange.request.headers?.['content-type']), fieldValidation } as const;
    const isRejected = exchange.response.status === 400 && /cannot be handled|unrecognized/.test(messageOf(exchange));
    if (isRejected) {
      expect(rejection(requestBody(exchange), request)).toBe(messageOf(exchange).replace(/scheme.go:\d+/, 'scheme.go:30'));
    } else {
      expect(toWarningHeaders(decode(requestBody(exchange), request).warnings)).toEqual(warningsOf(exchange));
    }
  });

  it('rejects documents that are nested too deeply, even in unknown fields', () => {
    const body = `{"apiVersion":"authentication.k8s.io/v1","kind":"TokenRequest","spec":{"deep":${'['.repeat(11_000)}${']'.repeat(11_000)}}}`;
    expect(rejection(body)).toBe(
      "the object provided is unrecognized (must be of type TokenRequest): couldn't get version/kind; json parse error: " +
        'invalid character \'[\' exceeded max depth ({"apiVersion":"authentication. ...)',
    );
  });
});

describe('decodeObject for built-in kinds', () => {
  const secret = { ...secretKind, builtIn: true };

  it.each([
    [
      'a version of too many parts',
      '{"apiVersion":"a/b/c"}',
      'the object provided is unrecognized (must be of type Secret): unexpected GroupVersion string: a/b/c ({"apiVersion":"a/b/c"})',
    ],
    [
      'a group without version',
      '{"apiVersion":"foo/"}',
      `Secret in version "" cannot be handled as a Secret: Object 'apiVersion' is missing in '{"apiVersion":"foo/"}'`,
    ],
    [
      'another kind of the same group',
      '{"apiVersion":"v1","kind":"Pod","foo":1}',
      'Pod in version "v1" cannot be handled as a Secret: converting (v1.Pod) to (core.Secret): unknown conversion',
    ],
    [
      'a kind in another letter case',
      '{"Kind":5}',
      `the object provided is unrecognized (must be of type Secret): couldn't get version/kind; json parse error: json: cannot unmarshal number into Go struct field .kind of type string ({"Kind":5})`,
    ],
    [
      'an error of a type with its own decoder after an earlier error',
      '{"metadata":{"labels":{"a":5},"creationTimestamp":5}}',
      'Secret in version "v1" cannot be handled as a Secret: json: cannot unmarshal number into Go struct field ObjectMeta.metadata.creationTimestamp of type string',
    ],
    [
      'an invalid time',
      '{"metadata":{"creationTimestamp":"x\\"é"}}',
      String.raw`Secret in version "v1" cannot be handled as a Secret: parsing time "x\"\xc3\xa9" as "2006-01-02T15:04:05Z07:00": cannot parse "x\"\xc3\xa9" as "2006"`,
    ],
    [
      'invalid base64',
      '{"data":{"a":"***"},"type":5}',
      'Secret in version "v1" cannot be handled as a Secret: illegal base64 data at input byte 0',
    ],
    [
      'a string for a map',
      '{"data":"x"}',
      'Secret in version "v1" cannot be handled as a Secret: json: cannot unmarshal string into Go struct field Secret.data of type map[string][]uint8',
    ],
    [
      'a string for an item of a list',
      '{"metadata":{"ownerReferences":["x"]}}',
      'Secret in version "v1" cannot be handled as a Secret: json: cannot unmarshal string into Go struct field ObjectMeta.metadata.ownerReferences of type v1.OwnerReference',
    ],
    [
      'a wrong type in an item of a list',
      '{"metadata":{"ownerReferences":[{"uid":5}]}}',
      'Secret in version "v1" cannot be handled as a Secret: json: cannot unmarshal number into Go struct field OwnerReference.metadata.ownerReferences.uid of type types.UID',
    ],
  ])('rejects %s', (_, body, message) => {
    expect(rejection(body, { kind: secret })).toBe(message);
  });

  it('names both versions in the error for another API version', () => {
    const event = { group: '', version: 'v1', kind: 'Event', builtIn: true, schema: objectStruct('v1.Event', {}) };
    expect(rejection('{"apiVersion":"events.k8s.io/v1","kind":"Event","foo":1}', { kind: event })).toBe(
      'the API version in the data (events.k8s.io/v1) does not match the expected API version (v1)',
    );
  });

  it('quotes bytes of a truncated character', () => {
    expect(rejection('{"xéééééééééééééééééééé', { kind: secret })).toContain('({"xééééééééééééé\udfff ...)');
  });

  it('merges a repeated field into the decoded value', () => {
    const { object, warnings } = decode('{"data":{"a":null},"data":{"b":"Yg=="}}', { kind: secret });
    expect(object['data']).toEqual({ a: '', b: 'Yg==' });
    expect(warnings).toEqual(['duplicate field "data"']);
  });

  it.each([
    ['the field', (count: number) => `"metadata":{"labels":{${LABELS}}${',"labels":{}'.repeat(count)}}`],
    ['its parent', (count: number) => `"metadata":{"labels":{${LABELS}}}${',"metadata":{"labels":{}}'.repeat(count)}`],
  ])('decodes 20,000 labels in linear time when %s is repeated 40,000 times', (_, fields) => {
    const { object } = decode(`{${fields(40_000)}}`, { kind: secret });
    expect(Object.keys(object.metadata.labels ?? {})).toHaveLength(20_000);
  });

  it('omits unknown fields, and zero values except those of pointers, and converts times to UTC', () => {
    const body =
      '{"metadata":{"name":"","generation":0,"creationTimestamp":"2026-11-15T01:00:00.5+01:00","labels":{}},"type":"","immutable":false,"x":1}';
    expect(decode(body, { kind: secret }).object).toEqual({
      apiVersion: 'v1',
      kind: 'Secret',
      metadata: { creationTimestamp: '2026-11-15T00:00:00Z' },
      immutable: false,
    });
  });

  it('returns one warning for each repeated key of YAML', () => {
    const body = 'metadata:\n  name: a\n  name: b\ntype: c\ntype:\n  d\n';
    expect(decode(body, { kind: secret, mediaType: 'yaml' }).warnings).toEqual([
      'line 3: key "name" already set in map',
      'line 6: key "type" already set in map',
    ]);
    expect(rejection(body, { kind: secret, mediaType: 'yaml', fieldValidation: 'Strict' })).toBe(
      'Secret in version "v1" cannot be handled as a Secret: strict decoding error: ' +
        'yaml: unmarshal errors:\n  line 3: key "name" already set in map\n  line 6: key "type" already set in map',
    );
  });
});

describe('decodeObject for custom resources', () => {
  const object = (rest: string) => `{"apiVersion":"wire.dev/v1","kind":"Wire","metadata":{"name":"x"}${rest}}`;

  it.each([
    [
      'no apiVersion',
      '{"kind":"Wire","metadata":{"name":"x"}}',
      'the API version in the data () does not match the expected API version (wire.dev/v1)',
    ],
    [
      'another version',
      '{"apiVersion":"wire.dev/v9","kind":"Wire"}',
      'the API version in the data (wire.dev/v9) does not match the expected API version (wire.dev/v1)',
    ],
    [
      'another group',
      '{"apiVersion":"v1","kind":"Secret"}',
      'the API version in the data (v1) does not match the expected API version (wire.dev/v1)',
    ],
    [
      'no kind',
      '{"apiVersion":"wire.dev/v1"}',
      `the object provided is unrecognized (must be of type Wire): Object 'Kind' is missing in '{"apiVersion":"wire.dev/v1"}' ({"apiVersion":"wire.dev/v1"})`,
    ],
    [
      'a kind in another letter case',
      '{"Kind":"Wire"}',
      `the object provided is unrecognized (must be of type Wire): Object 'Kind' is missing in '{"Kind":"Wire"}' ({"Kind":"Wire"})`,
    ],
    ['null', 'null', `the object provided is unrecognized (must be of type Wire): Object 'Kind' is missing in 'null' (6e756c6c)`],
    [
      'metadata of a wrong type',
      '{"apiVersion":"wire.dev/v1","kind":"Wire","metadata":"x"}',
      'Wire in version "v1" cannot be handled as a Wire: json: cannot unmarshal string into Go value of type v1.ObjectMeta',
    ],
    [
      'a label of a wrong type',
      '{"apiVersion":"wire.dev/v1","kind":"Wire","metadata":{"labels":{"a":5}}}',
      'Wire in version "v1" cannot be handled as a Wire: json: cannot unmarshal number into Go struct field ObjectMeta.labels of type string',
    ],
    [
      'a number out of range',
      object(',"spec":{"n":1e400}'),
      'Wire in version "v1" cannot be handled as a Wire: json: cannot unmarshal number 1e400 into Go value of type float64',
    ],
  ])('rejects %s', (_, body, message) => {
    expect(rejection(body, { kind: wire })).toBe(message);
  });

  it('reports a missing kind with a different message without field validation', () => {
    expect(rejection('{}', { kind: wire, fieldValidation: 'Ignore' })).toBe(
      `Wire in version "v1" cannot be handled as a Wire: Object 'Kind' is missing in '{}'`,
    );
  });

  it('reports repeated fields first, then unknown fields by path', () => {
    const rest = String.raw`,"spec":{"q\"uote":1,"free":{"a":1,"a":2,"q\"uote":1,"q\"uote":1},"zz":1,"zz":2},"spec2":{"a":{"b":1,"b":2}},"metadata":{"name":"x"}`;
    const { object: decoded, warnings } = decode(object(rest), { kind: wire });
    expect(warnings).toEqual([
      'duplicate field "spec.free.a"',
      String.raw`duplicate field "spec.free.q\"uote"`,
      'duplicate field "spec.zz"',
      'duplicate field "spec2.a.b"',
      'duplicate field "metadata"',
      'unknown field "spec.q"uote"',
      'unknown field "spec.zz"',
      'unknown field "spec2"',
    ]);
    expect(decoded).toEqual({ apiVersion: 'wire.dev/v1', kind: 'Wire', metadata: { name: 'x' }, spec: { free: { a: 2, 'q"uote': 1 } } });
  });

  it('decodes numbers like Go', () => {
    const { object: decoded } = decode(
      object(',"spec":{"n":1e2,"free":{"x":-0,"y":-0.0,"z":9223372036854775808,"w":1.0,"v":123456789012345678}}'),
      {
        kind: wire,
      },
    );
    expect(decoded['spec']).toEqual({ n: 100, free: { x: 0, y: 0, z: 9223372036854776000, w: 1, v: 123456789012345678n } });
  });

  it('accepts a wrong kind, which validation rejects', () => {
    const { object: decoded } = decode('{"apiVersion":"wire.dev/v1","kind":"Gadget","metadata":{"name":"x"}}', { kind: wire });
    expect(decoded.kind).toBe('Gadget');
  });

  const posts = recordings('resources').filter(({ name }) => /^cr-create-(unknown|dup)/.test(name));

  it.each(posts.map((exchange) => [exchange.name, exchange] as const))('decodes as recorded: %s', (_, exchange) => {
    const { fieldValidation } = parseWriteOptions(queryOf(exchange), 'CreateOptions');
    const widget = { group: 'example.dev', version: 'v1alpha1', kind: 'Widget', builtIn: false, schema: recordedSchema() };
    const request = { kind: widget, fieldValidation };
    if (exchange.response.status === 400) expect(rejection(requestBody(exchange), request)).toBe(messageOf(exchange));
    else expect(toWarningHeaders(decode(requestBody(exchange), request).warnings)).toEqual(warningsOf(exchange));
  });
});

/** Returns the schema of the recorded CRD. */
function recordedSchema(): Schema {
  const crd = recordings('resources').find(({ name }) => name === 'crd-create');
  return JSON.parse(crd === undefined ? '' : requestBody(crd).toString()).spec.versions[0].schema.openAPIV3Schema;
}
