import { describe, expect, it } from '@jest/globals';
import { tenantOf } from '../../../src/facade/limits/tenant.ts';

describe('tenantOf', () => {
  it.each([
    ['system:serviceaccount:team-a:ci', 'system:serviceaccounts:team-a'],
    ['system:serviceaccount:team-a:deployer', 'system:serviceaccounts:team-a'],
    ['system:serviceaccount:team-b:ci', 'system:serviceaccounts:team-b'],
    ['alice', 'alice'],
    ['system:serviceaccount:team-a', 'system:serviceaccount:team-a'],
    ['oidc:system:serviceaccount:team-a:ci', 'oidc:system:serviceaccount:team-a:ci'],
  ])('returns the tenant of %s', (username, tenant) => {
    expect(tenantOf(username)).toBe(tenant);
  });
});
