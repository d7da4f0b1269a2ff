// The metrics of the process, with their labels and buckets. No histogram is told apart by cluster or by token.

import { Counter, Gauge, Histogram, type Registry } from 'prom-client';

/** What gauges ask for when they are read. */
export interface Sources {
  /** How many keys of each controller are due and wait. */
  readonly depths: ReadonlyMap<string, () => number>;
  readonly leads: () => boolean;
  /** How many watches are open at the façade. */
  readonly watching: () => number;
}

/** Declares everything that is counted and measured by the process itself. */
export function declareMetrics(registry: Registry, sources: Sources) {
  return { ...declareWork(registry, sources), ...declareFacade(registry, sources) };
}

function declareWork(registry: Registry, { depths, leads }: Sources) {
  const registers = [registry];
  return {
    build: gauge('build_info', 'What this process was built from.', { registers, labelNames: ['version', 'node'] }),
    leader: gauge('leader', 'Whether this process leads: 1 or 0.', {
      registers,
      collect() {
        this.set(leads() ? 1 : 0);
      },
    }),
    runs: counter('reconcile_total', 'Runs of controllers by how they ended.', { registers, labelNames: ['controller', 'outcome'] }),
    depth: gauge('workqueue_depth', 'Keys that are due and wait for their turn.', {
      registers,
      labelNames: ['controller'],
      collect() {
        for (const [controller, depth] of depths) this.set({ controller }, depth());
      },
    }),
    lateness: histogram('workqueue_lateness_seconds', 'How long after a key was due its run began.', {
      registers,
      labelNames: ['controller'],
      buckets: [0.01, 0.1, 0.5, 1, 5, 10, 30, 60, 300],
    }),
    issueDuration: histogram('token_issue_duration_seconds', 'From the decision to issue a token until it is handed over.', {
      registers,
      buckets: [0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30],
    }),
    renewalLateness: histogram('token_renewal_lateness_seconds', 'How long after its time a token was renewed.', {
      registers,
      buckets: [1, 5, 10, 30, 60, 300, 1_800, 7_200],
    }),
    probeDuration: histogram('cluster_probe_duration_seconds', 'How long it took to look at a cluster.', {
      registers,
      buckets: [0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10],
    }),
    orphans: counter('orphaned_anchors_total', 'Secrets left behind on clusters: tokens bound to them live to their expiry.', {
      registers,
      labelNames: ['cluster', 'namespace', 'name'],
    }),
    heldRemovals: counter('held_removals_total', 'Removals of Secrets that a removal limit delayed or paused.', {
      registers,
      labelNames: ['limit'],
    }),
    removalPaused: gauge('removal_paused', 'Whether the global removal limit pauses the removal of Secrets: 1 or 0.', { registers }),
  };
}

function declareFacade(registry: Registry, { watching }: Sources) {
  const registers = [registry];
  return {
    answers: counter('http_requests_total', 'Requests to the façade by route and status code.', {
      registers,
      labelNames: ['route', 'code'],
    }),
    answerDuration: histogram('http_request_duration_seconds', 'How long the façade took to answer; not how long a watch lasted.', {
      registers,
      labelNames: ['route'],
      buckets: [0.001, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10],
    }),
    watchers: gauge('watchers', 'Watches of clusters that are open at the façade.', {
      registers,
      collect() {
        this.set(watching());
      },
    }),
  };
}

const PREFIX = 'purser_';

function counter<L extends string>(
  name: string,
  help: string,
  options: Omit<ConstructorParameters<typeof Counter<L>>[0], 'name' | 'help'>,
) {
  return new Counter<L>({ name: `${PREFIX}${name}`, help, ...options });
}

function gauge<L extends string>(name: string, help: string, options: Omit<ConstructorParameters<typeof Gauge<L>>[0], 'name' | 'help'>) {
  return new Gauge<L>({ name: `${PREFIX}${name}`, help, ...options });
}

function histogram<L extends string>(
  name: string,
  help: string,
  options: Omit<ConstructorParameters<typeof Histogram<L>>[0], 'name' | 'help'>,
) {
  return new Histogram<L>({ name: `${PREFIX}${name}`, help, ...options });
}
