import { describe, expect, it } from '@jest/globals';
import type { Kind } from '../../kinds/kind.ts';
import { builtInKinds, KindRegistry } from '../../kinds/registry.ts';
import { secretKind } from '../../kinds/secret.ts';

const widget = (version: string): Kind => ({
  ...secretKind,
  group: 'example.dev',
  version,
  kind: 'Widget',
  plural: 'widgets',
  singular: 'widget',
  builtIn: false,
});

describe('KindRegistry', () => {
  it('finds built-in kinds by resource and by kind', () => {
    const registry = new KindRegistry(builtInKinds);
    expect(registry.find('', 'v1', 'secrets')).toBe(secretKind);
    expect(registry.findKind('', 'v1', 'Secret')).toBe(secretKind);
    expect(registry.findKind('', 'v2', 'Secret')).toBeUndefined();
  });

  it('adds, replaces and removes kinds of definitions', () => {
    const registry = new KindRegistry(builtInKinds);
    registry.set('example.dev', 'widgets', widget('v1beta1'));
    expect(registry.find('example.dev', 'v1beta1', 'widgets')?.kind).toBe('Widget');
    registry.set('example.dev', 'widgets', widget('v1'));
    expect(registry.find('example.dev', 'v1beta1', 'widgets')).toBeUndefined();
    registry.set('example.dev', 'widgets', undefined);
    expect(registry.findByResource('example.dev/widgets')).toBeUndefined();
  });

  it('returns the same array of kinds until a kind changes', () => {
    const registry = new KindRegistry(builtInKinds);
    const before = registry.all();
    expect(registry.all()).toBe(before);
    registry.set('example.dev', 'widgets', widget('v1'));
    expect(registry.all()).not.toBe(before);
  });
});
