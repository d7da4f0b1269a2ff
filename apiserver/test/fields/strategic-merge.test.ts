import { describe, expect, it } from '@jest/globals';
import * as fc from 'fast-check';
import { applyStrategicMergePatch } from '../../fields/strategic-merge.ts';
import { LEDGER, ledger } from './sample-kinds.ts';

const names = (...list: readonly string[]): readonly { readonly name: string }[] => list.map((name) => ({ name }));

const LIVE = ledger({ data: { a: '1' }, secrets: names('s1', 's2', 's3') }, { labels: { a: '1' }, finalizers: ['e.io/a', 'e.io/b'] });

describe('applyStrategicMergePatch', () => {
  it.each([
    ['merges maps, and deletes fields by null', { data: { a: null, b: '2' } }, { data: { b: '2' } }],
    [
      'merges lists by key, in the order of the patch',
      { secrets: [{ name: 's3' }, { name: 'n' }, { name: 's1', note: 'x' }] },
      { secrets: [{ name: 's2' }, { name: 's3' }, { name: 'n' }, { name: 's1', note: 'x' }] },
    ],
    ['deletes entries by directive', { secrets: [{ name: 's2', $patch: 'delete' }, { name: 'n' }] }, { secrets: names('n', 's1', 's3') }],
    ['replaces a list by directive', { secrets: [{ name: 'n' }, { $patch: 'replace' }] }, { secrets: names('n') }],
    ['replaces lists without a merge strategy', { rules: ['x'], pulls: names('p') }, { rules: ['x'], pulls: names('p') }],
    ['sorts a list by $setElementOrder', { '$setElementOrder/secrets': names('s3', 's1') }, { secrets: names('s2', 's3', 's1') }],
    [
      'sorts a list with added entries',
      { '$setElementOrder/secrets': names('s3', 'n1', 's1'), secrets: names('n1') },
      { secrets: names('s2', 's3', 'n1', 's1') },
    ],
    [
      'drops directives from new entries',
      {
        pulls: [
          { name: 'a', $patch: 'delete' },
          { name: 'b', x: null },
        ],
      },
      { pulls: names('b') },
    ],
    ['ignores a delete directive for an absent field', { link: { $patch: 'delete' } }, {}],
    ['returns the document for the patch null', null, {}],
  ])('%s', (_, patch, changes) => {
    expect(applyStrategicMergePatch(LIVE, patch, LEDGER)).toEqual({ ...LIVE, ...changes });
  });

  it.each([
    ['merges the set of finalizers', { finalizers: ['e.io/z', 'e.io/b'] }, { finalizers: ['e.io/z', 'e.io/a', 'e.io/b'] }],
    ['deletes from the set of finalizers', { '$deleteFromPrimitiveList/finalizers': ['e.io/a'] }, { finalizers: ['e.io/b'] }],
    [
      'adds, sorts and deletes finalizers in one patch',
      { '$setElementOrder/finalizers': ['e.io/c', 'e.io/b'], finalizers: ['e.io/c'], '$deleteFromPrimitiveList/finalizers': ['e.io/a'] },
      { finalizers: ['e.io/c', 'e.io/b'] },
    ],
    ['replaces the map of labels', { labels: { $patch: 'replace', z: '1' } }, { labels: { z: '1' } }],
    ['empties the map of labels', { labels: { $patch: 'delete' } }, { labels: {} }],
  ])('%s', (_, patch, changes) => {
    expect(applyStrategicMergePatch(LIVE, { metadata: patch }, LEDGER)).toEqual({ ...LIVE, metadata: { ...LIVE.metadata, ...changes } });
  });

  it.each([
    [{ secrets: [{ x: 1 }] }, 'invalid strategic merge patch: a list entry does not contain its merge key name'],
    [{ secrets: [{ $patch: 'delete' }] }, 'invalid strategic merge patch: a list entry does not contain its merge key name'],
    [{ $patch: 'zzz' }, 'invalid strategic merge patch: unknown directive "zzz"'],
    [{ $retainKeys: ['metadata'] }, 'invalid strategic merge patch: bad directive $retainKeys'],
    [{ '$setElementOrder/secrets': 5 }, 'invalid strategic merge patch: bad directive $setElementOrder/secrets'],
    [{ '$setElementOrder/zzz': [{ name: 's3' }] }, 'invalid strategic merge patch: unknown field zzz'],
    [[], 'json: cannot unmarshal array into Go value of type map[string]interface {}'],
  ])('rejects the patch %j', (patch, message) => {
    expect(() => applyStrategicMergePatch(LIVE, patch, LEDGER)).toThrow(expect.objectContaining({ message, code: 400 }));
  });

  it('transforms any list into any other with the patch that kubectl apply sends', () => {
    const list = fc.uniqueArray(fc.constantFrom('a', 'b', 'c', 'd', 'e'), { minLength: 1 });
    fc.assert(
      fc.property(list, list, (before, after) => {
        const added = after.filter((name) => !before.includes(name));
        const deleted = before.filter((name) => !after.includes(name)).map((name) => ({ $patch: 'delete', name }));
        const patch = { '$setElementOrder/secrets': names(...after), secrets: [...names(...added), ...deleted] };
        expect(applyStrategicMergePatch(ledger({ secrets: names(...before) }), patch, LEDGER)['secrets']).toEqual(names(...after));
      }),
    );
  });
});
