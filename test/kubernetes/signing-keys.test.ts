import { generateKeyPairSync, sign } from 'node:crypto';
import { describe, expect, it } from '@jest/globals';
import { isSignedBy, parseKeySet } from '../../src/kubernetes/signing-keys.ts';

const { publicKey, privateKey } = generateKeyPairSync('ec', { namedCurve: 'P-256' });
const USABLE = publicKey.export({ format: 'jwk' });

function keySet(...keys: readonly unknown[]): string {
  return JSON.stringify({ keys });
}

describe('parseKeySet', () => {
  it.each([
    ['a key of an unknown type', { kty: 'AKP', alg: 'ML-DSA-999', pub: 'AA' }],
    ['a malformed key', { ...USABLE, x: 'AA' }],
    ['a text', 'key'],
    ['null', null],
  ])('skips %s, and returns the usable key', (_name, unusable) => {
    const keys = parseKeySet(keySet(unusable, USABLE)) ?? [];
    expect(keys.map((key) => key.export({ format: 'jwk' }))).toEqual([USABLE]);
    const signed = ['{"alg":"ES256"}', '{}'].map((part) => Buffer.from(part).toString('base64url')).join('.');
    const signature = sign('sha256', Buffer.from(signed), { key: privateKey, dsaEncoding: 'ieee-p1363' }).toString('base64url');
    expect(keys.map((key) => isSignedBy(`${signed}.${signature}`, key))).toEqual([true]);
  });

  it.each(['', '{', 'null', '[]', '{"keys":{}}', keySet(), keySet({ kty: 'AKP' })])(
    'returns undefined for a string without usable keys: %p',
    (text) => {
      expect(parseKeySet(text)).toBeUndefined();
    },
  );
});
