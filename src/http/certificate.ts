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

/** Where the certificate of today is found. Asked now and then. */
export type CertificateSource = () => Promise<ServingCertificate>;

/** Where the certificate comes from: files, or else one that is given, or else one that is made now. */
export function certificateSource(files: CertificateFiles, given: GivenCertificate | undefined, now: number): CertificateSource {
  const { certFile, keyFile, names = [] } = files;
  if (certFile !== undefined && keyFile !== undefined) return certificateFiles(certFile, keyFile);
  if (given === undefined) return selfMadeCertificate(names, now);
  return typeof given === 'function' ? given : async () => given;
}

/** A certificate that stays, or where that of the day is found. */
export type GivenCertificate = ServingCertificate | CertificateSource;

export interface CertificateFiles {
  readonly certFile: string | undefined;
  readonly keyFile: string | undefined;
  /** What one that is made is for, besides this machine. */
  readonly names?: readonly string[];
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
  let used = first;
  const look = async () => {
    const found = await certificate();
    if (found.cert === used.cert && found.key === used.key) return;
    shower.useCertificate(found);
    used = found;
    log.info('there is a new certificate');
  };
  let cancel = () => {};
  const arm = () => {
    cancel = clock.wakeAfter(LOOK_MS, () => {
      look().catch((error: unknown) => log.warn({ error }, 'the new certificate cannot be used, the old one stays'));
      arm();
    });
  };
  arm();
  return () => cancel();
}

/** How often the certificate is looked at. */
const LOOK_MS = 10_000;
