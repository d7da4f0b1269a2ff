// An invalid query, header or body of a token request never causes an internal error.

import { afterEach, describe, expect, it } from '@jest/globals';
import * as fc from 'fast-check';
import { scaled } from '../../support/scaled.ts';
import { ALLOWED, bytesOf, FacadeWorld, TOKEN_PATH, TOKEN_REQUEST } from '../facade-world.ts';
import { isWhole, responsesIn } from '../raw-connection.ts';

let world: FacadeWorld;
afterEach(() => world.close());

const PARAMETERS = ['dryRun', 'fieldManager', 'fieldValidation', 'pretty', 'timeout', 'watch', 'resourceVersion', '%ff', 'constructor'];
const VALUES = [
  '',
  'All',
  'Warn',
  'Strict',
  'Ignore',
  'true',
  '0',
  '-1s',
  '1h',
  '%00',
  '%C3%A9',
  '%ff',
  '%zz',
  '%ED%A0%80',
  '+',
  'a;b',
  'x'.repeat(200),
];
const HEADERS = [
  'Accept',
  'Accept-Encoding',
  'Audit-ID',
  'Content-Encoding',
  'Content-Type',
  'If-None-Match',
  'Range',
  'User-Agent',
  'X-Forwarded-For',
  '__proto__',
];
const HEADER_VALUES = [
  '',
  ',',
  ';',
  '/',
  '*/*',
  'application/json',
  'application/yaml',
  'application/json;as=Table;v=v1;g=meta.k8s.io',
  'application/json;as=PartialObjectMetadataList;v=v1;g=meta.k8s.io',
  'application/vnd.kubernetes.protobuf',
  'application/json; charset="',
  'application/json;;charset',
  'gzip',
  'identity',
  'curl',
  '\u00c3\u00a9\u00ff',
];
const BODIES = [
  '',
  '{',
  '[]',
  'null',
  '"x"',
  '0',
  '{}',
  '{"spec":null}',
  '{"spec":[]}',
  '{"spec":{"audiences":"api"}}',
  '{"spec":{"audiences":["api"],"expirationSeconds":1e400}}',
  '{"spec":{"audiences":["api"],"expirationSeconds":-9223372036854775808}}',
  '{"spec":{"audiences":["api"],"boundObjectRef":{"kind":5}}}',
  '{"spec":{"audiences":["api"],"boundObjectRef":{}}}',
  '{"__proto__":{"a":1},"constructor":{},"spec":{"audiences":["api"]}}',
  '{"metadata":{"name":1}}',
  '{"kind":"Pod","apiVersion":"v1"}',
  'a: [b',
  '- &a [*a]',
  'k8s\0\n\u0001',
  JSON.stringify(TOKEN_REQUEST),
];

const oneOf = (values: readonly string[]) => fc.constantFrom(...values);
const query = fc
  .array(fc.tuple(oneOf(PARAMETERS), oneOf(VALUES)), { maxLength: 3 })
  .map((pairs) => pairs.map((pair) => pair.join('=')).join('&'));
const lines = fc
  .array(fc.tuple(oneOf(HEADERS), oneOf(HEADER_VALUES)), { maxLength: 3 })
  .map((pairs) => pairs.map((pair) => pair.join(': ')));
const body = fc.oneof({ weight: 3, arbitrary: oneOf(BODIES) }, fc.string({ maxLength: 40, unit: 'binary' }));

describe('token endpoint', () => {
  it('returns no internal error for an invalid query, header or body', async () => {
    world = await FacadeWorld.start();
    let connection = await world.open();
    const property = fc.asyncProperty(query, lines, body, async (parameters, more, text) => {
      if (connection.isClosed) connection = await world.open();
      const from = connection.text.length;
      const target = `${TOKEN_PATH}?${parameters}`;
      await connection.write(bytesOf({ target, lines: ['Host: f', `Authorization: Bearer ${ALLOWED}`], more, body: text }));
      const received = await connection.read((so) => isWhole(so.slice(from)));
      const [response] = responsesIn(received.text.slice(from));
      expect([201, 400, 404, 406, 415, 422, 504]).toContain(response?.status);
    });
    await fc.assert(property, { seed: 1_936, numRuns: scaled({ full: 500, quick: 50 }), endOnFailure: true });
    connection.destroy();
    expect(world.lines.filter((line) => line.includes('"level":"error"'))).toEqual([]);
  }, 120_000);
});
