// Whether the certificate and the key of a TLS secret belong together. Kubernetes only warns if they do not, in Go's words.

import { createPrivateKey, createPublicKey, type KeyObject, X509Certificate } from 'node:crypto';

/** Why `certificate` and `key`, both PEM, are no pair; nothing if they are one. */
export function keyPairProblem(certificate: string, key: string): string | undefined {
  const certificateBlocks = pemBlocks(certificate);
  const leaf = certificateBlocks.find(({ type }) => type === 'CERTIFICATE');
  if (leaf === undefined) return missingCertificate(certificateBlocks.map(({ type }) => type));
  const keyBlocks = pemBlocks(key);
  const keyBlock = keyBlocks.find(({ type }) => isPrivateKey(type));
  if (keyBlock === undefined) return missingKey(keyBlocks.map(({ type }) => type));
  const publicKey = attempt(() => new X509Certificate(leaf.text).publicKey);
  if (publicKey === undefined) return 'x509: malformed certificate';
  const privateKey = attempt(() => createPrivateKey(keyBlock.text));
  return privateKey === undefined ? 'tls: failed to parse private key' : mismatch(publicKey, privateKey);
}

interface PemBlock {
  readonly type: string;
  readonly text: string;
}

function pemBlocks(text: string): readonly PemBlock[] {
  const blocks = text.matchAll(/-----BEGIN ([^-\n]*)-----\r?\n[\s\S]*?-----END \1-----/g);
  return [...blocks].map(([block, type = '']) => ({ type, text: block }));
}

function isPrivateKey(type: string): boolean {
  return type === 'PRIVATE KEY' || type.endsWith(' PRIVATE KEY');
}

function missingCertificate(skipped: readonly string[]): string {
  if (skipped.length === 0) return 'tls: failed to find any PEM data in certificate input';
  if (skipped.length === 1 && skipped.every((type) => type.endsWith('PRIVATE KEY'))) {
    return 'tls: failed to find certificate PEM data in certificate input, but did find a private key; PEM inputs may have been switched';
  }
  return `tls: failed to find "CERTIFICATE" PEM block in certificate input after skipping PEM blocks of the following types: [${skipped.join(' ')}]`;
}

function missingKey(skipped: readonly string[]): string {
  if (skipped.length === 0) return 'tls: failed to find any PEM data in key input';
  if (skipped.length === 1 && skipped[0] === 'CERTIFICATE') {
    return 'tls: found a certificate rather than a key in the PEM for the private key';
  }
  return `tls: failed to find PEM block with type ending in "PRIVATE KEY" in key input after skipping PEM blocks of the following types: [${skipped.join(' ')}]`;
}

function mismatch(publicKey: KeyObject, privateKey: KeyObject): string | undefined {
  if (publicKey.asymmetricKeyType !== privateKey.asymmetricKeyType) return 'tls: private key type does not match public key type';
  return createPublicKey(privateKey).equals(publicKey) ? undefined : 'tls: private key does not match public key';
}

function attempt<T>(parse: () => T): T | undefined {
  try {
    return parse();
  } catch {
    return undefined;
  }
}
