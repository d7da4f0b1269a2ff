// Certificates that live as long as a test.

import { webcrypto } from 'node:crypto';
import type { X509Certificate } from '@peculiar/x509';

// The injection library below x509 will not load without these; x509 itself never has metadata to look up.
Object.assign(Reflect, { getMetadata: () => undefined, getOwnMetadata: () => undefined, defineMetadata: () => undefined });
const { BasicConstraintsExtension, PemConverter, SubjectAlternativeNameExtension, X509CertificateGenerator } = await import(
  '@peculiar/x509'
);

type CryptoKeyPair = webcrypto.CryptoKeyPair;

export interface Issued {
  readonly cert: string;
  readonly key: string;
}

export interface Authority extends Issued {
  /** A certificate for loopback servers and for clients with this name. */
  issue(commonName: string): Promise<Issued>;
}

const ALGORITHM = { name: 'ECDSA', namedCurve: 'P-256', hash: 'SHA-256' };
const VALID = { notBefore: new Date('2020-01-01'), notAfter: new Date('2049-01-01') };

/** Makes a certificate authority of its own. */
export async function createAuthority(commonName: string): Promise<Authority> {
  const keys = await newKeys();
  const root = await X509CertificateGenerator.createSelfSigned({
    ...VALID,
    name: `CN=${commonName}`,
    keys,
    signingAlgorithm: ALGORITHM,
    extensions: [new BasicConstraintsExtension(true, undefined, true)],
  });
  return { ...(await issued(root, keys)), issue: (name) => issue(root, keys, name) };
}

async function issue(root: X509Certificate, rootKeys: CryptoKeyPair, commonName: string): Promise<Issued> {
  const keys = await newKeys();
  const certificate = await X509CertificateGenerator.create({
    ...VALID,
    subject: `CN=${commonName}`,
    issuer: root.subject,
    publicKey: keys.publicKey,
    signingKey: rootKeys.privateKey,
    signingAlgorithm: ALGORITHM,
    extensions: [new SubjectAlternativeNameExtension([{ type: 'ip', value: '127.0.0.1' }])],
  });
  return issued(certificate, keys);
}

function newKeys(): Promise<CryptoKeyPair> {
  return webcrypto.subtle.generateKey(ALGORITHM, true, ['sign', 'verify']);
}

async function issued(certificate: X509Certificate, keys: CryptoKeyPair): Promise<Issued> {
  const key = PemConverter.encode(await webcrypto.subtle.exportKey('pkcs8', keys.privateKey), 'PRIVATE KEY');
  return { cert: certificate.toString('pem'), key };
}
