// The Prometheus text format, built in pieces so that the samples of a large fleet do not block the process.

import { setImmediate } from 'node:timers/promises';

/** All samples of one metric. */
export interface Family {
  readonly name: string;
  readonly help: string;
  readonly type: 'counter' | 'gauge';
  /** Yields the samples as whole lines. */
  samples(): Iterable<string>;
}

export type Labels = Readonly<Record<string, string>>;

/** Returns one sample as a line. */
export function formatSample(name: string, labels: Labels, value: number): string {
  return `${name}{${encodeLabels(labels)}} ${value}\n`;
}

/** Encodes labels without braces. */
function encodeLabels(labels: Labels): string {
  let text = '';
  // A scrape of a large fleet encodes hundreds of thousands of labels; `Object.entries` and `join` would take twice as long.
  for (const name in labels) text += `${text === '' ? '' : ','}${name}="${escapeValue(labels[name]!)}"`;
  return text;
}

/** Yields the text of the families in pieces; other work can run after each piece of at least `PIECE_LENGTH`. */
export async function* encodeFamilies(families: readonly Family[]): AsyncGenerator<string> {
  for (const family of families) {
    const { name, help, type } = family;
    let piece = `# HELP ${name} ${help}\n# TYPE ${name} ${type}\n`;
    for (const text of family.samples()) {
      piece += text;
      if (piece.length < PIECE_LENGTH) continue;
      yield piece;
      piece = '';
      await setImmediate();
    }
    yield piece;
  }
}

/** Length at which a piece is complete, in characters. A piece takes one or two milliseconds to build. */
const PIECE_LENGTH = 65_536;

function escapeValue(value: string): string {
  return /["\\\n]/.test(value) ? value.replaceAll('\\', '\\\\').replaceAll('"', '\\"').replaceAll('\n', '\\n') : value;
}

/** Value of the label `target_cluster` for names without a Cluster object: tenants can invent any number of names. */
export const UNREGISTERED_CLUSTER = 'unregistered';

export interface ClusterCounterOptions {
  readonly name: string;
  readonly help: string;
  readonly isRegistered: (cluster: string) => boolean;
}

/** A counter with the label `target_cluster` and labels with closed sets of values. Drops the counts of deleted Clusters. */
export class ClusterCounter implements Family {
  readonly type = 'counter';
  readonly name: string;
  readonly help: string;
  readonly #isRegistered: (cluster: string) => boolean;
  readonly #counts = new Map<string, Map<string, number>>();

  constructor({ name, help, isRegistered }: ClusterCounterOptions) {
    this.name = name;
    this.help = help;
    this.#isRegistered = isRegistered;
  }

  add(cluster: string, labels: Readonly<Record<string, string>>): void {
    const known = this.#isRegistered(cluster) ? cluster : UNREGISTERED_CLUSTER;
    const counts = this.#counts.get(known) ?? new Map<string, number>();
    const text = encodeLabels({ target_cluster: known, ...labels });
    this.#counts.set(known, counts.set(text, (counts.get(text) ?? 0) + 1));
  }

  *samples(): Generator<string> {
    for (const [cluster, counts] of this.#counts) {
      if (cluster !== UNREGISTERED_CLUSTER && !this.#isRegistered(cluster)) this.#counts.delete(cluster);
      else for (const [labels, count] of counts) yield `${this.name}{${labels}} ${count}\n`;
    }
  }
}

/** Times of Purser's credential for a cluster, in milliseconds since the epoch. */
export interface CredentialTimes {
  readonly cluster: string;
  /** Time of issuance; undefined if it is unknown. */
  readonly issuedAt: number | undefined;
  readonly expiresAt: number;
  /** Time of the next renewal; undefined if Purser does not renew the credential automatically. */
  readonly renewAt: number | undefined;
}

/** Returns gauges for the times that `times` yields at each scrape. */
export function createCredentialGauges(times: () => Iterable<CredentialTimes>): readonly Family[] {
  return CREDENTIAL_GAUGES.map(({ name, help, valueOf }) => ({
    name,
    help,
    type: 'gauge',
    *samples() {
      for (const each of times()) {
        const value = valueOf(each);
        if (value !== undefined) yield formatSample(name, { target_cluster: each.cluster }, value / 1_000);
      }
    },
  }));
}

interface CredentialGauge {
  readonly name: string;
  readonly help: string;
  /** Returns the value in milliseconds; undefined to export no sample. */
  readonly valueOf: (times: CredentialTimes) => number | undefined;
}

const CREDENTIAL_GAUGES: readonly CredentialGauge[] = [
  {
    name: 'purser_cluster_credential_expiration_timestamp_seconds',
    help: "Expiry of Purser's credential for a Cluster; absent if the expiry is unknown or the credential does not expire.",
    valueOf: ({ expiresAt }) => expiresAt,
  },
  {
    name: 'purser_cluster_credential_renewal_timestamp_seconds',
    help: "Time of the next renewal of Purser's credential for a Cluster; absent if Purser does not renew it or its expiry is unknown.",
    valueOf: ({ renewAt }) => renewAt,
  },
  {
    name: 'purser_cluster_credential_lifetime_seconds',
    help: "Lifetime of Purser's credential for a Cluster from issuance to expiry; absent if issuance or expiry is unknown.",
    valueOf: ({ issuedAt, expiresAt }) => (issuedAt === undefined ? undefined : Math.max(expiresAt - issuedAt, 0)),
  },
];

/** Resource with a share for each namespace. */
export type Budget = 'reviews' | 'dials' | 'runs' | 'slots' | 'bytes';

/** A namespace and the budget that it exceeds. */
export type ExceededBudget = readonly [namespace: string, budget: Budget];

/** Returns a gauge for the namespaces that `over` yields at each scrape. */
export function createBudgetGauge(over: () => Iterable<ExceededBudget>): Family {
  return {
    name: BUDGET_GAUGE,
    help: '1 for each namespace that exceeds a budget; for each budget, namespaces after the first 20 share the namespace label "other".',
    type: 'gauge',
    *samples() {
      const namespaces = new Map<Budget, Set<string>>();
      for (const [namespace, budget] of over()) namespaces.set(budget, (namespaces.get(budget) ?? new Set()).add(namespace));
      for (const [budget, names] of namespaces) {
        for (const namespace of names.values().take(MAX_NAMED_NAMESPACES)) yield formatSample(BUDGET_GAUGE, { namespace, budget }, 1);
        if (names.size > MAX_NAMED_NAMESPACES) yield formatSample(BUDGET_GAUGE, { namespace: 'other', budget }, 1);
      }
    },
  };
}

const BUDGET_GAUGE = 'purser_namespace_over_budget';
/** Maximum number of namespaces that the gauge names for each budget. */
const MAX_NAMED_NAMESPACES = 20;

/** Numbers of ClusterProfiles of one ManagedTokenSet, by state. */
export interface ProfileCounts {
  readonly namespace: string;
  readonly name: string;
  readonly published: number;
  /** Number of ClusterProfiles whose last write the hub rejected. */
  readonly rejected: number;
  /** Number of ClusterProfiles that have a name the set needs, but that the set does not control. */
  readonly conflicting: number;
}

/** Returns a gauge for the numbers of ClusterProfiles that `counts` yields at each scrape. */
export function createProfileGauge(counts: () => Iterable<ProfileCounts>): Family {
  const name = 'purser_clusterprofiles';
  return {
    name,
    help: 'Number of ClusterProfiles of a ManagedTokenSet by state: published, rejected or conflicting.',
    type: 'gauge',
    *samples() {
      for (const { namespace, name: set, ...states } of counts()) {
        for (const [state, count] of Object.entries(states)) yield formatSample(name, { namespace, name: set, state }, count);
      }
    },
  };
}
