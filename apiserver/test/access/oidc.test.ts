import { createPublicKey } from 'node:crypto';
import { describe, expect, it } from '@jest/globals';
import { keySet, openIdConfiguration } from '../../access/oidc.ts';
import { generateSigningKey, parseSigningKey, verifyingKey } from '../../access/signing-key.ts';
import { exchange } from './golden.ts';

const jwks = exchange('resources', 'jwks').response;
const [recordedKey] = JSON.parse(jwks.body).keys;
const key = verifyingKey(createPublicKey({ key: recordedKey, format: 'jwk' }));

describe('OIDC documents', () => {
  it('publish a key as Kubernetes does, under the same id', () => {
    expect(keySet([key])).toMatchObject({ body: jwks.body, contentType: jwks.headers['content-type'] });
  });

  it('tell where the keys are', () => {
    const { body } = exchange('resources', 'oidc-discovery').response;
    expect(openIdConfiguration('https://gold.test', 'https://127.0.0.1:6444/openid/v1/jwks', [key]).body).toBe(body);
  });

  it('publish nothing private', async () => {
    const elliptic = parseSigningKey(await generateSigningKey('ES256'));
    const { keys } = JSON.parse(keySet([elliptic]).body);
    expect(keys).toEqual([
      { use: 'sig', kty: 'EC', kid: elliptic.id, crv: 'P-256', alg: 'ES256', x: expect.any(String), y: expect.any(String) },
    ]);
  });
});
