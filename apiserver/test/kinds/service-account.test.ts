import { describe, expect, it } from '@jest/globals';
import { serviceAccountKind } from '../../kinds/service-account.ts';

describe('serviceAccountKind', () => {
  it('returns the ServiceAccount on delete', () => {
    expect(serviceAccountKind.rules.deleteReturnsObject).toBe(true);
  });
});
