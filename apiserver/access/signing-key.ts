// The key that signs service-account tokens, and the OIDC discovery document and JWKS that publish the key.

import { createHash, createPrivateKey, createPublicKey, generateKeyPairSync, type KeyObject } from 'node:crypto';
import { compactVerify, decodeJwt, decodeProtectedHeader, SignJWT } from 'jose';

const ALGORITHM = 'ES256';

export interface SigningKey {
  /** Key ID in the token header. */
  readonly id: string;
  readonly publicKey: KeyObject;
  readonly privateKey: KeyObject;
}

/** Generates an ECDSA private key as PEM. Generating an RSA key would take most of the startup time of a server. */
export function generateSigningKey(): string {
  return generateKeyPairSync('ec', { namedCurve: 'P-256' }).privateKey.export({ type: 'pkcs8', format: 'pem' }).toString();
}

export function parseSigningKey(pem: string): SigningKey {
  const publicKey = createPublicKey(pem);
  const digest = createHash('sha256').update(publicKey.export({ type: 'spki', format: 'der' }));
  return { id: digest.digest('base64url'), publicKey, privateKey: createPrivateKey(pem) };
}

type Claims = Readonly<Record<string, unknown>>;

/** Signs claims. The token contains the claims in the given order. */
export async function signToken(claims: Claims, key: SigningKey): Promise<string> {
  return new SignJWT({ ...claims }).setProtectedHeader({ alg: ALGORITHM, kid: key.id }).sign(key.privateKey);
}

/** Parses a token without verifying it. Returns undefined for a string that is not a token. */
export function parseToken(token: string): { readonly kid: string; readonly claims: Claims } | undefined {
  try {
    const { kid = '' } = decodeProtectedHeader(token);
    return typeof kid === 'string' ? { kid, claims: decodeJwt(token) } : undefined;
  } catch {
    return undefined;
  }
}

export async function isSignedBy(token: string, key: SigningKey): Promise<boolean> {
  return compactVerify(token, key.publicKey, { algorithms: [ALGORITHM] }).then(
    () => true,
    () => false,
  );
}

/** Discovery document or key set, with its response headers. */
export interface OidcDocument {
  readonly body: string;
  readonly contentType: string;
  readonly cacheControl: string;
}

const CACHE_CONTROL = 'public, max-age=3600';

/** Returns the document of `/.well-known/openid-configuration`. */
export function createOpenIdDocument(issuer: string, jwksUri: string): OidcDocument {
  const body = {
    issuer,
    jwks_uri: jwksUri,
    response_types_supported: ['id_token'],
    subject_types_supported: ['public'],
    id_token_signing_alg_values_supported: [ALGORITHM],
  };
  return { body: JSON.stringify(body), contentType: 'application/json', cacheControl: CACHE_CONTROL };
}

/** Returns the document of `/openid/v1/jwks`. */
export function createKeySet(key: SigningKey): OidcDocument {
  const { kty, ...parameters } = key.publicKey.export({ format: 'jwk' });
  const body = { keys: [{ use: 'sig', kty, kid: key.id, alg: ALGORITHM, ...parameters }] };
  return { body: JSON.stringify(body), contentType: 'application/jwk-set+json', cacheControl: CACHE_CONTROL };
}
