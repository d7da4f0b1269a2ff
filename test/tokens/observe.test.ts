import { describe, expect, it } from '@jest/globals';
import { resolveOutputs } from '../../src/tokens/observe.ts';
import { toOutputsDigest } from '../../src/tokens/policy/secret.ts';
import { aToken } from '../support/builders.ts';

const ENDPOINTS = { servers: ['https://one.example.com'], caBundle: 'Q0E=' };

describe('resolveOutputs', () => {
  it('returns one object for all ManagedTokens with the same spec', () => {
    const token = aToken().build();
    expect(resolveOutputs({ ...token, metadata: { ...token.metadata, name: 'other' } }, ENDPOINTS)).toBe(resolveOutputs(token, ENDPOINTS));
  });

  it('returns new outputs with another digest for a changed spec and for changed endpoints', () => {
    const token = aToken().build();
    const renamed = { ...token, spec: { ...token.spec, serviceAccount: { namespace: 'other', name: 'other' } } };
    const moved = { ...ENDPOINTS, servers: ['https://two.example.com'] };
    const all = [
      resolveOutputs(token, ENDPOINTS),
      resolveOutputs(token, moved),
      resolveOutputs(renamed, moved),
      resolveOutputs(token, ENDPOINTS),
    ];
    expect(all.map(({ server, namespace }) => [server, namespace])).toEqual([
      ['https://one.example.com', 'deploy'],
      ['https://two.example.com', 'deploy'],
      ['https://two.example.com', 'other'],
      ['https://one.example.com', 'deploy'],
    ]);
    const [first, second, third, again] = all.map(toOutputsDigest);
    expect(new Set([first, second, third]).size).toBe(3);
    expect(again).toBe(first);
  });

  it('throws for an address that the cluster does not have, even if the address was valid before', () => {
    const token = aToken().build();
    const pinned = { ...token, spec: { ...token.spec, secret: { ...token.spec.secret, server: 'https://one.example.com' } } };
    expect(resolveOutputs(pinned, ENDPOINTS).server).toBe('https://one.example.com');
    expect(() => resolveOutputs(pinned, { ...ENDPOINTS, servers: ['https://two.example.com'] })).toThrow('spec.secret.server');
  });
});
