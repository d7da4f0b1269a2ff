import { generateKeyPairSync } from 'node:crypto';
import { describe, expect, it } from '@jest/globals';
import { createAuthority } from '../../../../src/std/x509/certificates.ts';
import { secretKind } from '../../../kinds/core/secret.ts';
import { keyPairProblem } from '../../../kinds/core/secret-tls.ts';
import { created } from '../write.ts';

const BROKEN = (type: string) => `-----BEGIN ${type}-----\nAAAA\n-----END ${type}-----\n`;

describe('the pair of a TLS secret', () => {
  const at = Date.parse('2026-01-01T00:00:00Z');
  const [one, other] = [createAuthority(at), createAuthority(at)];
  const { privateKey } = generateKeyPairSync('ed25519');
  const ed25519 = privateKey.export({ type: 'pkcs8', format: 'pem' }).toString();

  it('belongs together', () => {
    expect(keyPairProblem(one.certificate, one.key)).toBeUndefined();
  });

  it.each<[string, () => [string, string], string]>([
    ['keys of others', () => [one.certificate, other.key], 'tls: private key does not match public key'],
    ['keys of another type', () => [one.certificate, ed25519], 'tls: private key type does not match public key type'],
    ['nothing', () => ['', ''], 'tls: failed to find any PEM data in certificate input'],
    ['a missing key', () => [one.certificate, ''], 'tls: failed to find any PEM data in key input'],
    [
      'a pair the wrong way round',
      () => [one.key, one.certificate],
      'tls: failed to find certificate PEM data in certificate input, but did find a private key; PEM inputs may have been switched',
    ],
    [
      'a certificate twice',
      () => [one.certificate, one.certificate],
      'tls: found a certificate rather than a key in the PEM for the private key',
    ],
    [
      'two keys as certificate',
      () => [one.key + one.key, one.key],
      'tls: failed to find "CERTIFICATE" PEM block in certificate input after skipping PEM blocks of the following types: [PRIVATE KEY PRIVATE KEY]',
    ],
    [
      'parameters as key',
      () => [one.certificate, BROKEN('EC PARAMETERS')],
      'tls: failed to find PEM block with type ending in "PRIVATE KEY" in key input after skipping PEM blocks of the following types: [EC PARAMETERS]',
    ],
    ['a broken certificate', () => [BROKEN('CERTIFICATE'), one.key], 'x509: malformed certificate'],
    ['a broken key', () => [one.certificate, BROKEN('PRIVATE KEY')], 'tls: failed to parse private key'],
  ])('is complained about: %s', (_, pair, problem) => {
    expect(keyPairProblem(...pair())).toBe(problem);
  });

  it('is complained about in a warning, and taken all the same', () => {
    const secret = created(secretKind, { type: 'kubernetes.io/tls', data: { 'tls.crt': '', 'tls.key': '' } });
    expect(secretKind.rules.warnings(secret)).toEqual(['tls: failed to find any PEM data in certificate input']);
    expect(secretKind.rules.validate(secret)).toEqual([]);
  });
});
