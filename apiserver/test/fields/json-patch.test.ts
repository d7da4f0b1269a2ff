import { describe, expect, it } from '@jest/globals';
import * as fc from 'fast-check';
import { applyJsonPatch, applyMergePatch } from '../../fields/json-patch.ts';
import { resultOrStatus } from '../status.ts';

const DOCUMENT = { kind: 'ConfigMap', data: { a: '1', 'x/y~z': '2' }, list: ['p', 'q'], empty: null };

const REJECTED = {
  message: 'the server rejected our request due to an error in our request',
  reason: 'Invalid',
  details: {},
  code: 422,
};

describe('applyJsonPatch', () => {
  it.each([
    ['adds a member', [{ op: 'add', path: '/data/b', value: '2' }], { data: { a: '1', 'x/y~z': '2', b: '2' } }],
    ['adds null if the operation has no value', [{ op: 'add', path: '/data/b' }], { data: { a: '1', 'x/y~z': '2', b: null } }],
    ['adds a missing member by replace', [{ op: 'replace', path: '/new', value: 1 }], { new: 1 }],
    ['decodes escaped names', [{ op: 'remove', path: '/data/x~1y~0z' }], { data: { a: '1' } }],
    ['moves a member', [{ op: 'move', from: '/data/a', path: '/moved' }], { data: { 'x/y~z': '2' }, moved: '1' }],
    ['copies a member', [{ op: 'copy', from: '/data/a', path: '/copied' }], { copied: '1' }],
    ['copies a missing member as null', [{ op: 'copy', from: '/none', path: '/copied' }], { copied: null }],
    ['appends to a list', [{ op: 'add', path: '/list/-', value: 'r' }], { list: ['p', 'q', 'r'] }],
    ['inserts into a list', [{ op: 'add', path: '/list/0', value: 'o' }], { list: ['o', 'p', 'q'] }],
    ['removes an entry by a negative index', [{ op: 'remove', path: '/list/-1' }], { list: ['p'] }],
    ['inserts an entry by a negative index', [{ op: 'add', path: '/list/-1', value: 'r' }], { list: ['p', 'q', 'r'] }],
    ['ignores text before the first slash', [{ op: 'add', path: 'data/foo', value: 1 }], { foo: 1 }],
    ['treats a missing member as null in a test', [{ op: 'test', path: '/none' }], {}],
    ['compares objects regardless of the order of members', [{ op: 'test', path: '/data', value: { 'x/y~z': '2', a: '1' } }], {}],
    ['returns the document for the patch null', null, {}],
    ['adds a member with the name __proto__', [{ op: 'add', path: '/__proto__', value: 1 }], { ['__proto__']: 1 }],
  ])('%s', (_, patch, changes) => {
    expect(applyJsonPatch(DOCUMENT, patch)).toEqual({ ...DOCUMENT, ...changes });
  });

  it.each([
    ['a failed test', [{ op: 'test', path: '/data/a', value: '2' }]],
    ['a missing member to remove', [{ op: 'remove', path: '/data/none' }]],
    ['a missing parent', [{ op: 'add', path: '/none/x', value: 1 }]],
    ['a parent that is null', [{ op: 'add', path: '/empty/x', value: 1 }]],
    ['a parent that is a scalar', [{ op: 'add', path: '/kind/x', value: 1 }]],
    ['an index beyond the end', [{ op: 'replace', path: '/list/2', value: 1 }]],
    ['an index before the start', [{ op: 'remove', path: '/list/-3' }]],
    ['a dash as the index of a replacement', [{ op: 'replace', path: '/list/-', value: 1 }]],
    ['an unknown operation', [{ op: 'bad', path: '/data/a' }]],
    ['an operation without op', [{}]],
    ['a null operation', [null]],
    ['a missing path', [{ op: 'add', value: 1 }]],
    ['adding the whole document', [{ op: 'add', path: '', value: {} }]],
    ['a scalar for the whole document', [{ op: 'replace', path: '', value: 5 }]],
  ])('rejects %s with an error that does not name the cause', (_, patch) => {
    expect(resultOrStatus(() => applyJsonPatch(DOCUMENT, patch))).toMatchObject(REJECTED);
  });

  it.each([
    [{}, '[]handlers.jsonPatchOp', 'object'],
    ['x', '[]handlers.jsonPatchOp', 'string'],
    [[1], 'handlers.jsonPatchOp', 'number'],
    [[[]], 'handlers.jsonPatchOp', 'array'],
  ])('reports the type of the malformed patch %j', (patch, type, found) => {
    expect(() => applyJsonPatch(DOCUMENT, patch)).toThrow(
      `error decoding patch: json: cannot unmarshal ${found} into Go value of type ${type}`,
    );
  });

  it('reports a field of the wrong type', () => {
    const patch = [{ op: 'add', path: 5 }];
    expect(() => applyJsonPatch(DOCUMENT, patch)).toThrow(
      'json: cannot unmarshal number into Go struct field jsonPatchOp.path of type string',
    );
  });

  it('rejects more than 10,000 operations', () => {
    const operation = { op: 'test', path: '/kind', value: 'ConfigMap' };
    expect(
      applyJsonPatch(
        DOCUMENT,
        Array.from({ length: 10_000 }, () => operation),
      ),
    ).toEqual(DOCUMENT);
    expect(
      resultOrStatus(() =>
        applyJsonPatch(
          DOCUMENT,
          Array.from({ length: 10_001 }, () => operation),
        ),
      ),
    ).toMatchObject({
      message: 'Request entity too large: The allowed maximum operations in a JSON patch is 10000, got 10001',
      reason: 'RequestEntityTooLarge',
      code: 413,
    });
  });

  it('copies values independently of later changes', () => {
    const patch = [
      { op: 'add', path: '/data/b', value: { c: 1 } },
      { op: 'copy', from: '/data', path: '/copy' },
      { op: 'add', path: '/data/b/d', value: 2 },
      { op: 'add', path: '/copy/b/e', value: 3 },
    ];
    expect(applyJsonPatch({ data: { a: '1' } }, patch)).toEqual({
      data: { a: '1', b: { c: 1, d: 2 } },
      copy: { a: '1', b: { c: 1, e: 3 } },
    });
    expect(patch[0]?.value).toEqual({ c: 1 });
  });

  it('rejects a patch that copies more than 3 MiB', () => {
    const text = 'x'.repeat(1024 * 1024);
    const patch = (copies: number) => Array.from({ length: copies }, (_, index) => ({ op: 'copy', from: '/text', path: `/copy${index}` }));
    expect(Object.keys(applyJsonPatch({ text }, patch(2)) as object)).toHaveLength(3);
    expect(resultOrStatus(() => applyJsonPatch({ text }, patch(3)))).toMatchObject(REJECTED);
  });

  it('does not change the document in place', () => {
    const paths = fc.constantFrom('/data/a', '/data/b', '/list/0', '/list/-', '/none/x', '');
    const operation = fc.record({
      op: fc.constantFrom('add', 'remove', 'replace', 'move', 'copy', 'test'),
      path: paths,
      from: paths,
      value: fc.jsonValue(),
    });
    fc.assert(
      fc.property(fc.array(operation, { maxLength: 4 }), (patch) => {
        const document = structuredClone(DOCUMENT);
        resultOrStatus(() => applyJsonPatch(document, patch));
        expect(document).toEqual(DOCUMENT);
      }),
    );
  });
});

describe('applyMergePatch', () => {
  it.each([
    ['sets and replaces fields', { a: 1, b: 2 }, { b: 3, c: 4 }, { a: 1, b: 3, c: 4 }],
    ['deletes fields by null', { a: 1, b: 2 }, { b: null, c: null }, { a: 1 }],
    ['merges objects', { a: { b: 1, c: 2 } }, { a: { c: null, d: 3 } }, { a: { b: 1, d: 3 } }],
    ['replaces lists', { a: [1, 2] }, { a: [3] }, { a: [3] }],
    ['drops nulls in added objects', {}, { a: { b: null, c: [{ d: null, e: 1 }] } }, { a: { c: [{ e: 1 }] } }],
    ['drops nulls in a list that replaces a list', { a: [1] }, { a: [{ b: null }] }, { a: [{}] }],
    ['keeps nulls in a list that replaces an object', { a: {} }, { a: [{ b: null }] }, { a: [{ b: null }] }],
    ['replaces a null field', { a: null }, { a: { b: 1 } }, { a: { b: 1 } }],
    ['keeps a field with the name constructor', { constructor: 1 }, { a: 1 }, { constructor: 1, a: 1 }],
  ])('%s', (_, document, patch, result) => {
    expect(applyMergePatch(document, patch)).toEqual(result);
  });

  it.each([
    [[], 'error decoding patch: json: cannot unmarshal array into Go value of type map[string]interface {}'],
    [true, 'error decoding patch: json: cannot unmarshal bool into Go value of type map[string]interface {}'],
    [null, 'Invalid JSON Patch'],
  ] as const)('rejects the patch %j', (patch, message) => {
    expect(() => applyMergePatch({}, patch)).toThrow(message);
  });

  it('returns the same document for a third application of a patch', () => {
    // The first application may replace an object with a list that contains nulls; the second replaces that list and drops the nulls.
    fc.assert(
      fc.property(fc.dictionary(fc.string(), fc.jsonValue()), fc.dictionary(fc.string(), fc.jsonValue()), (document, patch) => {
        const twice = applyMergePatch(applyMergePatch(document, patch) as Record<string, unknown>, patch) as Record<string, unknown>;
        expect(applyMergePatch(twice, patch)).toEqual(twice);
      }),
    );
  });
});
