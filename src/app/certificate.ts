// Which certificate a process shows: that in files or in a Secret of the hub, or else one that it was given or makes itself.

import { hostname } from 'node:os';
import {
  type CertificateSource,
  certificateFiles,
  followCertificate,
  logFailureOnce,
  type ServingCertificate,
  selfSignedCertificate,
} from '../facade/certificate.ts';
import { hubCertificate, serviceNames } from '../facade/certificate-secret.ts';
import type { KubeClient } from '../kube/client.ts';
import type { Component } from '../runtime/lifecycle.ts';
import type { Clock } from '../std/clock.ts';
import { retried } from '../std/retried.ts';
import type { AppOptions } from './options.ts';

/** Where the certificate is found, for whatever the process serves. */
export function servingCertificate(options: CertificateOptions, hub: KubeClient): CertificateSource {
  const { clock, log, settings, facadeCertificate: given } = options;
  const { facadeTlsCert: certFile, facadeTlsKey: keyFile, facadeTlsSecret: name, namespace, components } = settings;
  const mayIssue = components.includes('controller');
  if (certFile !== undefined && keyFile !== undefined) return logFailureOnce(certificateFiles(certFile, keyFile), log);
  if (name !== undefined) return logFailureOnce(hubCertificate({ hub, namespace, name, mayIssue, clock }), log);
  return given === undefined ? selfSignedCertificate([...serviceNames(namespace), hostname()], clock.now()) : async () => given;
}

type CertificateOptions = Pick<AppOptions, 'clock' | 'log' | 'settings' | 'facadeCertificate'>;

/** Resolves once there is a certificate, however long that takes. Rejects only when it is aborted. */
export async function untilFound(certificate: CertificateSource, clock: Clock, signal: AbortSignal): Promise<void> {
  // Once a second, as long as it takes: what is waited for is a person, or the controller.
  const pauses = { initialMs: LOOK_MS, maxMs: LOOK_MS };
  await retried(certificate, { clock, random: () => 0, signal, pauses });
}

const LOOK_MS = 1_000;

/** Has the Secret made, and renewed, by a process that shows the certificate to nobody. */
export function certificateUpkeep({ clock, log }: AppOptions, certificate: CertificateSource): Component {
  let stop = () => {};
  return {
    name: 'certificate of the façade',
    async start() {
      stop = followCertificate({ certificate, clock, log }, { cert: '', key: '' }, { useCertificate: () => {} });
    },
    stop: async () => stop(),
  };
}

/** For those who cannot wait: one that nobody trusts comes first, and the right one as soon as it is found. */
export function withoutWaiting(certificate: CertificateSource, now: number): CertificateSource {
  const makeshift = selfSignedCertificate([], now);
  let shown: ServingCertificate | undefined;
  return async () => {
    shown = shown === undefined ? await makeshift() : await certificate();
    return shown;
  };
}
