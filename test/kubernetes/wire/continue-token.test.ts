import { describe, expect, it } from '@jest/globals';
import { decodeContinue, encodeContinue, encodeContinueAtLatest } from '../../../src/kubernetes/wire/continue-token.ts';

const token = (json: string) => Buffer.from(json).toString('base64url');

describe('continue tokens', () => {
  it('encodes tokens like kube-apiserver', () => {
    expect(encodeContinue(288, 'c10')).toBe('eyJ2IjoibWV0YS5rOHMuaW8vdjEiLCJydiI6Mjg4LCJzdGFydCI6Ii9jMTBcdTAwMDAifQ');
  });

  it('decodes tokens with or without a leading slash', () => {
    expect(decodeContinue(encodeContinue(288, 'lab/x'))).toEqual({ revision: 288n, start: 'lab/x\0' });
    expect(decodeContinue(token('{"v":"meta.k8s.io/v1","rv":1,"start":"c10\\u0000"}'))).toEqual({ revision: 1n, start: 'c10\0' });
  });

  it('moves a token to the latest revision', () => {
    expect(decodeContinue(encodeContinueAtLatest({ revision: 5n, start: 'c10\0' }))).toEqual({ revision: -1n, start: 'c10\0' });
  });

  it.each([
    ['abc', "invalid character 'i' looking for beginning of value"],
    ['!!!', 'illegal base64 data at input byte 0'],
    [token('{}'), 'server does not recognize this encoded version '],
    [token('null'), 'server does not recognize this encoded version '],
    [token('[]'), 'json: cannot unmarshal array into Go value of type storage.continueToken'],
    [token('{"v":5}'), 'json: cannot unmarshal number into Go struct field continueToken.v of type string'],
    [token('{"v"'), 'unexpected end of JSON input'],
    [token('{"v":"meta.k8s.io/v1"}'), 'incorrect encoded start resourceVersion (version meta.k8s.io/v1)'],
    [token('{"v":"meta.k8s.io/v1","rv":3}'), 'encoded start key empty (version meta.k8s.io/v1)'],
    [token('{"v":"meta.k8s.io/v1","rv":3,"start":"../x"}'), '../x'],
  ])('rejects a forged token: %s', (text, why) => {
    expect(() => decodeContinue(text)).toThrow(`invalid continue token: continue key is not valid: ${why}`);
  });
});
