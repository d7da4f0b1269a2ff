// The certificate that the façade shows: from files that are replaced now and then, or made by itself.

import { readFile } from 'node:fs/promises';
import { createAuthority, issueServerCertificate, LOOPBACK_NAMES } from '../std/x509/certificates.ts';

/** A certificate with its chain and its private key, as PEM. */
export interface ServingCertificate {
  readonly cert: string;
  readonly key: string;
}

/** Where the certificate of today is found. Asked now and then. */
export type CertificateSource = () => Promise<ServingCertificate>;

/** The certificate that two files hold. */
export function certificateFiles(certFile: string, keyFile: string): CertificateSource {
  return async () => {
    const [cert, key] = await Promise.all([readFile(certFile, 'utf8'), readFile(keyFile, 'utf8')]);
    return { cert, key };
  };
}

/** A certificate that nobody vouches for: whoever calls has to be given it. */
export function selfMadeCertificate(names: readonly string[], now: number): CertificateSource {
  const authority = createAuthority(now);
  const { certificate, key } = issueServerCertificate(authority, [...LOOPBACK_NAMES, ...names], now);
  const made = { cert: `${certificate}${authority.certificate}`, key };
  return async () => made;
}
