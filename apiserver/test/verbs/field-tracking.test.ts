import { describe, expect, it } from '@jest/globals';
import { resetPathsOf } from '../../verbs/field-tracking.ts';

const status = { name: 'status', kind: { group: '', version: 'v1', kind: 'X' }, verbs: ['get'] };

describe('resetPathsOf', () => {
  it.each([
    ['a kind without status', { builtIn: true, subresources: [] }, '', []],
    ['a kind with status', { builtIn: true, subresources: [status] }, '', [['status']]],
    ['another endpoint of it', { builtIn: true, subresources: [status] }, 'finalize', [['status']]],
    ['the status of a built-in kind', { builtIn: true, subresources: [status] }, 'status', [['spec']]],
    ['the status of a custom resource', { builtIn: false, subresources: [status] }, 'status', [['metadata'], ['spec']]],
  ])('returns the fields that %s does not write', (_, kind, subresource, paths) => {
    expect(resetPathsOf(kind, subresource)).toEqual(paths);
  });
});
