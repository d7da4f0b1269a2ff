// Certificates as PEM, from people: checked before a connection depends on them.

import { X509Certificate } from 'node:crypto';

/** The certificates of a PEM text, as they were written; undefined if anything else than certificates is in it. */
export function pemCertificates(text: string): readonly X509Certificate[] | undefined {
  if (text.length > MAX_LENGTH) return undefined;
  const blocks = text.match(BLOCK) ?? [];
  const rest = text.replace(BLOCK, '');
  if (blocks.length === 0 || rest.includes('-----')) return undefined;
  try {
    return blocks.map((block) => new X509Certificate(block));
  } catch {
    return undefined;
  }
}

/** The certificates of a Cluster's caBundle; undefined if it holds anything else. */
export function caCertificates(caBundle: string): readonly X509Certificate[] | undefined {
  const base64 = caBundle.replace(/\s/g, '');
  return base64.length > MAX_LENGTH || !BASE64.test(base64) ? undefined : pemCertificates(Buffer.from(base64, 'base64').toString('utf8'));
}

/** As long as the Cluster's schema allows. */
const MAX_LENGTH = 524_288;
const BASE64 = /^[A-Za-z0-9+/]+={0,2}$/;
const BLOCK = /-----BEGIN CERTIFICATE-----[\sA-Za-z0-9+/=]+-----END CERTIFICATE-----/g;
