// CEL validation rules of custom resources: their messages, and transition rules.

import { beforeAll, describe, expect, it } from '@jest/globals';
import { createAdmin, definition } from './admin.ts';
import { createSender, outcome } from './requests.ts';
import { contractServer } from './server.ts';

const server = contractServer();
const send = createSender(server);
const RULED = '/apis/rules.test/v1/ruleds';

const text = { type: 'string', maxLength: 20 };
const rules = (schema: object, ...list: readonly object[]) => ({ ...schema, 'x-kubernetes-validations': list });
const SPEC = rules(
  {
    type: 'object',
    properties: {
      plain: rules(text, { rule: 'self != "bad"' }),
      described: rules(text, { rule: 'self != "bad"', message: 'must not be bad' }),
      reasons: rules(
        { type: 'integer' },
        { rule: 'self != 1', reason: 'FieldValueForbidden' },
        { rule: 'self != 4', reason: 'FieldValueInvalid' },
      ),
      failing: rules({ type: 'integer' }, { rule: '10 / self > 0' }),
      list: rules(
        { type: 'array', items: text, maxItems: 5 },
        { rule: 'self.all(each, each.startsWith("k"))', message: 'all items must start with k' },
      ),
      map: rules({ type: 'object', additionalProperties: text, maxProperties: 5 }, { rule: 'self.all(key, self[key] != key)' }),
      time: rules({ type: 'string', format: 'date-time' }, { rule: 'self > timestamp("2020-01-01T00:00:00Z")', message: 'is in the past' }),
      fixed: rules(text, { rule: 'self == oldSelf', message: 'is immutable' }),
    },
  },
  {
    rule: '!has(self.plain) || !has(self.described) || self.plain != self.described',
    message: 'must differ from plain',
    fieldPath: '.described',
  },
  { rule: 'has(self.fixed) == has(oldSelf.fixed)', message: 'fixed cannot be added or removed' },
);
const STATUS = rules({ type: 'object', properties: { used: { type: 'integer' } } }, { rule: 'self.used < 5', message: 'limit exceeded' });

beforeAll(async () => {
  const root = { type: 'object', properties: { spec: SPEC, status: STATUS } };
  const schema = { openAPIV3Schema: rules(root, { rule: 'self.metadata.name != "evil"', message: 'the name evil is reserved' }) };
  const version = { name: 'v1', served: true, storage: true, subresources: { status: {} }, schema };
  await createAdmin(server).define(definition('rules.test', 'Ruled', 'Cluster', [version]), RULED);
});

let count = 0;

async function createRuled(spec: object, name?: string): Promise<{ readonly name: string; readonly result: string }> {
  count += 1;
  const metadata = { name: name ?? `r${count}` };
  const response = await send(RULED, { body: { apiVersion: 'rules.test/v1', kind: 'Ruled', metadata, spec } });
  return { name: metadata.name, result: outcome(response) };
}

async function change(name: string, body: object, path = ''): Promise<string> {
  const headers = { 'content-type': 'application/merge-patch+json' };
  return outcome(await send(`${RULED}/${name}${path}`, { method: 'PATCH', headers, body }));
}

describe('CEL rule', () => {
  it.each([
    [{ plain: 'bad' }, 'spec.plain: Invalid value: "bad": failed rule: self != "bad"'],
    [{ described: 'bad' }, 'spec.described: Invalid value: "bad": must not be bad'],
    [{ reasons: 1 }, 'spec.reasons: Forbidden: failed rule: self != 1'],
    [{ reasons: 4 }, 'spec.reasons: Invalid value: 4: failed rule: self != 4'],
    [{ failing: 0 }, 'spec.failing: Invalid value: "integer": division by zero evaluating rule: 10 / self > 0'],
    [{ list: ['k', 'x'] }, 'spec.list: Invalid value: all items must start with k'],
    [{ map: { a: 'a' } }, 'spec.map: Invalid value: failed rule: self.all(key, self[key] != key)'],
    [{ time: '2019-12-31T00:00:00Z' }, 'spec.time: Invalid value: "2019-12-31T00:00:00Z": is in the past'],
    [{ plain: 'x', described: 'x' }, 'spec.described: Invalid value: must differ from plain'],
  ])('rejects %j', async (spec, problem) => {
    const { name, result } = await createRuled(spec);
    expect(result).toBe(`422 Invalid: Ruled.rules.test "${name}" is invalid: ${problem}`);
  });

  it('reads metadata.name in a rule for the root of the object', async () => {
    expect((await createRuled({}, 'evil')).result).toBe(
      '422 Invalid: Ruled.rules.test "evil" is invalid: <nil>: Invalid value: the name evil is reserved',
    );
  });

  it('reports a cause with its field and reason', async () => {
    const body = { apiVersion: 'rules.test/v1', kind: 'Ruled', metadata: { name: 'caused' }, spec: { reasons: 1 } };
    expect((await send(RULED, { body })).body['details']).toEqual({
      name: 'caused',
      group: 'rules.test',
      kind: 'Ruled',
      causes: [{ reason: 'FieldValueForbidden', message: 'Forbidden: failed rule: self != 1', field: 'spec.reasons' }],
    });
  });

  it('skips CEL rules for an object that the schema rejects', async () => {
    const { name, result } = await createRuled({ plain: 1, described: 'bad' });
    expect(result).toBe(
      `422 Invalid: Ruled.rules.test "${name}" is invalid: [spec.plain: Invalid value: "integer": spec.plain in body must be of type string: "integer", ` +
        '<nil>: Invalid value: null: some validation rules were not checked because the object was invalid; correct the existing errors to complete validation]',
    );
  });

  it('accepts an object with valid values', async () => {
    const spec = {
      plain: 'a',
      described: 'b',
      reasons: 5,
      failing: 1,
      list: ['k1'],
      map: { a: 'b' },
    };
    expect((await createRuled(spec)).result).toBe('201');
  });
});

describe('CEL transition rule', () => {
  it.each([
    ['accepts a change to other fields', { fixed: 'a' }, { spec: { plain: 'b' } }, '200'],
    ['rejects a change to an immutable field', { fixed: 'a' }, { spec: { fixed: 'b' } }, 'spec.fixed: Invalid value: "b": is immutable'],
    [
      'rejects the removal of an immutable field',
      { fixed: 'a' },
      { spec: { fixed: null } },
      'spec: Invalid value: fixed cannot be added or removed',
    ],
    ['rejects the addition of an immutable field', {}, { spec: { fixed: 'a' } }, 'spec: Invalid value: fixed cannot be added or removed'],
  ])('%s', async (_, spec, patch, expected) => {
    const { name } = await createRuled(spec);
    const result = await change(name, patch);
    expect(result).toBe(expected === '200' ? '200' : `422 Invalid: Ruled.rules.test "${name}" is invalid: ${expected}`);
  });

  it('evaluates only status rules in a change to the status', async () => {
    const { name } = await createRuled({ fixed: 'a' });
    expect(await change(name, { status: { used: 5 } }, '/status')).toBe(
      `422 Invalid: Ruled.rules.test "${name}" is invalid: status: Invalid value: limit exceeded`,
    );
    expect(await change(name, { status: { used: 4 } }, '/status')).toBe('200');
  });
});
