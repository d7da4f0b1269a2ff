// All metrics of the process. process-metrics.ts declares the metrics that prom-client stores; object-gauges.ts creates the gauges of
// Kubernetes objects.

import { collectDefaultMetrics, Registry } from 'prom-client';
import type { Cluster } from '../api/cluster.gen.ts';
import type { ManagedToken } from '../api/managed-token.gen.ts';
import type { ManagedTokenSet } from '../api/managed-token-set.gen.ts';
import type { Reason } from '../api/reasons.ts';
import type { StatusReason } from '../kubernetes/status.ts';
import {
  ClusterCounter,
  type CredentialTimes,
  createBudgetGauge,
  createCredentialGauges,
  createProfileGauge,
  type ExceededBudget,
  encodeFamilies,
  type Family,
  type ProfileCounts,
  UNREGISTERED_CLUSTER,
} from './exposition.ts';
import { createClusterGauges, createSetGauges, createTokenGauges, type ObjectLister } from './object-gauges.ts';
import { declareMetrics } from './process-metrics.ts';

export interface MetricsOptions {
  /** Versions of Purser and Node. */
  readonly build: { readonly version: string; readonly node: string };
  readonly tokens: ObjectLister<ManagedToken>;
  readonly sets: ObjectLister<ManagedTokenSet>;
  readonly clusters: ObjectLister<Cluster> & { has(name: string): boolean };
}

/** One attempt to issue a token. */
export interface IssuanceAttempt {
  readonly cluster: string;
  readonly result: 'success' | 'failure';
  /** Reason to issue the token (`Requested` for a request to the façade), or reason of the failure. */
  readonly reason: Reason | StatusReason | 'Requested';
  /** Duration of the issuance; undefined if it was not measured. */
  readonly durationMs?: number;
  /** Delay of a renewal after its due time; undefined for other issuances. */
  readonly latenessMs?: number | undefined;
}

/** One reconcile; controller and outcome come from closed sets. */
export interface Run {
  readonly controller: string;
  readonly outcome: string;
  readonly latenessMs: number;
}

/** One request to the façade; `route` is a pattern, never a caller's path. */
export interface ServedRequest {
  readonly route: string;
  readonly code: number;
  /** Duration of the request; undefined for a watch or a large list, whose response is streamed. */
  readonly durationMs: number | undefined;
}

/** An anchor Secret that Purser could not delete and that may remain on a cluster. */
export interface OrphanedAnchor {
  readonly cluster: string;
  readonly namespace: string;
  readonly name: string;
}

/** All metrics of one process. */
export class Metrics {
  readonly #registry = new Registry();
  readonly #depths = new Map<string, () => number>();
  readonly #declared: ReturnType<typeof declareMetrics>;
  readonly #issuances: ClusterCounter;
  readonly #families: readonly Family[];
  readonly #orphans = new Set<string>();
  readonly #isRegistered: (cluster: string) => boolean;
  #leads: () => boolean = () => false;
  #credentialTimes: () => Iterable<CredentialTimes> = () => [];
  readonly #overBudget = new Map<string, () => Iterable<ExceededBudget>>();
  #profileCounts: () => Iterable<ProfileCounts> = () => [];
  #watches: () => number = () => 0;
  #verificationMs: () => number = () => 0;

  constructor({ build, tokens, sets, clusters }: MetricsOptions) {
    this.#isRegistered = (cluster) => clusters.has(cluster);
    this.#declared = declareMetrics(this.#registry, {
      depths: this.#depths,
      leads: () => this.#leads(),
      watches: () => this.#watches(),
      verificationMs: () => this.#verificationMs(),
    });
    this.#declared.build.set(build, 1);
    this.#issuances = new ClusterCounter({
      name: 'purser_token_issuances_total',
      help: 'Attempts to issue a token, by cluster, result and reason.',
      isRegistered: this.#isRegistered,
    });
    const credentials = createCredentialGauges(() => this.#credentialTimes());
    const budgets = createBudgetGauge(() => this.#overBudget.values().flatMap((over) => over()));
    const profiles = createProfileGauge(() => this.#profileCounts());
    const objects = [...createTokenGauges(tokens, this.#isRegistered), ...createSetGauges(sets), ...createClusterGauges(clusters)];
    this.#families = [...objects, ...credentials, this.#issuances, budgets, profiles];
    collectDefaultMetrics({ register: this.#registry });
  }

  /** Counts a reconcile and records its lateness. */
  recordRun({ controller, outcome, latenessMs }: Run): void {
    this.#declared.runs.inc({ controller, outcome });
    this.#declared.lateness.observe({ controller }, latenessMs / 1_000);
  }

  /** Exports the result of `depth`: the number of due keys of a controller. */
  observeQueue(controller: string, depth: () => number): void {
    this.#depths.set(controller, depth);
  }

  /** Exports the result of `leads`: true while this process is the leader. */
  observeLeadership(leads: () => boolean): void {
    this.#leads = leads;
  }

  /** Exports the result of `times`: the times of issuance, renewal and expiry of Purser's credentials. */
  observeCredentials(times: () => Iterable<CredentialTimes>): void {
    this.#credentialTimes = times;
  }

  /** Exports the result of `overBudget`: the namespaces that exceed a budget of a controller. */
  observeBudgets(controller: string, overBudget: () => Iterable<ExceededBudget>): void {
    this.#overBudget.set(controller, overBudget);
  }

  /** Exports the result of `intervalMs`: the interval between two verifications of a token. */
  observeVerification(intervalMs: () => number): void {
    this.#verificationMs = intervalMs;
  }

  /** Exports the result of `counts`: the numbers of ClusterProfiles. */
  observeProfiles(counts: () => Iterable<ProfileCounts>): void {
    this.#profileCounts = counts;
  }

  /** Exports the result of `watches`: the number of open watches. */
  observeWatches(watches: () => number): void {
    this.#watches = watches;
  }

  /** Counts an attempt to issue a token, and records the duration and lateness of a successful one. */
  recordIssuance({ cluster, result, reason, durationMs, latenessMs }: IssuanceAttempt): void {
    this.#issuances.add(cluster, { result, reason });
    if (result === 'success' && durationMs !== undefined) this.#declared.issueDuration.observe(durationMs / 1_000);
    if (result === 'success' && latenessMs !== undefined) this.#declared.renewalLateness.observe(latenessMs / 1_000);
  }

  /** Records the duration of a probe of a cluster. */
  recordProbe(durationMs: number): void {
    this.#declared.probeDuration.observe(durationMs / 1_000);
  }

  /** Counts an anchor that may remain on a cluster. From the 101st anchor, the labels `namespace` and `name` are `other`. */
  recordOrphan({ cluster, namespace, name }: OrphanedAnchor): void {
    const known = this.#isRegistered(cluster) ? cluster : UNREGISTERED_CLUSTER;
    const key = `${known}/${namespace}/${name}`;
    const isNamed = this.#orphans.size < MAX_ORPHANS || this.#orphans.has(key);
    if (isNamed) this.#orphans.add(key);
    this.#declared.orphans.inc({ target_cluster: known, ...(isNamed ? { namespace, name } : { namespace: 'other', name: 'other' }) });
  }

  /** Counts a check in which a removal limit delayed or paused the removal of a Secret. */
  recordHeldRemoval(limit: 'namespace' | 'global'): void {
    this.#declared.heldRemovals.inc({ limit });
  }

  /** Sets the gauge that is 1 while the global removal limit pauses the removal of Secrets. */
  setRemovalPaused(isPaused: boolean): void {
    this.#declared.removalPaused.set(isPaused ? 1 : 0);
  }

  /** Counts a request to the façade, and records its duration if defined. */
  recordRequest({ route, code, durationMs }: ServedRequest): void {
    this.#declared.requests.inc({ route, code: String(code) });
    if (durationMs !== undefined) this.#declared.requestDuration.observe({ route }, durationMs / 1_000);
  }

  /** Yields all metrics in the Prometheus text format; other work can run between large pieces. */
  async *text(): AsyncGenerator<string> {
    yield await this.#registry.metrics();
    yield* encodeFamilies(this.#families);
  }
}

const MAX_ORPHANS = 100;
