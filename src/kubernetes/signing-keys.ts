// The keys with which a cluster signs service account tokens.

import { createPublicKey, type JsonWebKey, type KeyObject, verify } from 'node:crypto';
import { fieldsOf, textOf } from './untrusted.ts';

/** Path of a cluster's JSON Web Key Set. */
export const KEY_SET_PATH = '/openid/v1/jwks';

const MAX_KEYS = 64;
const ALGORITHMS: Readonly<Record<string, string>> = {
  RS256: 'sha256',
  RS384: 'sha384',
  RS512: 'sha512',
  ES256: 'sha256',
  ES384: 'sha384',
  ES512: 'sha512',
};

/** Parses a JSON Web Key Set. Ignores unusable keys, and keys after the first 64; returns undefined if no key is usable. */
export function parseKeySet(text: string): readonly KeyObject[] | undefined {
  const usable = parseListedKeys(text).slice(0, MAX_KEYS).flatMap(toPublicKey);
  return usable.length === 0 ? undefined : usable;
}

function parseListedKeys(text: string): readonly unknown[] {
  try {
    const { keys } = fieldsOf(JSON.parse(text));
    return Array.isArray(keys) ? keys : [];
  } catch {
    return [];
  }
}

/** Returns a list with the key; an empty list if the key is malformed or Node does not support its type. */
function toPublicKey(key: unknown): readonly KeyObject[] {
  try {
    return [createPublicKey({ key: key as JsonWebKey, format: 'jwk' })];
  } catch {
    return [];
  }
}

export function isSignedBy(token: string, key: KeyObject): boolean {
  const [header = '', payload = '', signature = ''] = token.split('.');
  try {
    const algorithm = ALGORITHMS[textOf(fieldsOf(JSON.parse(Buffer.from(header, 'base64url').toString()))['alg'])];
    const signed = Buffer.from(`${header}.${payload}`);
    return algorithm !== undefined && verify(algorithm, signed, { key, dsaEncoding: 'ieee-p1363' }, Buffer.from(signature, 'base64url'));
  } catch {
    // The token is not a JWT, or the key has another type.
    return false;
  }
}
