// Which certificate a process shows: that in files or in a Secret of the hub, or else one that it was given or makes itself.

import { hostname } from 'node:os';
import {
  type CertificateSource,
  certificateSource,
  followCertificate,
  type ServingCertificate,
  selfMadeCertificate,
} from '../http/certificate.ts';
import { hubCertificate, serviceNames } from '../http/serving-certificate.ts';
import type { KubeClient } from '../kube/client.ts';
import type { Component } from '../runtime/lifecycle.ts';
import { sleep } from '../std/clock.ts';
import type { AppOptions } from './options.ts';

/** Where the certificate is found, for whatever the process serves. */
export function servingCertificate(
  { clock, settings, facadeCertificate }: Pick<AppOptions, 'clock' | 'settings' | 'facadeCertificate'>,
  hub: KubeClient,
): CertificateSource {
  const { facadeTlsCert: certFile, facadeTlsKey: keyFile, facadeTlsSecret: name, namespace, components } = settings;
  const mayMake = components?.includes('controller') ?? true;
  const kept = name === undefined ? facadeCertificate : hubCertificate({ hub, namespace, name, mayMake, clock });
  return certificateSource({ certFile, keyFile, names: [...serviceNames(namespace), hostname()] }, kept, clock.now());
}

/** Resolves once there is a certificate, however long that takes. Rejects only when it is aborted. */
export async function untilFound(
  certificate: CertificateSource,
  { clock, log }: Pick<AppOptions, 'clock' | 'log'>,
  signal: AbortSignal,
): Promise<void> {
  for (let isTold = false; ; isTold = true) {
    try {
      await certificate();
      return;
    } catch (error) {
      signal.throwIfAborted();
      if (!isTold) log.warn({ error }, 'the façade waits for its certificate');
    }
    await sleep(clock, LOOK_MS, signal);
  }
}

const LOOK_MS = 1_000;

/** Has the Secret made, and renewed, by a process that shows the certificate to nobody. */
export function certificateUpkeep(options: AppOptions, hub: KubeClient): Component {
  const certificate = servingCertificate(options, hub);
  let stop = () => {};
  return {
    name: 'certificate of the façade',
    stopMs: LOOK_MS,
    async start() {
      stop = followCertificate({ ...options, certificate }, { cert: '', key: '' }, { useCertificate: () => {} });
    },
    stop: async () => stop(),
  };
}

/** For those who cannot wait: one that nobody trusts comes first, and the right one as soon as it is found. */
export function withoutWaiting(certificate: CertificateSource, now: number): CertificateSource {
  const makeshift = selfMadeCertificate([], now);
  let shown: ServingCertificate | undefined;
  return async () => {
    shown = shown === undefined ? await makeshift() : await certificate();
    return shown;
  };
}
