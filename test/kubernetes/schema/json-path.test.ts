import { describe, expect, it } from '@jest/globals';
import type { Value } from '../../../src/kubernetes/object.ts';
import { parseJsonPath } from '../../../src/kubernetes/schema/json-path.ts';

const object: Value = {
  spec: { list: ['a', 'b', 'c'], map: { k: 'v', 'a.b': 'dot' }, n: 5 },
  status: {
    conditions: [
      { type: 'Ready', status: 'True', age: 3 },
      { type: 'Other', age: 9 },
    ],
  },
};

describe('parseJsonPath', () => {
  it.each<readonly [string, readonly Value[]]>([
    ['.spec.n', [5]],
    ['.spec.missing', []],
    ['.spec.missing.deeper', []],
    ['.spec.list[0]', ['a']],
    ['.spec.list[-1]', ['c']],
    ['.spec.list[1:]', ['b', 'c']],
    ['.spec.list[0:2]', ['a', 'b']],
    ['.spec.list[*]', ['a', 'b', 'c']],
    ['.spec.map.*', ['v', 'dot']],
    [".spec.map['k']", ['v']],
    ['.spec.map.a\\.b', ['dot']],
    [".spec.map['a\\.b']", ['dot']],
    ['.status.conditions[?(@.type=="Ready")].status', ['True']],
    [".status.conditions[?(@.type=='Other')].age", [9]],
    ['.status.conditions[?(@.age>5)].type', ['Other']],
    ['.status.conditions[?(@.type!="Ready")].age', [9]],
    ['.status.conditions[?(@.status)].type', ['Ready']],
    ['.status.conditions[*].type', ['Ready', 'Other']],
    ['.status.conditions[?(@.type=="None")].status', []],
  ])('evaluates the path %s to %j', (path, expected) => {
    expect(parseJsonPath(path)(object)).toEqual(expected);
  });

  it.each([
    ['.spec.n[0]', 'not a list'],
    ['.spec.list[9]', 'array index out of bounds'],
    ['.spec.map[?(@.a=="b")]', 'not a list'],
  ])('throws for the path %s, which the object does not have', (path, problem) => {
    expect(() => parseJsonPath(path)(object)).toThrow(problem);
  });

  it.each([
    ['spec', 'unrecognized JSONPath at "spec"'],
    ['.spec[', 'unrecognized JSONPath at "["'],
    ['.spec[x]', 'invalid array index x'],
    ['.spec[?(@.a<>"b")]', 'unrecognized filter operator <>'],
    ['.spec[?(@.a==b)]', 'unrecognized operand b'],
    ['..', 'unrecognized JSONPath at ".."'],
  ])('rejects %s', (path, problem) => {
    expect(() => parseJsonPath(path)).toThrow(problem);
  });
});
