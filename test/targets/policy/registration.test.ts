import { describe, expect, it } from '@jest/globals';
import { serverUrl } from '../../../src/targets/policy/registration.ts';

describe('serverUrl', () => {
  it.each([
    ['https://prod-eu.example.com:6443', 'https://prod-eu.example.com:6443'],
    ['prod-eu.example.com', 'https://prod-eu.example.com'],
    ['10.1.2.3:6443', 'https://10.1.2.3:6443'],
    ['https://[2001:DB8::1]:443/', 'https://[2001:db8::1]'],
    ['https://Rancher.example.com/k8s/clusters/c-1/', 'https://rancher.example.com/k8s/clusters/c-1'],
  ])('normalizes %s', (address, url) => {
    expect(serverUrl(address)).toBe(url);
  });

  it.each([
    ['http', 'http://prod-eu.example.com'],
    ['another scheme', 'ftp://prod-eu.example.com'],
    ['HTTP in capitals', 'HTTP://prod-eu.example.com'],
    ['a user', 'https://user@prod-eu.example.com'],
    ['a user and a password', 'https://user:pass@prod-eu.example.com'],
    ['a query', 'https://prod-eu.example.com/?a=b'],
    ['a fragment', 'https://prod-eu.example.com/#a'],
    ['a path with ..', 'https://prod-eu.example.com/a/../b'],
    ['a path with an encoded ..', 'https://prod-eu.example.com/%2e%2e/b'],
    ['a backslash', 'https://prod-eu.example.com\\@evil.example.com'],
    ['NUL in the host', 'https://prod-eu.example.com\0.evil.example.com'],
    ['a line break', 'https://prod-eu.example.com\n'],
    ['an invalid port', 'https://prod-eu.example.com:99999'],
    ['brackets without an address', 'https://[:::]'],
    ['nothing', ''],
  ])('rejects %s', (_, address) => {
    expect(serverUrl(address)).toBeUndefined();
  });
});
