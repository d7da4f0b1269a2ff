// The certificate that Purser shows to those who call it: from files that are replaced now and then, or made by itself.

import { readFile } from 'node:fs/promises';
import type { Clock } from '../std/clock.ts';
import { createAuthority, issueServerCertificate, LOOPBACK_NAMES } from '../std/x509/certificates.ts';
import type { Logger } from '../telemetry/logger.ts';

/** A certificate with its chain and its private key, as PEM. */
export interface ServingCertificate {
  readonly cert: string;
  readonly key: string;
}

/** Where the certificate of today is found. Asked now and then; rejects while it cannot be read, and tells of that itself. */
export type CertificateSource = () => Promise<ServingCertificate>;

/** Tells of a certificate that cannot be read: once, however many ask for it and however often. */
export function toldOnce(certificate: CertificateSource, log: Logger): CertificateSource {
  let isTold = false;
  return async () => {
    try {
      const found = await certificate();
      isTold = false;
      return found;
    } catch (error) {
      if (!isTold) log.warn({ error }, 'the certificate of the façade cannot be read: it is waited for, and what is shown stays');
      isTold = true;
      throw error;
    }
  };
}

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

export interface FollowOptions {
  readonly certificate: CertificateSource;
  readonly clock: Clock;
  readonly log: Logger;
}

/** Who shows a certificate, and can take another one for new connections. */
export interface Shower {
  useCertificate(certificate: ServingCertificate): void;
}

/** Has a new certificate shown as soon as there is one that can be used. Returns how to stop. */
export function followCertificate({ certificate, clock, log }: FollowOptions, first: ServingCertificate, shower: Shower): () => void {
  let last = first;
  const look = async () => {
    const found = await certificate();
    if (found.cert === last.cert && found.key === last.key) return;
    last = found;
    try {
      shower.useCertificate(found);
      log.info('there is a new certificate');
    } catch (error) {
      log.warn({ error }, 'the new certificate cannot be used, the old one stays');
    }
  };
  let cancel = () => {};
  const arm = () => {
    cancel = clock.wakeAfter(LOOK_MS, () => {
      look().catch(() => {});
      arm();
    });
  };
  arm();
  return () => cancel();
}

/** How often the certificate is looked at. */
const LOOK_MS = 10_000;
