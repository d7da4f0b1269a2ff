import { describe, expect, it } from '@jest/globals';
import { configMapKind } from '../../../../apiserver/kinds/config-map.ts';
import { podKind } from '../../../../apiserver/kinds/pod.ts';
import { DELETE_OPTIONS } from '../../../../src/kubernetes/reviews.ts';
import { bool, bytes, int32, int64, list, map, pointer, struct, text } from '../../../../src/kubernetes/schema/go-struct.ts';
import type { Schema } from '../../../../src/kubernetes/schema/schema.ts';
import { StatusError } from '../../../../src/kubernetes/status.ts';
import { decodeObject, readTypedBody } from '../../../../src/kubernetes/wire/decode.ts';
import type { DecodeRequest } from '../../../../src/kubernetes/wire/decode-request.ts';
import { decodeMessage } from '../../../../src/kubernetes/wire/protobuf/message.ts';
import { kindOf, SAMPLES } from './samples.ts';

const MAGIC = '6b387300';
const CONFIG_MAP_TYPE = '0a0f0a0276311209436f6e6669674d6170';

function hex(digits: string): Buffer {
  return Buffer.from(digits, 'hex');
}

/** Returns a message in the envelope of a ConfigMap. */
function envelope(message: string): Buffer {
  return hex(`${MAGIC}${CONFIG_MAP_TYPE}12${(message.length / 2).toString(16).padStart(2, '0')}${message}1a002200`);
}

function decode(body: Buffer, request: Partial<DecodeRequest> = {}) {
  return decodeObject({
    body,
    mediaType: 'protobuf',
    kind: configMapKind,
    isTypeOptional: true,
    fieldValidation: 'Strict',
    isRegistered: (_, __, kind) => kind === 'Secret',
    ...request,
  });
}

function statusOf(run: () => unknown): StatusError['status'] {
  try {
    run();
  } catch (error) {
    if (error instanceof StatusError) return error.status;
    throw error;
  }
  throw new Error('the body was accepted');
}

describe('decodeObject with a protobuf body', () => {
  it.each(SAMPLES.filled.map((sample) => [`${sample.json.apiVersion} ${sample.json.kind}`, sample] as const))(
    'decodes the same object as from JSON: %s with every field',
    (_, { protobuf, json }) => {
      const { schema } = kindOf(json);
      const body = readTypedBody(Buffer.from(protobuf, 'base64'), 'protobuf');
      const document = readTypedBody(Buffer.from(JSON.stringify(json)), 'json');
      expect(body.type).toEqual(document.type);
      const { kind: _kind, apiVersion: _apiVersion, ...expected } = document.decode(schema).value;
      expect(body.decode(schema)).toEqual({ value: expected, strictErrors: [] });
    },
  );

  it.each(SAMPLES.recorded.filter(({ json }) => json.kind !== 'DeleteOptions').map((sample) => [sample.request, sample] as const))(
    'accepts the recorded request %s',
    (_, { protobuf, json }) => {
      const kind = kindOf(json);
      expect(decode(Buffer.from(protobuf, 'base64'), { kind })).toEqual(
        decode(Buffer.from(JSON.stringify(json)), { kind, mediaType: 'json' }),
      );
    },
  );

  it.each(SAMPLES.recorded.filter(({ json }) => json.kind === 'DeleteOptions').map((sample) => [sample.request, sample] as const))(
    'decodes the DeleteOptions of %s',
    (_, { protobuf, json }) => {
      const {
        kind: _kind,
        apiVersion: _apiVersion,
        ...expected
      } = readTypedBody(Buffer.from(JSON.stringify(json)), 'json').decode(DELETE_OPTIONS).value;
      expect(readTypedBody(Buffer.from(protobuf, 'base64'), 'protobuf').decode(DELETE_OPTIONS).value).toEqual(expected);
    },
  );

  it('uses the type of the endpoint for a missing or invalid type', () => {
    const message = '12070a050a0370627a';
    const expected = { apiVersion: 'v1', kind: 'ConfigMap', metadata: { name: 'pbz' } };
    expect(decode(hex(`${MAGIC}${message}`)).object).toEqual(expected);
    expect(decode(hex(`${MAGIC}0a070a05612f622f63${message}`)).object).toEqual(expected);
    expect(decode(hex(`${MAGIC}0a040a02612f${message}`)).object).toEqual(expected);
  });

  it('ignores unknown fields under any field validation', () => {
    expect(decode(envelope('0a050a0370627af80101')).object.metadata).toEqual({ name: 'pbz' });
  });

  it.each([
    ['', 'the object provided is unrecognized (must be of type ConfigMap): empty data (<empty>)'],
    [
      '7b7d',
      'the object provided is unrecognized (must be of type ConfigMap): provided data does not appear to be a protobuf message, expected prefix [107 56 115 0] ({})',
    ],
    [MAGIC, 'the object provided is unrecognized (must be of type ConfigMap): empty body (6b387300)'],
    [`${MAGIC}0a0f0a`, 'the object provided is unrecognized (must be of type ConfigMap): unexpected EOF (6b3873000a0f0a)'],
    [
      `${MAGIC}0801`,
      'the object provided is unrecognized (must be of type ConfigMap): proto: wrong wireType = 0 for field TypeMeta (6b3873000801)',
    ],
    [
      `${MAGIC}0000`,
      'the object provided is unrecognized (must be of type ConfigMap): proto: Unknown: illegal tag 0 (wire type 0) (6b3873000000)',
    ],
    [
      `${MAGIC}0c`,
      'the object provided is unrecognized (must be of type ConfigMap): proto: Unknown: wiretype end group for non-group (6b3873000c)',
    ],
    [`${MAGIC}2f00`, 'the object provided is unrecognized (must be of type ConfigMap): proto: illegal wireType 7 (6b3873002f00)'],
    [
      `${MAGIC}0a0c0a0276311206536563726574`,
      'Secret in version "v1" cannot be handled as a ConfigMap: converting (v1.Secret) to (core.ConfigMap): unknown conversion',
    ],
  ])('rejects an invalid envelope or another kind: %s', (body, message) => {
    expect(statusOf(() => decode(hex(body)))).toMatchObject({ code: 400, message });
  });

  it.each([
    ['ff', 'unexpected EOF'],
    ['0a7f', 'unexpected EOF'],
    ['0a050a0370627a2901', 'unexpected EOF'],
    ['0801', 'proto: wrong wireType = 0 for field ObjectMeta'],
    ['1001', 'proto: wrong wireType = 0 for field Data'],
    ['2201', 'proto: wrong wireType = 2 for field Immutable'],
    ['0a03080000', 'proto: wrong wireType = 0 for field Name'],
    ['0c', 'proto: ConfigMap: wiretype end group for non-group'],
    ['0007', 'proto: ConfigMap: illegal tag 0 (wire type 0)'],
    ['ffffffffffffffffffff01', 'proto: integer overflow'],
    ['0affffffffffffffffff01', 'proto: negative length found during unmarshaling'],
    ['2f', 'proto: illegal wireType 7'],
  ])('rejects an invalid message: %s', (message, problem) => {
    expect(statusOf(() => decode(envelope(message)))).toMatchObject({
      code: 400,
      message: `ConfigMap in version "v1" cannot be handled as a ConfigMap: ${problem}`,
    });
  });

  it('rejects fields that exist only in JSON', () => {
    const undescribed = Buffer.from(SAMPLES.undescribed, 'base64');
    expect(statusOf(() => decode(undescribed, { kind: podKind }))).toMatchObject({
      code: 415,
      message: 'the body of the request was in an unknown format - accepted media types include: application/json, application/yaml',
    });
  });

  it('rejects protobuf for custom resources', () => {
    const kind = { group: 'wire.dev', version: 'v1', kind: 'Wire', builtIn: false, schema: {} };
    expect(statusOf(() => decode(envelope('0a00'), { kind }))).toMatchObject({ code: 415, reason: 'UnsupportedMediaType' });
  });
});

describe('decodeMessage', () => {
  const INNER = struct('v1.Inner', { name: text(), on: pointer(bool()), at: { type: 'number', go: { type: 'float64' } } });
  const SAMPLE: Schema = struct('v1.Sample', {
    small: int32(),
    large: pointer(int64()),
    numbers: list(int32()),
    inner: INNER,
    behind: pointer(INNER),
    labels: map(text()),
    blobs: map(bytes()),
    extra: map(list(text())),
  });

  it.each([
    ['0800', {}],
    ['08ffffffffffffffffff01', { small: -1 }],
    ['1000', { large: 0 }],
    ['10ffffffffffffffff7f', { large: 9_223_372_036_854_775_807n }],
    ['1080808080808080808001', { large: -9_223_372_036_854_775_808n }],
    ['18011802', { numbers: [1, 2] }],
    ['1a03010203', { numbers: [1, 2, 3] }],
    ['18011a020203', { numbers: [1, 2, 3] }],
    ['1a00', {}],
    ['2200', {}],
    ['22020a00', {}],
    ['22021000', { inner: { on: false } }],
    ['22030a0161220210012200', { inner: { name: 'a', on: true } }],
    ['22030a016122020a00', {}],
    ['220919000000000000f8bf', { inner: { at: -1.5 } }],
    ['2a00', { behind: {} }],
    ['32060a016112016232061201630a0161', { labels: { a: 'c' } }],
    ['32030a0161', { labels: { a: '' } }],
    ['3200', { labels: { '': '' } }],
    ['32081a01780a01611200', { labels: { a: '' } }],
    ['3a070a0161120200ff', { blobs: { a: 'AP8=' } }],
    ['420b0a016112060a01780a0179', { extra: { a: ['x', 'y'] } }],
    ['5a01ff', {}],
    ['5b08015c', {}],
    ['5d00000000', {}],
  ])('decodes %s like Go', (message, expected) => {
    expect(decodeMessage(hex(message), SAMPLE)).toEqual(expected);
  });

  it('decodes a map of many entries', () => {
    const entries = Array.from({ length: 50_000 }, (_, index) => `32080a06${Buffer.from(String(index).padStart(6, '0')).toString('hex')}`);
    const { labels } = decodeMessage(hex(entries.join('')), SAMPLE);
    expect(Object.keys(labels ?? {})).toHaveLength(50_000);
  });

  it('decodes invalid UTF-8 to replacement characters', () => {
    expect(decodeMessage(hex('0a0361ff7a'), struct('v1.Text', { name: text() }))).toEqual({ name: 'a\ufffdz' });
  });
});
