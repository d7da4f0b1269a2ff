import { describe, expect, it } from '@jest/globals';
import { createProxyPolicy } from '../../src/targets/dial-policy.ts';

const httpsProxy = 'http://proxy.example.com:3128';

describe('createProxyPolicy', () => {
  it('returns a proxy only if one is configured', () => {
    expect(createProxyPolicy({})('https://a.example.com')).toBeUndefined();
    expect(createProxyPolicy({ httpsProxy: '', noProxy: '' })('https://a.example.com')).toBeUndefined();
    expect(createProxyPolicy({ httpsProxy })('https://a.example.com')).toBe(httpsProxy);
  });

  it.each(['https://127.0.0.1:6443', 'https://[::1]:6443', 'https://localhost', 'https://a.localhost:1', 'https://127.9.9.9'])(
    'returns no proxy for the loopback address %s',
    (server) => {
      expect(createProxyPolicy({ httpsProxy })(server)).toBeUndefined();
    },
  );

  it.each([
    ['*', 'https://a.example.com', true],
    ['example.com', 'https://example.com', true],
    ['example.com', 'https://a.b.example.com', true],
    ['example.com', 'https://notexample.com', false],
    ['Example.COM', 'https://A.example.com', true],
    ['.example.com', 'https://a.example.com', true],
    ['.example.com', 'https://example.com', false],
    ['*.example.com', 'https://a.example.com', true],
    ['*.example.com', 'https://example.com', false],
    ['a.com, example.com ,b.com', 'https://a.example.com', true],
    [',,', 'https://a.example.com', false],
    ['example.com:6443', 'https://a.example.com:6443', true],
    ['example.com:6443', 'https://a.example.com', false],
    ['example.com:443', 'https://a.example.com', true],
    ['10.1.2.3', 'https://10.1.2.3:6443', true],
    ['10.1.2.3', 'https://10.1.2.30', false],
    ['10.1.2.3:443', 'https://10.1.2.3:6443', false],
    ['10.0.0.0/8', 'https://10.1.2.3', true],
    ['10.0.0.0/8', 'https://11.1.2.3', false],
    ['10.0.0.0/8', 'https://a.example.com', false],
    ['10.0.0.0/99', 'https://10.1.2.3', false],
    ['fd00::/8', 'https://[fd00::1]:6443', true],
    ['fd00::1', 'https://[fd00::1]:6443', true],
    ['[fd00::1]:6443', 'https://[fd00::1]:6443', true],
    ['[fd00::1]:6443', 'https://[fd00::1]', false],
    ['1.2.3', 'https://a.1.2.3.example.com', false],
  ])('applies NO_PROXY=%s to %s; connects directly: %s', (noProxy, server, isDirect) => {
    expect(createProxyPolicy({ httpsProxy, noProxy })(server)).toBe(isDirect ? undefined : httpsProxy);
  });
});
