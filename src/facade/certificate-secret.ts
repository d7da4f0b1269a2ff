// The certificate of the façade on a cluster: in one Secret for all replicas, given by somebody else, or made by Purser.
// One that Purser made has its authority beside it: new certificates are by the same one, so that callers need not be told.

import { createPublicKey, X509Certificate } from 'node:crypto';
import { ConfigMaps, type Secret, Secrets } from '../api/resources.ts';
import type { KubeClient } from '../kube/client.ts';
import { hasReason } from '../kubernetes/status.ts';
import type { Clock } from '../std/clock.ts';
import { type Certificate, createAuthority, issueServerCertificate } from '../std/x509/certificates.ts';
import type { CertificateSource, ServingCertificate } from './certificate.ts';

export interface HubCertificateOptions {
  readonly hub: Pick<KubeClient, 'get' | 'create' | 'update'>;
  /** Where Purser is installed. */
  readonly namespace: string;
  /** The Secret with the certificate. */
  readonly name: string;
  /** Whether to make it where it is missing, and to renew what was made. */
  readonly mayMake: boolean;
  readonly clock: Clock;
}

/** The ConfigMap in which the authority of the certificate is published, for those who may not read the Secret. */
export const AUTHORITY_CONFIG_MAP = 'purser-facade-ca';

/** The names of the façade's Service, from near and from far. */
export function serviceNames(namespace: string): readonly string[] {
  return ['', `.${namespace}`, `.${namespace}.svc`, `.${namespace}.svc.cluster.local`].map((suffix) => `${SERVICE}${suffix}`);
}

/** The certificate in the Secret. Rejects while there is none, and none may be made. The Secret is read now and then. */
export function hubCertificate(options: HubCertificateOptions): CertificateSource {
  let known: { readonly certificate: Promise<ServingCertificate>; readonly at: number } | undefined;
  return () => {
    const now = options.clock.monotonic();
    if (known !== undefined && now - known.at < KEEP_MS) return known.certificate;
    const looked = { certificate: look(options), at: now };
    known = looked;
    looked.certificate.catch(() => {
      if (known === looked) known = undefined;
    });
    return looked.certificate;
  };
}

const KEEP_MS = 600_000;
const DAY_MS = 86_400_000;
/** Certificates are made for a year. */
const RENEW_BEFORE_MS = 90 * DAY_MS;
const SERVICE = 'purser';
const LOCAL_NAMES = ['localhost', '127.0.0.1', '::1'];

async function look(options: HubCertificateOptions): Promise<ServingCertificate> {
  const { hub, namespace, name, mayMake } = options;
  const found = await hub.get(Secrets, { namespace, name }).catch((error: unknown) => ignored(error, 'NotFound'));
  const kept = mayMake ? await upToDate(options, found) : found;
  const certificate = servingCertificate(kept, options);
  if (mayMake) await publish(options, kept?.data?.['ca.crt'] ? textOf(kept, 'ca.crt') : undefined);
  return certificate;
}

/** What is missing, or ours and about to end, is made. */
async function upToDate(options: HubCertificateOptions, found: Secret | undefined): Promise<Secret> {
  const isKept = found !== undefined && (!isOurs(found) || isFresh(found, options.clock.now()));
  return isKept ? found : await made(options, found);
}

/** Writes a new certificate, unless another replica was faster. */
async function made(options: HubCertificateOptions, old: Secret | undefined): Promise<Secret> {
  const { hub, namespace, name, clock } = options;
  const data = newData(namespace, old, clock.now());
  const written =
    old === undefined
      ? hub.create(Secrets, { metadata: { namespace, name, labels: LABELS }, type: 'kubernetes.io/tls', data })
      : hub.update(Secrets, { ...old, data });
  return (
    (await written.catch((error: unknown) => ignored(error, 'AlreadyExists', 'Conflict'))) ?? (await hub.get(Secrets, { namespace, name }))
  );
}

const LABELS = { 'app.kubernetes.io/name': 'purser' };

function newData(namespace: string, old: Secret | undefined, now: number): Record<string, string> {
  const authority = authorityIn(old, now) ?? createAuthority(now);
  const { certificate, key } = issueServerCertificate(authority, [...serviceNames(namespace), ...LOCAL_NAMES], now);
  const texts = {
    'tls.crt': `${certificate}${authority.certificate}`,
    'tls.key': key,
    'ca.crt': authority.certificate,
    'ca.key': authority.key,
  };
  return Object.fromEntries(Object.entries(texts).map(([file, text]) => [file, Buffer.from(text).toString('base64')]));
}

/** The authority that was used, if it outlives the certificates that it is to issue. */
function authorityIn(secret: Secret | undefined, now: number): Certificate | undefined {
  if (secret === undefined) return undefined;
  const [certificate, key] = [textOf(secret, 'ca.crt'), textOf(secret, 'ca.key')];
  const expiresAt = new X509Certificate(certificate).validToDate.getTime();
  return expiresAt - now > 365 * DAY_MS ? { certificate, key, expiresAt } : undefined;
}

async function publish({ hub, namespace }: HubCertificateOptions, authority: string | undefined): Promise<void> {
  const metadata = { namespace, name: AUTHORITY_CONFIG_MAP };
  const data = authority !== undefined ? { 'ca.crt': authority } : {};
  const found = await hub.get(ConfigMaps, metadata).catch((error: unknown) => ignored(error, 'NotFound'));
  if (found?.data?.['ca.crt'] === authority) return;
  const written =
    found === undefined
      ? hub.create(ConfigMaps, { metadata: { ...metadata, labels: LABELS }, data })
      : hub.update(ConfigMaps, { ...found, data });
  // Whoever was faster published the same.
  await written.catch((error: unknown) => ignored(error, 'AlreadyExists', 'Conflict'));
}

/** Whether our authority signed the certificate. Whoever takes the Secret over may leave the key of that in it. */
function isOurs(secret: Secret): boolean {
  if (secret.data?.['ca.key'] === undefined) return false;
  try {
    return new X509Certificate(textOf(secret, 'tls.crt')).verify(createPublicKey(textOf(secret, 'ca.key')));
  } catch {
    return false;
  }
}

function isFresh(secret: Secret, now: number): boolean {
  return new X509Certificate(textOf(secret, 'tls.crt')).validToDate.getTime() - now > RENEW_BEFORE_MS;
}

function servingCertificate(secret: Secret | undefined, { namespace, name }: HubCertificateOptions): ServingCertificate {
  if (secret === undefined) throw new Error(`there is no Secret ${namespace}/${name} with a certificate yet`);
  const missing = ['tls.crt', 'tls.key'].find((key) => !secret.data?.[key]);
  if (missing !== undefined) throw new Error(`Secret ${namespace}/${name} has no ${missing}`);
  return { cert: textOf(secret, 'tls.crt'), key: textOf(secret, 'tls.key') };
}

function textOf({ data }: Secret, key: string): string {
  return Buffer.from(data?.[key] ?? '', 'base64').toString();
}

function ignored(error: unknown, ...reasons: Parameters<typeof hasReason>[1][]): undefined {
  if (!hasReason(error, ...reasons)) throw error;
}
