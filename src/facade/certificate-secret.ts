// The Secret on the hub that contains the serving certificate of all replicas. Purser or another controller issues the certificate. If
// Purser issues it, the Secret also contains Purser's CA, which issues the renewals, so that callers need not trust a new CA.

import { createPrivateKey, createPublicKey, X509Certificate } from 'node:crypto';
import { type Secret, Secrets } from '../api/resources.ts';
import type { KubeClient } from '../kube/client.ts';
import { hasReason, ignoreReasons } from '../kubernetes/status.ts';
import type { Clock } from '../std/clock.ts';
import { type Certificate, createAuthority, isAuthority, isIssuedByAuthority, issueServerCertificate } from '../std/x509/certificates.ts';
import type { Logger } from '../telemetry/logger.ts';
import { type FacadeAccess, publishFacadeAccess } from './access-config-map.ts';
import type { CertificateSource, ServingCertificate } from './certificate.ts';

export interface HubCertificateOptions {
  readonly hub: Pick<KubeClient, 'get' | 'create' | 'update'>;
  /** Purser's namespace. */
  readonly namespace: string;
  /** Name of the Secret. */
  readonly name: string;
  /** True if this process creates a missing Secret, renews certificates that Purser's CA issued, and publishes `access` and the CA. */
  readonly mayIssue: boolean;
  /** Settings of the façade that callers need. */
  readonly access: FacadeAccess;
  readonly clock: Clock;
  readonly log: Logger;
}

/** Returns the DNS names of the façade's Service. */
export function toServiceDnsNames(namespace: string): readonly string[] {
  return ['', `.${namespace}`, `.${namespace}.svc`, `.${namespace}.svc.cluster.local`].map((suffix) => `${SERVICE}${suffix}`);
}

/**
 * Returns a source that reads the Secret at most once every ten minutes, once a minute while a renewal or the publication of the CA fails,
 * and on the next call after a rejection. The source rejects if the Secret cannot be read or has no certificate or no key. With `mayIssue`,
 * it also rejects if the Secret cannot be created, or if a renewal fails and the current certificate has expired; without `mayIssue`, if
 * the Secret does not exist. While a new CA cannot be published, the source returns the last certificate whose CA was published, until that
 * certificate expires.
 */
export function createHubCertificateSource(options: HubCertificateOptions): CertificateSource {
  const { clock } = options;
  const reportRenewal = createReport(options.log, 'cannot renew serving certificate; serving the current one');
  const reportPublication = createReport(options.log, 'cannot publish address and CA of the façade; retrying');
  let reading: Promise<ServingCertificate> | undefined;
  let readAgainAt = -Infinity;
  /** The last certificate whose CA was published. */
  let published: Pick<Reading, 'certificate' | 'authority'> | undefined;
  const read = async () => {
    const { certificate, authority, failures } = await readOrIssue(options);
    reportRenewal(failures.renewal);
    reportPublication(failures.publication);
    if (failures.renewal !== undefined || failures.publication !== undefined) readAgainAt = clock.monotonic() + RETRY_MS;
    const isPublished = failures.publication === undefined || authority === published?.authority;
    if (!isPublished && published !== undefined && isValid(published.certificate.cert, clock.now())) return published.certificate;
    if (isPublished) published = { certificate, authority };
    return certificate;
  };
  return () => {
    if (reading !== undefined && clock.monotonic() < readAgainAt) return reading;
    readAgainAt = clock.monotonic() + CACHE_MS;
    const started = read();
    reading = started;
    started.catch(() => {
      if (reading === started) reading = undefined;
    });
    return started;
  };
}

/** Returns a function that logs an error, unless the previous call had an error with the same message. Undefined is not logged. */
function createReport(log: Logger, text: string): (error: unknown) => void {
  let reported: string | undefined;
  return (error) => {
    const message = error instanceof Error ? error.message : undefined;
    if (error !== undefined && message !== reported) log.warn({ error }, text);
    reported = message;
  };
}

/** Time for which a certificate from the Secret is cached, in milliseconds. */
const CACHE_MS = 600_000;
/** Minimum time between two attempts of a renewal or publication that fails, in milliseconds. */
const RETRY_MS = 60_000;
const DAY_MS = 86_400_000;
/** Remaining lifetime at which a certificate is renewed, in milliseconds. Certificates are issued for a year. */
const RENEW_BEFORE_MS = 90 * DAY_MS;
const SERVICE = 'purser';
const LOCAL_NAMES = ['localhost', '127.0.0.1', '::1'];

/** A certificate, and the errors of writes that do not prevent the use of the certificate. */
interface Reading {
  readonly certificate: ServingCertificate;
  /** Content of `ca.crt`, as PEM; undefined if the Secret has none, or if this process does not publish it. */
  readonly authority: string | undefined;
  readonly failures: { readonly renewal?: unknown; readonly publication?: unknown };
}

async function readOrIssue(options: HubCertificateOptions): Promise<Reading> {
  const { hub, namespace, name, mayIssue } = options;
  const found = await ignoreReasons(hub.get(Secrets, { namespace, name }), 'NotFound');
  if (!mayIssue) return { certificate: toServingCertificate(found, options), authority: undefined, failures: {} };
  const { secret, renewal } = await renewIfDue(options, found);
  const certificate = toServingCertificate(secret, options);
  const authority = secret.data?.['ca.crt'] ? decodeText(secret, 'ca.crt') : undefined;
  const published = publishFacadeAccess(hub, namespace, { authority, ...options.access });
  const publication = await published.catch((error: unknown) => error);
  return { certificate, authority, failures: { renewal, publication } };
}

/** Secret to serve from, and the error of a failed renewal. */
interface Renewed {
  readonly secret: Secret;
  readonly renewal?: unknown;
}

/**
 * Creates a missing Secret, and renews a certificate that Purser's CA has issued and that expires soon. Throws if the write fails and the
 * Secret has no valid certificate.
 */
async function renewIfDue(options: HubCertificateOptions, found: Secret | undefined): Promise<Renewed> {
  const now = options.clock.now();
  if (found !== undefined && !isRenewalDue(found, now)) return { secret: found };
  try {
    return { secret: await issue(options, found) };
  } catch (error) {
    if (found?.data?.['tls.key'] && isValid(decodeText(found, 'tls.crt'), now)) return { secret: found, renewal: error };
    throw error;
  }
}

/** Writes a new certificate. Returns the Secret, even if another replica wrote it first. */
async function issue(options: HubCertificateOptions, old: Secret | undefined): Promise<Secret> {
  const { hub, namespace, name, clock } = options;
  const data = createData(namespace, old, clock.now());
  try {
    if (old === undefined)
      return await hub.create(Secrets, { metadata: { namespace, name, labels: LABELS }, type: 'kubernetes.io/tls', data });
    return await hub.update(Secrets, { ...old, data: { ...old.data, ...data } });
  } catch (error) {
    if (!hasReason(error, 'AlreadyExists', 'Conflict')) throw error;
    const current = await hub.get(Secrets, { namespace, name });
    // Another client may have changed only another part of the Secret.
    if (isRenewalDue(current, clock.now())) throw error;
    return current;
  }
}

function isRenewalDue(secret: Secret, now: number): boolean {
  return isIssuedByPurser(secret) && !isValid(decodeText(secret, 'tls.crt'), now + RENEW_BEFORE_MS);
}

const LABELS = { 'app.kubernetes.io/name': 'purser' };

function createData(namespace: string, old: Secret | undefined, now: number): Record<string, string> {
  const reusable = old && findReusableAuthority(old, now);
  const authority = reusable ?? createAuthority(now);
  const { certificate, key } = issueServerCertificate(authority, [...toServiceDnsNames(namespace), ...LOCAL_NAMES], now);
  const texts = {
    'tls.crt': `${certificate}${authority.certificate}`,
    'tls.key': key,
    'ca.crt': reusable?.bundle ?? authority.certificate,
    'ca.key': authority.key,
  };
  return Object.fromEntries(Object.entries(texts).map(([file, text]) => [file, Buffer.from(text).toString('base64')]));
}

/** Purser's CA in the Secret. */
interface ReusableAuthority extends Certificate {
  /** Content of `ca.crt`, which may also contain certificates that administrators have added; undefined if it lacks Purser's CA. */
  readonly bundle: string | undefined;
}

/**
 * Returns Purser's CA; undefined if the Secret does not contain its certificate or the matching key, or if the CA would expire before a
 * certificate that is issued now. The chain in `tls.crt` also contains the CA certificate: another tool may have replaced `ca.crt`.
 */
function findReusableAuthority(secret: Secret, now: number): ReusableAuthority | undefined {
  const [bundle, key] = [decodeText(secret, 'ca.crt'), decodeText(secret, 'ca.key')];
  try {
    const privateKey = createPrivateKey(key);
    const isPurserAuthority = (certificate: X509Certificate) => isAuthority(certificate) && certificate.checkPrivateKey(privateKey);
    const bundled = parseCertificates(bundle).find(isPurserAuthority);
    const found = bundled ?? parseCertificates(decodeText(secret, 'tls.crt')).find(isPurserAuthority);
    const expiresAt = found?.validToDate.getTime() ?? 0;
    if (found === undefined || expiresAt - now <= 365 * DAY_MS) return undefined;
    return { certificate: found.toString(), key, expiresAt, bundle: bundled && bundle };
  } catch {
    return undefined;
  }
}

/** Parses the certificates in a PEM text; omits those that are malformed. */
function parseCertificates(text: string): readonly X509Certificate[] {
  return (text.match(PEM_CERTIFICATE) ?? []).flatMap((block) => {
    try {
      return [new X509Certificate(block)];
    } catch {
      return [];
    }
  });
}

const PEM_CERTIFICATE = /-----BEGIN CERTIFICATE-----[^-]+-----END CERTIFICATE-----/g;

/**
 * Returns true if the CA key in the Secret signed the certificate and belongs to a CA that Purser created: another controller may replace
 * the certificate and keep the key of Purser's CA, or keep the key of its own CA in the Secret.
 */
function isIssuedByPurser(secret: Secret): boolean {
  if (secret.data?.['ca.key'] === undefined) return false;
  try {
    const certificate = new X509Certificate(decodeText(secret, 'tls.crt'));
    const authorityKey = createPublicKey(decodeText(secret, 'ca.key'));
    return isIssuedByAuthority(certificate, authorityKey);
  } catch {
    return false;
  }
}

/** Returns true if the first certificate of a chain expires after a time; false for a malformed certificate. */
function isValid(chain: string, at: number): boolean {
  try {
    return new X509Certificate(chain).validToDate.getTime() > at;
  } catch {
    return false;
  }
}

function toServingCertificate(secret: Secret | undefined, { namespace, name }: HubCertificateOptions): ServingCertificate {
  if (secret === undefined)
    throw new Error(
      `Secret ${namespace}/${name} was not found. Create the Secret, or start a Purser controller with --facade-tls-secret ${name}`,
    );
  const missing = ['tls.crt', 'tls.key'].find((key) => !secret.data?.[key]);
  if (missing !== undefined)
    throw new Error(`Secret ${namespace}/${name} has no ${missing}. Add the key, or delete the Secret so that a controller re-creates it`);
  return { cert: decodeText(secret, 'tls.crt'), key: decodeText(secret, 'tls.key') };
}

function decodeText({ data }: Secret, key: string): string {
  return Buffer.from(data?.[key] ?? '', 'base64').toString();
}
