// The key that signs service-account tokens, and the keys that verify them.

import { createHash, createPrivateKey, createPublicKey, generateKeyPair, type KeyObject, sign, verify } from 'node:crypto';
import { promisify } from 'node:util';

type SigningAlgorithm = 'RS256' | 'ES256' | 'ES384' | 'ES512';

/** A public key with the id under which tokens name it. */
export interface VerifyingKey {
  readonly id: string;
  readonly algorithm: SigningAlgorithm;
  readonly publicKey: KeyObject;
}

export interface SigningKey extends VerifyingKey {
  readonly privateKey: KeyObject;
}

/** A new private key as PEM. */
export async function generateSigningKey(algorithm: 'RS256' | 'ES256' = 'RS256'): Promise<string> {
  const keys =
    algorithm === 'RS256'
      ? await promisify(generateKeyPair)('rsa', { modulusLength: 2048 })
      : await promisify(generateKeyPair)('ec', { namedCurve: 'P-256' });
  return keys.privateKey.export({ type: 'pkcs8', format: 'pem' }).toString();
}

/** Reads a private key; throws if its type is not one that Kubernetes signs with. */
export function parseSigningKey(pem: string): SigningKey {
  return { ...verifyingKey(createPublicKey(pem)), privateKey: createPrivateKey(pem) };
}

/** A public key, ready to verify tokens: that of a signing key, or of one that signed before. */
export function verifyingKey(publicKey: KeyObject): VerifyingKey {
  return { id: keyId(publicKey), algorithm: algorithmOf(publicKey), publicKey };
}

/** The signature over `text`. An RSA signature takes a millisecond, so it is made off the event loop. */
export async function signText(key: SigningKey, text: string): Promise<Buffer> {
  const options = { key: key.privateKey, dsaEncoding: 'ieee-p1363' as const };
  return new Promise((resolve, reject) => {
    sign(hashOf(key.algorithm), Buffer.from(text), options, (error, signature) => (error ? reject(error) : resolve(signature)));
  });
}

/** Whether `signature` over `text` was made with this key. */
export function verifiesText(key: VerifyingKey, text: string, signature: Buffer): boolean {
  return verify(hashOf(key.algorithm), Buffer.from(text), { key: key.publicKey, dsaEncoding: 'ieee-p1363' }, signature);
}

const CURVE_ALGORITHMS: Readonly<Record<string, SigningAlgorithm>> = { prime256v1: 'ES256', secp384r1: 'ES384', secp521r1: 'ES512' };

function algorithmOf(key: KeyObject): SigningAlgorithm {
  const algorithm = key.asymmetricKeyType === 'rsa' ? 'RS256' : CURVE_ALGORITHMS[key.asymmetricKeyDetails?.namedCurve ?? ''];
  if (algorithm === undefined) throw new Error('a signing key must be RSA, or EC on the curve P-256, P-384 or P-521');
  return algorithm;
}

function hashOf(algorithm: SigningAlgorithm): string {
  return `sha${algorithm.slice(2)}`;
}

function keyId(publicKey: KeyObject): string {
  return createHash('sha256')
    .update(publicKey.export({ type: 'spki', format: 'der' }))
    .digest('base64url');
}
