import { describe, expect, it } from '@jest/globals';
import { array, assert, constantFrom, property, string, tuple } from 'fast-check';
import { bearerToken } from '../../src/facade/authenticate.ts';

const schemes = constantFrom('Bearer', 'bearer', 'BEARER', 'Basic', '');
const headers = array(tuple(constantFrom('authorization', 'Authorization', 'x-remote-user', 'Accept', 'impersonate-group'), string()), {
  maxLength: 4,
});

describe('bearerToken', () => {
  it('returns the token after Bearer and one space, else undefined', () => {
    assert(
      property(schemes, string({ unit: 'binary' }), (scheme, rest) => {
        const token = bearerToken(['Authorization', `${scheme} ${rest}`]);
        const isOne = scheme.toLowerCase() === 'bearer' && /^[A-Za-z0-9_.~+/-]+=*$/.test(rest);
        expect(token).toBe(isOne ? rest : undefined);
      }),
    );
  });

  it('rejects two Authorization headers, and a token with an impersonation header', () => {
    assert(
      property(headers, (given) => {
        const raw = given.flat();
        const names = given.map(([name]) => name.toLowerCase());
        const count = names.filter((name) => name === 'authorization').length;
        const read = () => bearerToken(raw);
        if (count > 1) expect(read).toThrow('more than one');
        else expect(read()).toBeUndefined();
      }),
    );
    expect(() => bearerToken(['Authorization', 'Bearer x', 'X-Remote-User', 'y'])).toThrow('x-remote-user');
    expect(() => bearerToken(['IMPERSONATE-USER', 'y', 'Authorization', 'Bearer x'])).toThrow('impersonate-user');
  });
});
