import { describe, expect, it } from '@jest/globals';
import { toAddressKey, toTenant } from '../../../src/facade/limits/tenant.ts';

describe('toTenant', () => {
  it.each([
    ['system:serviceaccount:team-a:ci', 'system:serviceaccounts:team-a'],
    ['system:serviceaccount:team-a:deployer', 'system:serviceaccounts:team-a'],
    ['system:serviceaccount:team-b:ci', 'system:serviceaccounts:team-b'],
    ['alice', 'alice'],
    ['system:serviceaccount:team-a', 'system:serviceaccount:team-a'],
    ['oidc:system:serviceaccount:team-a:ci', 'oidc:system:serviceaccount:team-a:ci'],
  ])('returns the tenant of %s', (username, tenant) => {
    expect(toTenant(username)).toBe(tenant);
  });
});

describe('toAddressKey', () => {
  it.each([
    ['10.1.2.3', '10.1.2.3'],
    ['::ffff:10.1.2.3', '10.1.2.3'],
    ['2001:db8:1:2:3:4:5:6', '2001:db8:1:2::/64'],
    ['2001:db8:1:2::9', '2001:db8:1:2::/64'],
    ['2001:0db8::1', '2001:db8:0:0::/64'],
    ['::1', '0:0:0:0::/64'],
    ['fe80::1%eth0', 'fe80:0:0:0::/64'],
    [undefined, ''],
  ])('returns the key for the address %s: %s', (address, key) => {
    expect(toAddressKey(address)).toBe(key);
  });
});
