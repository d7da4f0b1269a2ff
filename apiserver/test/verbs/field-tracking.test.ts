import { describe, expect, it } from '@jest/globals';
import { namespaceKind } from '../../kinds/namespace.ts';
import { secretKind } from '../../kinds/secret.ts';
import { toTyping } from '../../verbs/field-tracking.ts';
import { widgetKind } from '../discovery/discover.ts';

describe('toTyping', () => {
  it.each([
    ['a kind without status', secretKind, '', []],
    ['a kind with status', namespaceKind, '', [['status']]],
    ['another subresource of a kind with status', namespaceKind, 'finalize', [['status']]],
    ['the status of a built-in kind', namespaceKind, 'status', [['spec']]],
    ['the status of a custom resource', widgetKind(), 'status', [['metadata'], ['spec']]],
  ])('returns the paths that the endpoint of %s does not write', (_, kind, subresource, paths) => {
    expect(toTyping({ kind, subresource }).resetPaths).toEqual(paths);
  });
});
