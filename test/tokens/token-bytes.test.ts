import { describe, expect, it } from '@jest/globals';
import type { ManagedToken } from '../../src/api/managed-token.gen.ts';
import { specProblems } from '../../src/tokens/policy/spec.ts';
import { bytesOf } from '../../src/tokens/reduce-token.ts';
import { TokenBytes } from '../../src/tokens/token-bytes.ts';
import { aToken } from '../support/builders.ts';

/** Size at which 2,048 ManagedTokens take a little more than 64 MB. */
const KILOBYTES = 32;
const MANY = 2_100;

function sized(index: number, kilobytes: number, namespace = 'crowd'): ManagedToken {
  const annotations = kilobytes === 0 ? {} : { filler: 'x'.repeat(kilobytes * 1_024) };
  return aToken()
    .writing({ name: 'ci', annotations })
    .withMetadata({ namespace, uid: `${namespace}-${index}`, name: `t-${index}` })
    .build();
}

function crowd(bytes: TokenBytes) {
  return Array.from({ length: MANY }, (_, index) => bytes.reduce(sized(index, KILOBYTES)));
}

describe('TokenBytes', () => {
  it('keeps stubs of the ManagedTokens that exceed the share of their namespace, which are invalid', () => {
    const kept = crowd(new TokenBytes());
    expect(kept.slice(0, 2_000).filter(({ isOverBudget }) => isOverBudget)).toEqual([]);
    const [stub] = kept.slice(-1);
    expect(stub?.spec.secret.annotations).toBeUndefined();
    expect(specProblems(stub as ManagedToken, {})).toMatchObject([{ type: 'FieldValueForbidden', field: 'spec' }]);
    expect(kept.reduce((sum, token) => sum + bytesOf(token), 0)).toBeLessThan((64 << 20) + MANY * 1_024);
  });

  it('keeps small ManagedTokens of that namespace, and all those of others', () => {
    const bytes = new TokenBytes();
    crowd(bytes);
    expect(bytes.reduce(sized(MANY, 0)).isOverBudget).toBeUndefined();
    expect(bytes.reduce(sized(0, KILOBYTES, 'team-a')).isOverBudget).toBeUndefined();
  });

  it('counts each ManagedToken once, however often it changes', () => {
    const bytes = new TokenBytes();
    for (let change = 0; change < MANY; change++) expect(bytes.reduce(sized(0, KILOBYTES)).isOverBudget).toBeUndefined();
    expect(bytes.size).toBe(1);
  });

  it('has room again after ManagedTokens were deleted', () => {
    const bytes = new TokenBytes();
    const kept = crowd(bytes);
    for (const token of kept.slice(0, 100)) bytes.forget(token);
    expect(bytes.reduce(sized(MANY - 1, KILOBYTES)).isOverBudget).toBeUndefined();
    for (const token of kept) bytes.forget(token);
    expect(bytes.size).toBe(0);
  });
});
