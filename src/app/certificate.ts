// Selection of the serving certificate: from files, from a Secret on the hub, from the options, or self-signed.

import { hostname } from 'node:os';
import type { FacadeAccess } from '../facade/access-config-map.ts';
import {
  type CertificateSource,
  createFileCertificateSource,
  createSelfSignedCertificateSource,
  followCertificate,
  logFailureOnce,
  type ServingCertificate,
} from '../facade/certificate.ts';
import { createHubCertificateSource, toServiceDnsNames } from '../facade/certificate-secret.ts';
import type { KubeClient } from '../kube/client.ts';
import type { Component } from '../runtime/lifecycle.ts';
import { retryUntilDone } from '../std/backoff.ts';
import type { Clock } from '../std/clock.ts';
import type { AppOptions } from './options.ts';

/** Returns the source of the serving certificate. */
export function selectCertificateSource(options: CertificateOptions, hub: KubeClient): CertificateSource {
  const { clock, log, settings, facadeCertificate } = options;
  const { facadeTlsCert: certFile, facadeTlsKey: keyFile, facadeTlsSecret: name, namespace, components } = settings;
  const mayIssue = components.includes('controller');
  if (certFile !== undefined && keyFile !== undefined) return logFailureOnce(createFileCertificateSource(certFile, keyFile), log);
  if (name !== undefined)
    return logFailureOnce(
      createHubCertificateSource({ hub, namespace, name, mayIssue, access: toFacadeAccess(settings), clock, log }),
      log,
    );
  return facadeCertificate === undefined
    ? createSelfSignedCertificateSource([...toServiceDnsNames(namespace), hostname()], clock.now())
    : async () => facadeCertificate;
}

function toFacadeAccess({ facadeUrl, facadePath, facadeAudiences }: AppOptions['settings']): FacadeAccess {
  return { server: facadeUrl, path: facadePath, audiences: facadeAudiences };
}

type CertificateOptions = Pick<AppOptions, 'clock' | 'log' | 'settings' | 'facadeCertificate'>;

/** Resolves once the source returns a certificate. Rejects only if `signal` aborts. */
export async function waitForCertificate(certificate: CertificateSource, clock: Clock, signal: AbortSignal): Promise<void> {
  // The delay does not grow: an administrator or the controller can create the certificate at any time.
  const delays = { initialMs: RETRY_MS, maxMs: RETRY_MS };
  await retryUntilDone(certificate, { clock, random: () => 0, signal, delays });
}

const RETRY_MS = 1_000;

/** Returns the component that creates and renews the Secret with the certificate of a façade that runs in another process. */
export function createCertificateRenewal({ clock, log }: AppOptions, certificate: CertificateSource): Component {
  let stop = () => {};
  return {
    name: 'façade certificate',
    async start() {
      stop = followCertificate({ certificate, clock, log }, { cert: '', key: '', isTemporary: true }, { useCertificate: () => {} });
    },
    stop: async () => stop(),
  };
}

/** Wraps a source so that the first call returns a temporary self-signed certificate immediately. */
export function withFallback(certificate: CertificateSource, now: number): CertificateSource {
  const fallback = createSelfSignedCertificateSource([], now);
  let shown: ServingCertificate | undefined;
  return async () => {
    shown = shown === undefined ? { ...(await fallback()), isTemporary: true } : await certificate();
    return shown;
  };
}
