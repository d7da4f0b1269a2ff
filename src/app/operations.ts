// Health checks and metrics of the process.

import { Authenticator } from '../facade/authenticate.ts';
import type { CertificateSource } from '../facade/certificate.ts';
import type { ReviewLimit } from '../facade/limits/review-limit.ts';
import type { Check, HealthChecks } from '../facade/operations/health.ts';
import { listenForOperations, type Operations } from '../facade/operations/listener.ts';
import { createMetricsAccessCheck } from '../facade/operations/metrics-access.ts';
import type { KubeClient } from '../kube/client.ts';
import type { Component } from '../runtime/lifecycle.ts';
import type { Metrics } from '../telemetry/metrics.ts';
import { withFallback } from './certificate.ts';
import type { AppOptions } from './options.ts';

/** Health checks of the process. The process stays ready while the hub is unreachable, because it serves from its caches. */
export class ProcessState {
  #isStopping = false;
  readonly #readyz: Check[] = [PING, { name: 'shutdown', passes: () => !this.#isStopping }];
  readonly health: HealthChecks = { livez: [PING], readyz: this.#readyz };

  /** Adds the readiness check of a component, if it has one. The check passes once the returned component has started. */
  track(component: Component): Component {
    const { check: name } = component;
    if (name === undefined) return component;
    let isStarted = false;
    this.#readyz.splice(-1, 0, { name, passes: () => isStarted });
    const start = async (signal: AbortSignal) => {
      await component.start(signal);
      isStarted = true;
    };
    return { ...component, start };
  }

  markStopping(): void {
    this.#isStopping = true;
  }
}

const PING = { name: 'ping', passes: () => true };

export interface OperationsParts {
  readonly hub: KubeClient;
  readonly metrics: Metrics;
  readonly health: HealthChecks;
  readonly certificate: CertificateSource;
  /** Limit on TokenReviews, shared with the façade's Authenticator, which may demand an audience. */
  readonly reviewLimit: ReviewLimit;
  readonly onListening: (url: string) => void;
}

/** Creates the component that serves health checks and metrics; it starts first and stops last. */
export function createOperations(options: AppOptions, observed: OperationsParts): Component {
  const { hub, metrics, health, reviewLimit, onListening } = observed;
  const { clock, log, settings } = options;
  const { bindAddress: host, metricsPort: port } = settings;
  const authenticator = new Authenticator({ hub, clock, log, audiences: [], reviewLimit });
  const admit = settings.metricsAuth === 'none' ? undefined : createMetricsAccessCheck({ authenticator, hub, clock, log });
  const certificate = settings.metricsTls ? withFallback(observed.certificate, clock.now()) : undefined;
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
