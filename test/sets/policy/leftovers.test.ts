import { describe, expect, it } from '@jest/globals';
import { toLeftoverPatch } from '../../../src/sets/policy/leftovers.ts';
import { renderToken } from '../../../src/sets/policy/template.ts';
import { aChild, aSet } from '../set-builder.ts';

const set = aSet({ metadata: { labels: { kept: 'x' } }, secret: { labels: { kept: 'x' }, outputs: ['Token'] } });
const rendering = renderToken(set, { name: 'eu' });
const rendered = 'rendered' in rendering ? rendering.rendered : undefined!;
const child = aChild(set, 'eu');
const { labels, annotations } = rendered;

describe('toLeftoverPatch', () => {
  it('returns undefined for a ManagedToken that equals the rendered template', () => {
    expect(toLeftoverPatch(child, rendered)).toBeUndefined();
  });

  it('returns undefined for a ManagedToken with other values and without parts to remove', () => {
    const metadata = { ...child.metadata, labels: { kept: 'old' } };
    const spec = { ...child.spec, expirationSeconds: 1, secret: { ...child.spec.secret, labels: {} } };
    expect(toLeftoverPatch({ ...child, metadata, spec }, rendered)).toBeUndefined();
  });

  it('removes labels and annotations that the template no longer has, and keeps annotations of Purser', () => {
    const old = { 'example.com/old': 'x', 'tokens.purser.dev/rotate': 'now' };
    const metadata = { ...child.metadata, labels: { kept: 'x', old: 'y' }, annotations: { ...annotations, ...old } };
    expect(toLeftoverPatch({ ...child, metadata }, rendered)).toEqual({
      metadata: { labels: { ...labels, old: null }, annotations: { ...annotations, 'example.com/old': null } },
      spec: {},
    });
  });

  it('removes added fields of the spec, and replaces changed lists', () => {
    const spec = { ...child.spec, audiences: ['a', 'b'], boundObjectRef: { apiVersion: 'v1' as const, kind: 'Pod' as const, name: 'x' } };
    const secret = { ...spec.secret, labels: { kept: 'x', added: 'y' } };
    expect(toLeftoverPatch({ ...child, spec: { ...spec, secret } }, rendered)).toEqual({
      metadata: { labels, annotations },
      spec: { audiences: child.spec.audiences, boundObjectRef: null, secret: { labels: { added: null } } },
    });
  });
});
