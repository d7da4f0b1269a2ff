// How the process is looked at from outside: its health, and its metrics.

import { Authenticator } from '../facade/authenticate.ts';
import type { CertificateSource } from '../facade/certificate.ts';
import type { ReviewLimit } from '../facade/limits/review-limit.ts';
import type { Check, Health } from '../facade/operations/health.ts';
import { listenForOperations, type Operations } from '../facade/operations/listener.ts';
import { metricsAccess } from '../facade/operations/metrics-access.ts';
import type { KubeClient } from '../kube/client.ts';
import type { Component } from '../runtime/lifecycle.ts';
import type { Metrics } from '../telemetry/metrics.ts';
import { withoutWaiting } from './certificate.ts';
import type { AppOptions } from './options.ts';

/** How far the process is, as its probes tell it. The hub may be away: answers from memory are better than none. */
export class ProcessState {
  #isStopping = false;
  readonly #readyz: Check[] = [PING, { name: 'shutdown', holds: () => !this.#isStopping }];
  readonly health: Health = { livez: [PING], readyz: this.#readyz };

  /** The component, whose check holds from when it has started. */
  following(component: Component): Component {
    const { check: name } = component;
    if (name === undefined) return component;
    let isStarted = false;
    this.#readyz.splice(-1, 0, { name, holds: () => isStarted });
    const start = async (signal: AbortSignal) => {
      await component.start(signal);
      isStarted = true;
    };
    return { ...component, start };
  }

  stopping(): void {
    this.#isStopping = true;
  }
}

const PING = { name: 'ping', holds: () => true };

export interface Observed {
  readonly hub: KubeClient;
  readonly metrics: Metrics;
  readonly health: Health;
  readonly certificate: CertificateSource;
  /** Shared with the façade, which asks for tokens with other audiences. */
  readonly reviewLimit: ReviewLimit;
  readonly onListening: (url: string) => void;
}

/** Probes come first and go last. */
export function operations(options: AppOptions, observed: Observed): Component {
  const { hub, metrics, health, reviewLimit, onListening } = observed;
  const { clock, log, settings } = options;
  const { bindAddress: host, metricsPort: port } = settings;
  const authenticator = new Authenticator({ hub, clock, log, audiences: [], reviewLimit });
  const admit = settings.metricsAuth === 'none' ? undefined : metricsAccess({ authenticator, hub, clock, log });
  const certificate = settings.metricsTls ? withoutWaiting(observed.certificate, clock.now()) : undefined;
  let listening: Operations | undefined;
  return {
    name: 'metrics and health',
    async start() {
      listening = await listenForOperations({ host, port, health, metrics, admit, certificate, clock, log });
      onListening(listening.url);
    },
    stop: async () => listening?.close(),
  };
}
