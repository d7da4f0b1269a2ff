// Sources of Purser's serving certificate: files, or a new CA that issues the certificate; certificate-secret.ts contains another source.
// Servers check their source for a new certificate periodically.

import { readFile } from 'node:fs/promises';
import type { Clock } from '../std/clock.ts';
import { createAuthority, issueServerCertificate, LOOPBACK_NAMES } from '../std/x509/certificates.ts';
import type { Logger } from '../telemetry/logger.ts';

/** A certificate with its chain, and its private key, as PEM. */
export interface ServingCertificate {
  readonly cert: string;
  readonly key: string;
  /** True for a placeholder that the first certificate from the source replaces without a log line; false if undefined. */
  readonly isTemporary?: boolean;
}

/** Returns the current certificate. Called periodically; rejects while the certificate cannot be read. */
export type CertificateSource = () => Promise<ServingCertificate>;

/** Returns a source that logs the first of consecutive failures. */
export function logFailureOnce(certificate: CertificateSource, log: Logger): CertificateSource {
  let isLogged = false;
  return async () => {
    try {
      const found = await certificate();
      isLogged = false;
      return found;
    } catch (error) {
      if (!isLogged) log.warn({ error }, 'cannot read serving certificate; retrying');
      isLogged = true;
      throw error;
    }
  };
}

/** Returns a source that reads the certificate and the key from two PEM files. */
export function createFileCertificateSource(certFile: string, keyFile: string): CertificateSource {
  return async () => {
    const [cert, key] = await Promise.all([readFile(certFile, 'utf8'), readFile(keyFile, 'utf8')]);
    return { cert, key };
  };
}

/** Returns a source of one certificate, issued by a new CA that callers must trust. */
export function createSelfSignedCertificateSource(names: readonly string[], now: number): CertificateSource {
  const authority = createAuthority(now);
  const { certificate, key } = issueServerCertificate(authority, [...LOOPBACK_NAMES, ...names], now);
  const issued = { cert: `${certificate}${authority.certificate}`, key };
  return async () => issued;
}

export interface FollowCertificateOptions {
  readonly certificate: CertificateSource;
  readonly clock: Clock;
  readonly log: Logger;
}

/** A server that can use another certificate for new connections. */
export interface CertificateConsumer {
  useCertificate(certificate: ServingCertificate): void;
}

/**
 * Checks for a new certificate every ten seconds, and passes each certificate that differs from the previous one to the consumer. `first`
 * is the certificate in use. Returns a function that stops the checks.
 */
export function followCertificate(
  { certificate, clock, log }: FollowCertificateOptions,
  first: ServingCertificate,
  consumer: CertificateConsumer,
): () => void {
  let last = first;
  const check = async () => {
    const found = await certificate();
    if (found.cert === last.cert && found.key === last.key) return;
    const { isTemporary } = last;
    last = found;
    try {
      consumer.useCertificate(found);
      if (!isTemporary) log.info('serving certificate replaced');
    } catch (error) {
      log.warn({ error }, 'cannot use new serving certificate; keeping the current one');
    }
  };
  let cancel = () => {};
  const arm = () => {
    cancel = clock.wakeAfter(CHECK_MS, () => {
      check().catch(() => {});
      arm();
    });
  };
  arm();
  return () => cancel();
}

/** Interval between checks for a new certificate, in milliseconds. */
const CHECK_MS = 10_000;
