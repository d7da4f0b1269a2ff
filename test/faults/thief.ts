// Thief of Purser's own credentials: keeps every renewed token that a hub stores or that Purser sends, and presents each to its cluster,
// without the proxies.

import { setTimeout as delay } from 'node:timers/promises';
import { OwnAnchorPrefix, RenewedSuffix } from '../../src/api/names.ts';
import { paths } from './api.ts';
import type { Bench } from './bench.ts';
import type { BenchCluster } from './bench-cluster.ts';
import { digestOf } from './digest.ts';
import { textOf } from './prober.ts';
import { PURSER_NAMESPACE } from './seed.ts';
import { decodeClaims } from './tenants/token-text.ts';

/** Cluster registered on a hub, with a credential that Purser renews. */
export interface Holder {
  readonly hub: BenchCluster;
  /** Name of the Cluster. */
  readonly name: string;
  readonly target: BenchCluster;
}

interface Stolen {
  readonly token: string;
  readonly digest: string;
  readonly target: BenchCluster;
  /** UID of the anchor that the token is bound to. */
  readonly anchor: string;
  /** True if a Secret on a hub contained the token, false if the thief only saw it in a request. */
  isStored: boolean;
  /** Last time at which a token with the same anchor was in use; initially the time of the theft. */
  lastUsedAt: number;
  isInUse: boolean;
  nextAt: number;
}

const ROUND_MS = 1_000;
/** Interval for tokens whose verdict is not expected to change, in milliseconds. */
const IDLE_MS = 10_000;

/** Steals and presents tokens until its signal aborts. */
export class Thief {
  readonly #bench: Bench;
  readonly #holders: readonly Holder[];
  readonly #stolen = new Map<string, Stolen>();
  /** Tokens in use, by holder. */
  readonly #current = new Map<Holder, string>();
  /** Tokens that Purser sent before, for Clusters that may no longer exist. */
  readonly #ignored: ReadonlySet<string>;

  constructor(bench: Bench, holders: readonly Holder[]) {
    this.#bench = bench;
    this.#holders = holders;
    this.#ignored = new Set(bench.bearers.clusters.keys());
  }

  async run(signal: AbortSignal): Promise<void> {
    while (!signal.aborted) {
      const startedAt = performance.now();
      await Promise.all(this.#holders.map((holder) => this.#readSecret(holder)));
      this.#intercept();
      await this.#presentAll();
      await delay(Math.max(50, ROUND_MS - (performance.now() - startedAt)));
    }
  }

  /** Reads the renewed token of a Cluster; while its hub does not respond, the last one is still in use. */
  async #readSecret(holder: Holder): Promise<void> {
    const { hub, name, target } = holder;
    const path = paths.secrets(PURSER_NAMESPACE, `${name}-credential${RenewedSuffix}`);
    const token = textOf(await hub.api.find(path).catch(() => undefined));
    if (token === '' || token === this.#current.get(holder)) return;
    this.#current.set(holder, token);
    this.#bench.bearers.record(target.name, token);
    const { exp = 0 } = decodeClaims(token);
    this.#bench.history.add({ type: 'renewal', holder: `${hub.name}/${name}`, digest: digestOf(token), expiresAt: exp * 1_000 });
    this.#keep(token, target, true);
  }

  /** Keeps tokens that Purser has obtained and sent, but perhaps not stored. */
  #intercept(): void {
    for (const [token, cluster] of this.#bench.bearers.clusters) {
      const target = this.#bench.clusters.find(({ name }) => name === cluster);
      const isRenewed = decodeClaims(token)['kubernetes.io']?.secret?.name?.startsWith(OwnAnchorPrefix) === true;
      if (isRenewed && target !== undefined && !this.#ignored.has(token)) this.#keep(token, target, false);
    }
  }

  #keep(token: string, target: BenchCluster, isStored: boolean): void {
    const known = this.#stolen.get(token);
    if (known !== undefined) {
      known.isStored ||= isStored;
      return;
    }
    const anchor = decodeClaims(token)['kubernetes.io']?.secret?.uid;
    if (anchor === undefined) return this.#bench.recordViolation('I19', `a renewed credential of ${target.name} is not bound to an anchor`);
    const [digest, now] = [digestOf(token), Date.now()];
    this.#stolen.set(token, { token, digest, target, anchor, isStored, lastUsedAt: now, isInUse: false, nextAt: now });
  }

  async #presentAll(): Promise<void> {
    const anchors = new Set([...this.#current.values()].map((token) => this.#stolen.get(token)?.anchor));
    const now = Date.now();
    for (const stolen of this.#stolen.values()) {
      const isInUse = anchors.has(stolen.anchor);
      if (isInUse !== stolen.isInUse) stolen.nextAt = now;
      stolen.isInUse = isInUse;
      if (isInUse) stolen.lastUsedAt = now;
    }
    await Promise.all([...this.#stolen.values()].filter(({ nextAt }) => nextAt <= now).map((stolen) => this.#present(stolen)));
  }

  async #present(stolen: Stolen): Promise<void> {
    const { token, digest, target, isInUse, isStored, lastUsedAt } = stolen;
    const verdict = await present(target, token);
    stolen.nextAt = Date.now() + (isInUse || verdict === 'rejected' ? IDLE_MS : 0);
    // A token in use that was never stored proves nothing about Purser's credential.
    if (isInUse && !isStored) return;
    this.#bench.history.add({ type: 'theft', cluster: target.name, digest, verdict, ...(!isInUse && { replacedAt: lastUsedAt }) });
  }
}

/** Sends a request that each authenticated user may send, over a new connection. */
async function present({ api }: BenchCluster, token: string): Promise<'accepted' | 'rejected' | 'unreachable'> {
  const client = api.as(token);
  const body = { apiVersion: 'authentication.k8s.io/v1', kind: 'SelfSubjectReview' };
  const code = await client.status('POST', '/apis/authentication.k8s.io/v1/selfsubjectreviews', body);
  client.close();
  if (code === 401) return 'rejected';
  return code === 200 ? 'accepted' : 'unreachable';
}
