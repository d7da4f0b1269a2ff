// What other parties need to verify our service-account tokens: the OpenID discovery document and the key set.

import type { VerifyingKey } from './signing-key.ts';

/** A document with the content type and cache header that it is served with. */
export interface OidcDocument {
  readonly body: string;
  readonly contentType: string;
  readonly cacheControl: string;
}

/** `/.well-known/openid-configuration`; `jwksUri` is where the key set is found. */
export function openIdConfiguration(issuer: string, jwksUri: string, keys: readonly VerifyingKey[]): OidcDocument {
  const body = {
    issuer,
    jwks_uri: jwksUri,
    response_types_supported: ['id_token'],
    subject_types_supported: ['public'],
    id_token_signing_alg_values_supported: [...new Set(keys.map(({ algorithm }) => algorithm))].sort(),
  };
  return { body: JSON.stringify(body), contentType: 'application/json', cacheControl: CACHE_CONTROL };
}

/** `/openid/v1/jwks`. */
export function keySet(keys: readonly VerifyingKey[]): OidcDocument {
  return { body: JSON.stringify({ keys: keys.map(jsonWebKey) }), contentType: 'application/jwk-set+json', cacheControl: CACHE_CONTROL };
}

const CACHE_CONTROL = 'public, max-age=3600';

function jsonWebKey({ id, algorithm, publicKey }: VerifyingKey): Readonly<Record<string, string | undefined>> {
  const { kty, n, e, crv, x, y } = publicKey.export({ format: 'jwk' });
  return { use: 'sig', kty, kid: id, crv, alg: algorithm, n, e, x, y };
}
