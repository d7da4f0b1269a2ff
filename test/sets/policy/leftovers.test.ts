import { describe, expect, it } from '@jest/globals';
import { leftovers } from '../../../src/sets/policy/leftovers.ts';
import { renderToken } from '../../../src/sets/policy/template.ts';
import { aChild, aSet } from '../set-builder.ts';

const set = aSet({ metadata: { labels: { kept: 'x' } }, secret: { labels: { kept: 'x' }, outputs: ['Token'] } });
const rendering = renderToken(set, { name: 'eu' });
const rendered = 'rendered' in rendering ? rendering.rendered : undefined!;
const child = aChild(set, 'eu');

/** Returns an entry of managedFields that owns these labels. */
const owning = (manager: string, ...labels: readonly string[]) => ({
  manager,
  fieldsV1: { 'f:metadata': { 'f:labels': { '.': {}, ...Object.fromEntries(labels.map((label) => [`f:${label}`, {}])) } } },
});

describe('leftovers', () => {
  it('returns nothing for a ManagedToken as rendered', () => {
    expect(
      leftovers({ ...child, metadata: { ...child.metadata, managedFields: [owning('purser-sets', 'kept')] } }, rendered),
    ).toBeUndefined();
  });

  it('removes labels of the field manager of sets that the template no longer has, and none of others', () => {
    const managedFields = [owning('purser-sets', 'kept', 'old'), owning('kubectl', 'theirs')];
    expect(leftovers({ ...child, metadata: { ...child.metadata, managedFields } }, rendered)).toEqual({
      metadata: { labels: { old: null }, annotations: {} },
    });
  });

  it('removes added fields of the spec, and replaces changed lists', () => {
    const spec = { ...child.spec, audiences: ['a', 'b'], boundObjectRef: { apiVersion: 'v1' as const, kind: 'Pod' as const, name: 'x' } };
    const secret = { ...spec.secret, labels: { kept: 'x', added: 'y' } };
    expect(leftovers({ ...child, spec: { ...spec, secret } }, rendered)).toEqual({
      spec: { audiences: child.spec.audiences, boundObjectRef: null, secret: { labels: { added: null } } },
    });
  });
});
