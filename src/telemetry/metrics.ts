// What is counted, and how it is told. The metrics of the process are in declared.ts, those of objects in object-gauges.ts.

import { collectDefaultMetrics, Registry } from 'prom-client';
import type { Cluster } from '../api/cluster.gen.ts';
import type { ManagedToken } from '../api/managed-token.gen.ts';
import type { Reason } from '../api/reasons.ts';
import type { StatusReason } from '../kubernetes/status.ts';
import { ClusterCounter, UNREGISTERED } from './cluster-counter.ts';
import { declareMetrics } from './declared.ts';
import { exposition, type Family } from './exposition.ts';
import { budgetGauge, type Excess } from './namespace-budgets.ts';
import { clusterGauges, type Objects, tokenGauges } from './object-gauges.ts';

export interface MetricsOptions {
  /** What the process was built from. */
  readonly build: { readonly version: string; readonly node: string };
  readonly tokens: Objects<ManagedToken>;
  readonly clusters: Objects<Cluster> & { has(name: string): boolean };
}

/** One attempt to issue a token. */
export interface Issuance {
  readonly cluster: string;
  readonly result: 'success' | 'failure';
  /** Why a token was wanted, or why it could not be had; `Requested` where somebody asked the façade. */
  readonly reason: Reason | StatusReason | 'Requested';
  /** Where it was measured. */
  readonly durationMs?: number;
  /** How long after its time a token was renewed, where it was one. */
  readonly latenessMs?: number | undefined;
}

/** One run of a reconcile; the texts are from closed sets. */
export interface Run {
  readonly controller: string;
  readonly outcome: string;
  readonly latenessMs: number;
}

/** One answer of the façade; `route` is a pattern, never a path that a caller wrote. */
export interface Answer {
  readonly route: string;
  readonly code: number;
  /** How long the answer took; undefined for a watch. */
  readonly durationMs: number | undefined;
}

/** An anchor that was left behind on a cluster. */
export interface Orphan {
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
  #overBudget: () => Iterable<Excess> = () => [];
  /** Whether this process leads. Set by who knows. */
  leads: () => boolean = () => false;
  /** How many watches are open at the façade. Set by who knows. */
  watching: () => number = () => 0;

  constructor({ build, tokens, clusters }: MetricsOptions) {
    this.#isRegistered = (cluster) => clusters.has(cluster);
    this.#declared = declareMetrics(this.#registry, {
      depths: this.#depths,
      leads: () => this.leads(),
      watching: () => this.watching(),
    });
    this.#declared.build.set(build, 1);
    this.#issuances = new ClusterCounter({
      name: 'purser_token_issuances_total',
      help: 'Attempts to issue a token, by cluster, result and reason.',
      isRegistered: this.#isRegistered,
    });
    const budgets = budgetGauge(() => this.#overBudget());
    this.#families = [...tokenGauges(tokens, this.#isRegistered), ...clusterGauges(clusters), this.#issuances, budgets];
    collectDefaultMetrics({ register: this.#registry });
  }

  /** Counts a run of a controller. */
  ran({ controller, outcome, latenessMs }: Run): void {
    this.#declared.runs.inc({ controller, outcome });
    this.#declared.lateness.observe({ controller }, latenessMs / 1_000);
  }

  /** Reads the namespaces over a budget from `over` at each scrape. */
  budgets(over: () => Iterable<Excess>): void {
    this.#overBudget = over;
  }

  /** From now on `depth` says how many keys of the controller are due and wait. */
  queue(controller: string, depth: () => number): void {
    this.#depths.set(controller, depth);
  }

  /** Counts an attempt to issue a token. */
  issued({ cluster, result, reason, durationMs, latenessMs }: Issuance): void {
    this.#issuances.add(cluster, { result, reason });
    if (result === 'success' && durationMs !== undefined) this.#declared.issueDuration.observe(durationMs / 1_000);
    if (result === 'success' && latenessMs !== undefined) this.#declared.renewalLateness.observe(latenessMs / 1_000);
  }

  /** Counts a look at a cluster. */
  probed(durationMs: number): void {
    this.#declared.probeDuration.observe(durationMs / 1_000);
  }

  /** Counts an anchor that was left behind. The first hundred are named, further ones only by their cluster. */
  orphaned({ cluster, namespace, name }: Orphan): void {
    const known = this.#isRegistered(cluster) ? cluster : UNREGISTERED;
    const key = `${known}/${namespace}/${name}`;
    const isNamed = this.#orphans.size < MAX_ORPHANS || this.#orphans.has(key);
    if (isNamed) this.#orphans.add(key);
    this.#declared.orphans.inc(isNamed ? { cluster: known, namespace, name } : { cluster: known, namespace: 'other', name: 'other' });
  }

  /** Counts a removal of a Secret that a removal limit delayed or paused. */
  removalHeld(limit: 'namespace' | 'global'): void {
    this.#declared.heldRemovals.inc({ limit });
  }

  /** Sets whether the global removal limit pauses the removal of Secrets. */
  removalPaused(isPaused: boolean): void {
    this.#declared.removalPaused.set(isPaused ? 1 : 0);
  }

  /** Counts an answer of the façade. */
  answered({ route, code, durationMs }: Answer): void {
    this.#declared.answers.inc({ route, code: String(code) });
    if (durationMs !== undefined) this.#declared.answerDuration.observe({ route }, durationMs / 1_000);
  }

  /** Everything in the text format of Prometheus, in pieces between which others may work. */
  async *text(): AsyncGenerator<string> {
    yield await this.#registry.metrics();
    yield* exposition(this.#families);
  }
}

const MAX_ORPHANS = 100;
