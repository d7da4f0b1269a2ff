// Rules in CEL: what a refusal says and where, and rules that compare with what was before.

import { beforeAll, describe, expect, it } from '@jest/globals';
import { adminOf, definition } from './admin.ts';
import { outcome } from './objects.ts';
import { askOf } from './requests.ts';
import { contractServer } from './server.ts';

const server = contractServer();
const ask = askOf(server);
const RULED = '/apis/rules.test/v1/ruleds';

const text = { type: 'string', maxLength: 20 };
const rules = (schema: object, ...list: readonly object[]) => ({ ...schema, 'x-kubernetes-validations': list });
const SPEC = rules(
  {
    type: 'object',
    properties: {
      plain: rules(text, { rule: 'self != "bad"' }),
      said: rules(text, { rule: 'self != "bad"', message: 'must not be bad' }),
      reasons: rules(
        { type: 'integer' },
        { rule: 'self != 1', reason: 'FieldValueForbidden' },
        { rule: 'self != 4', reason: 'FieldValueInvalid' },
      ),
      failing: rules({ type: 'integer' }, { rule: '10 / self > 0' }),
      list: rules(
        { type: 'array', items: text, maxItems: 5 },
        { rule: 'self.all(each, each.startsWith("k"))', message: 'all begin with k' },
      ),
      map: rules({ type: 'object', additionalProperties: text, maxProperties: 5 }, { rule: 'self.all(key, self[key] != key)' }),
      time: rules({ type: 'string', format: 'date-time' }, { rule: 'self > timestamp("2020-01-01T00:00:00Z")', message: 'is over' }),
      fixed: rules(text, { rule: 'self == oldSelf', message: 'is fixed' }),
    },
  },
  { rule: '!has(self.plain) || !has(self.said) || self.plain != self.said', message: 'plain and said differ', fieldPath: '.said' },
  { rule: 'has(self.fixed) == has(oldSelf.fixed)', message: 'fixed comes and goes never' },
);
const STATUS = rules({ type: 'object', properties: { used: { type: 'integer' } } }, { rule: 'self.used < 5', message: 'too much is used' });

beforeAll(async () => {
  const root = { type: 'object', properties: { spec: SPEC, status: STATUS } };
  const schema = { openAPIV3Schema: rules(root, { rule: 'self.metadata.name != "evil"', message: 'no evil' }) };
  const version = { name: 'v1', served: true, storage: true, subresources: { status: {} }, schema };
  await adminOf(server).define(definition('rules.test', 'Ruled', 'Cluster', [version]), RULED);
}, 60_000);

let count = 0;

async function make(spec: object, name?: string): Promise<{ readonly name: string; readonly said: string }> {
  count += 1;
  const metadata = { name: name ?? `r${count}` };
  const answer = await ask(RULED, { body: { apiVersion: 'rules.test/v1', kind: 'Ruled', metadata, spec } });
  return { name: metadata.name, said: outcome(answer) };
}

async function change(name: string, body: object, path = ''): Promise<string> {
  const headers = { 'content-type': 'application/merge-patch+json' };
  return outcome(await ask(`${RULED}/${name}${path}`, { method: 'PATCH', headers, body }));
}

describe('a CEL rule', () => {
  it.each([
    [{ plain: 'bad' }, 'spec.plain: Invalid value: "bad": failed rule: self != "bad"'],
    [{ said: 'bad' }, 'spec.said: Invalid value: "bad": must not be bad'],
    [{ reasons: 1 }, 'spec.reasons: Forbidden: failed rule: self != 1'],
    [{ reasons: 4 }, 'spec.reasons: Invalid value: 4: failed rule: self != 4'],
    [{ failing: 0 }, 'spec.failing: Invalid value: "integer": division by zero evaluating rule: 10 / self > 0'],
    [{ list: ['k', 'x'] }, 'spec.list: Invalid value: all begin with k'],
    [{ map: { a: 'a' } }, 'spec.map: Invalid value: failed rule: self.all(key, self[key] != key)'],
    [{ time: '2019-12-31T00:00:00Z' }, 'spec.time: Invalid value: "2019-12-31T00:00:00Z": is over'],
    [{ plain: 'x', said: 'x' }, 'spec.said: Invalid value: plain and said differ'],
  ])('rejects %j', async (spec, problem) => {
    const { name, said } = await make(spec);
    expect(said).toBe(`422 Invalid: Ruled.rules.test "${name}" is invalid: ${problem}`);
  });

  it('at the root reads metadata.name', async () => {
    expect((await make({}, 'evil')).said).toBe('422 Invalid: Ruled.rules.test "evil" is invalid: <nil>: Invalid value: no evil');
  });

  it('reports a cause with field and reason', async () => {
    const body = { apiVersion: 'rules.test/v1', kind: 'Ruled', metadata: { name: 'caused' }, spec: { reasons: 1 } };
    expect((await ask(RULED, { body })).body['details']).toEqual({
      name: 'caused',
      group: 'rules.test',
      kind: 'Ruled',
      causes: [{ reason: 'FieldValueForbidden', message: 'Forbidden: failed rule: self != 1', field: 'spec.reasons' }],
    });
  });

  it('is not evaluated on an invalid object', async () => {
    const { name, said } = await make({ plain: 1, said: 'bad' });
    expect(said).toBe(
      `422 Invalid: Ruled.rules.test "${name}" is invalid: [spec.plain: Invalid value: "integer": spec.plain in body must be of type string: "integer", ` +
        '<nil>: Invalid value: null: some validation rules were not checked because the object was invalid; correct the existing errors to complete validation]',
    );
  });

  it('accepts valid values', async () => {
    const spec = {
      plain: 'a',
      said: 'b',
      reasons: 5,
      failing: 1,
      list: ['k1'],
      map: { a: 'b' },
    };
    expect((await make(spec)).said).toBe('201');
  });
});

describe('a transition rule', () => {
  it.each([
    ['is not asked on create', { fixed: 'a' }, { spec: { plain: 'b' } }, '200'],
    ['refuses a change', { fixed: 'a' }, { spec: { fixed: 'b' } }, 'spec.fixed: Invalid value: "b": is fixed'],
    ['refuses what goes', { fixed: 'a' }, { spec: { fixed: null } }, 'spec: Invalid value: fixed comes and goes never'],
    ['refuses what comes', {}, { spec: { fixed: 'a' } }, 'spec: Invalid value: fixed comes and goes never'],
  ])('%s', async (_, spec, patch, expected) => {
    const { name } = await make(spec);
    const said = await change(name, patch);
    expect(said).toBe(expected === '200' ? '200' : `422 Invalid: Ruled.rules.test "${name}" is invalid: ${expected}`);
  });

  it('is evaluated on the status alone', async () => {
    const { name } = await make({ fixed: 'a' });
    expect(await change(name, { status: { used: 5 } }, '/status')).toBe(
      `422 Invalid: Ruled.rules.test "${name}" is invalid: status: Invalid value: too much is used`,
    );
    expect(await change(name, { status: { used: 4 } }, '/status')).toBe('200');
  });
});
