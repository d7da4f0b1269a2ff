// Metrics of the process with their labels and buckets. No histogram has a label for clusters or tokens, because such a label would
// multiply its series.

import { Counter, Gauge, Histogram, type Registry } from 'prom-client';

/** Values that gauges read at each scrape. */
export interface GaugeSources {
  /** Number of due keys that wait, by controller. */
  readonly depths: ReadonlyMap<string, () => number>;
  readonly leads: () => boolean;
  /** Interval between two verifications of a token, in milliseconds; 0 if no token is verified. */
  readonly verificationMs: () => number;
  /** Number of open watches on the façade. */
  readonly watches: () => number;
}

/** Declares the metrics of the process. */
export function declareMetrics(registry: Registry, sources: GaugeSources) {
  return {
    ...declareControllerMetrics(registry, sources),
    ...declareTokenMetrics(registry, sources),
    ...declareFacadeMetrics(registry, sources),
  };
}

function declareControllerMetrics(registry: Registry, { depths, leads }: GaugeSources) {
  const registers = [registry];
  return {
    build: createGauge('build_info', 'Versions of Purser and Node.js, as labels; always 1.', {
      registers,
      labelNames: ['version', 'node'],
    }),
    leader: createGauge('leader', '1 if this process is the leader, otherwise 0.', {
      registers,
      collect() {
        this.set(leads() ? 1 : 0);
      },
    }),
    runs: createCounter('reconcile_total', 'Reconciles by controller and outcome.', { registers, labelNames: ['controller', 'outcome'] }),
    depth: createGauge('workqueue_depth', 'Number of due objects that wait for a reconcile.', {
      registers,
      labelNames: ['controller'],
      collect() {
        for (const [controller, depth] of depths) this.set({ controller }, depth());
      },
    }),
    lateness: createHistogram('workqueue_lateness_seconds', 'Delay between the due time of an object and the start of its reconcile.', {
      registers,
      labelNames: ['controller'],
      buckets: [0.01, 0.1, 0.5, 1, 5, 10, 30, 60, 300],
    }),
    probeDuration: createHistogram('cluster_probe_duration_seconds', 'Duration of a cluster probe.', {
      registers,
      buckets: [0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10],
    }),
  };
}

function declareTokenMetrics(registry: Registry, { verificationMs }: GaugeSources) {
  const registers = [registry];
  return {
    issueDuration: createHistogram(
      'token_issue_duration_seconds',
      'Duration of a successful token issuance; for a ManagedToken, includes the write of its Secret.',
      {
        registers,
        buckets: [0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30],
      },
    ),
    renewalLateness: createHistogram(
      'token_renewal_lateness_seconds',
      'Delay between the scheduled and the actual renewal of a token, including retries.',
      {
        registers,
        buckets: [1, 5, 10, 30, 60, 300, 1_800, 7_200],
      },
    ),
    orphans: createCounter(
      'orphaned_anchors_total',
      'Anchor Secrets that Purser could not delete; tokens bound to them stay valid until expiry.',
      {
        registers,
        labelNames: ['target_cluster', 'namespace', 'name'],
      },
    ),
    heldRemovals: createCounter('held_removals_total', 'Checks in which a removal limit delayed or paused the removal of a Secret.', {
      registers,
      labelNames: ['limit'],
    }),
    verificationInterval: createGauge(
      'token_verification_interval_seconds',
      'Interval between two verifications of a token; 0 if verification is disabled or this process is not the leader.',
      {
        registers,
        collect() {
          this.set(verificationMs() / 1_000);
        },
      },
    ),
    removalPaused: createGauge('removal_paused', '1 while the global removal limit pauses the removal of Secrets, otherwise 0.', {
      registers,
    }),
  };
}

function declareFacadeMetrics(registry: Registry, { watches }: GaugeSources) {
  const registers = [registry];
  return {
    requests: createCounter('http_requests_total', 'Requests to the façade by route and status code.', {
      registers,
      labelNames: ['route', 'code'],
    }),
    requestDuration: createHistogram(
      'http_request_duration_seconds',
      'Duration of requests to the façade, excluding watches and large lists, whose responses are streamed.',
      {
        registers,
        labelNames: ['route'],
        buckets: [0.001, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10],
      },
    ),
    watchers: createGauge('watchers', 'Open watches on the façade.', {
      registers,
      collect() {
        this.set(watches());
      },
    }),
  };
}

const PREFIX = 'purser_';

function createCounter<L extends string>(
  name: string,
  help: string,
  options: Omit<ConstructorParameters<typeof Counter<L>>[0], 'name' | 'help'>,
) {
  return new Counter<L>({ name: `${PREFIX}${name}`, help, ...options });
}

function createGauge<L extends string>(
  name: string,
  help: string,
  options: Omit<ConstructorParameters<typeof Gauge<L>>[0], 'name' | 'help'>,
) {
  return new Gauge<L>({ name: `${PREFIX}${name}`, help, ...options });
}

function createHistogram<L extends string>(
  name: string,
  help: string,
  options: Omit<ConstructorParameters<typeof Histogram<L>>[0], 'name' | 'help'>,
) {
  return new Histogram<L>({ name: `${PREFIX}${name}`, help, ...options });
}
