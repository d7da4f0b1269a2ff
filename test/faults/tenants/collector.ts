// Collects every token that hostile tenants obtain, and presents each to all clusters with a TokenReview.

import { setTimeout as delay } from 'node:timers/promises';
import { type KubeObject, paths } from '../api.ts';
import type { Bench } from '../bench.ts';
import type { BenchCluster } from '../bench-cluster.ts';
import { digestOf } from '../digest.ts';
import type { Acceptance } from '../history.ts';
import type { HostileServer } from './hostile-server.ts';
import { HOSTILE_NAMESPACES } from './names.ts';
import { decodeClaims, findTokens } from './token-text.ts';

const COLLECT_EVERY_MS = 1_000;
/** Maximum number of collected tokens. */
const MAX_KNOWN = 100_000;

/** Keeps tokens in memory; the history contains digests. */
export class Collector {
  readonly #bench: Bench;
  readonly #hostile: HostileServer;
  readonly #known = new Set<string>();
  readonly #own: ReadonlySet<string>;
  readonly #hidden: Hidden;
  readonly #disclosed = new Set<string>();
  #receivedCount = 0;

  /** `own` contains the tenants' own tokens, which they may hold. */
  constructor(bench: Bench, hostile: HostileServer, own: readonly string[]) {
    this.#bench = bench;
    this.#hostile = hostile;
    this.#own = new Set(own);
    this.#hidden = listHiddenTexts(bench);
  }

  /** Collects periodically until the signal aborts, and once more. */
  async run(signal: AbortSignal): Promise<void> {
    while (!signal.aborted) {
      await this.#collect();
      await delay(COLLECT_EVERY_MS);
    }
    await this.#collect();
  }

  /** Records a token that a tenant obtained from the façade. */
  async recordToken(token: string, requested?: readonly string[]): Promise<void> {
    await this.#record('caller', 'facade', token, requested);
  }

  /** Searches a string that a tenant read for hidden names; `known` is text that the tenant wrote. */
  searchText(holder: string, where: string, text: string, known: string): void {
    const named = findDisclosures(text, this.#hidden, known);
    const key = `${holder} ${where} ${named.join()}`;
    if (named.length === 0 || this.#disclosed.has(key)) return;
    this.#disclosed.add(key);
    this.#bench.history.add({ type: 'disclosure', holder, where, named });
  }

  async #readStatus(namespace: string): Promise<void> {
    const { api } = this.#bench.hub;
    for (const { spec, status } of await api.list(paths.tokens(namespace)).catch(() => [])) {
      for (const condition of status?.conditions ?? []) {
        this.searchText('writer', `a condition ${condition.reason ?? ''}`, JSON.stringify(condition), JSON.stringify(spec));
      }
    }
    for (const event of await api.list(`/api/v1/namespaces/${namespace}/events`).catch(() => [])) {
      this.searchText('writer', 'an event', JSON.stringify(event), KNOWN_TO_WRITERS);
    }
  }

  async #collect(): Promise<void> {
    for (const namespace of HOSTILE_NAMESPACES) {
      await this.#readStatus(namespace);
      const secrets = await this.#bench.hub.api.list(paths.secrets(namespace)).catch(() => []);
      for (const token of secrets.flatMap(findTokensInSecret)) await this.#record('writer', 'secret', token);
    }
    await this.#collectReceived();
  }

  async #collectReceived(): Promise<void> {
    const added = this.#hostile.received.slice(this.#receivedCount);
    this.#receivedCount += added.length;
    for (const { path, tokens } of added) {
      for (const token of tokens) {
        const { prober, bearers } = this.#bench;
        const isHeld = this.#known.has(`writer ${token}`) || this.#known.has(`caller ${token}`);
        const isIssued = isHeld || prober.seenTokens.has(token) || bearers.clusters.has(token);
        const acceptedBy = await this.#reviewEverywhere(token);
        this.#bench.history.add({ type: 'received', path, digest: digestOf(token), acceptedBy, isIssued });
      }
    }
  }

  async #record(holder: string, source: 'facade' | 'secret', token: string, requested?: readonly string[]): Promise<void> {
    const key = `${holder} ${token}`;
    if (this.#known.has(key) || this.#own.has(token) || this.#known.size > MAX_KNOWN) return;
    this.#known.add(key);
    // Includes the token in the search for leaks.
    this.#bench.prober.seenTokens.add(token);
    const { aud = [], iat = 0, exp = 0 } = decodeClaims(token);
    const acceptedBy = await this.#reviewEverywhere(token);
    const digest = digestOf(token);
    this.#bench.history.add({
      type: 'held',
      holder,
      source,
      digest,
      acceptedBy,
      audiences: aud,
      ...(requested && { requested }),
      issuedAt: iat * 1_000,
      expiresAt: exp * 1_000,
    });
  }

  async #reviewEverywhere(token: string): Promise<readonly Acceptance[]> {
    const found = await Promise.all(this.#bench.clusters.map((cluster) => reviewToken(cluster, token)));
    return found.flat();
  }
}

/** Names of Secrets that the grammar writes into ManagedTokens. */
export const KNOWN_TO_WRITERS = 'one-credential two-prod-credential';

/** Returns the strings that tenants must not see: cluster addresses, credential names, Purser's identity. */
function listHiddenTexts({ clusters }: Bench): Hidden {
  const addresses = clusters.map(({ name, proxy }) => [`the address of ${name}`, `127.0.0.1:${proxy.port}`] as const);
  const credentials = ['one', 'two', 'two-prod', 'two-dev'].map(
    (name) => [`the credential ${name}-credential`, `${name}-credential`] as const,
  );
  return new Map([...addresses, ...credentials, ["Purser's identity", 'User \\"system:serviceaccount:purser-system:purser']]);
}

/** Returns the user for which a cluster accepts a token, at any of the token's audiences. */
async function reviewToken({ name, api }: BenchCluster, token: string): Promise<readonly Acceptance[]> {
  const { aud = [] } = decodeClaims(token);
  const review = await api.create(paths.reviews, { spec: { token, ...(aud.length > 0 && { audiences: aud }) } }).catch(() => undefined);
  return review?.status?.authenticated === true ? [{ cluster: name, username: review.status.user?.username ?? '' }] : [];
}

function findTokensInSecret({ data = {}, metadata }: KubeObject): readonly string[] {
  const texts = Object.values(data).map((value) => Buffer.from(value, 'base64').toString());
  return findTokens([...texts, JSON.stringify(metadata)].join('\n'));
}

/** Strings that tenants must not see, by description. */
export type Hidden = ReadonlyMap<string, string>;

/** Returns the descriptions of hidden strings that a string contains and that the reader has not written in `known`. */
export function findDisclosures(text: string, hidden: Hidden, known = ''): readonly string[] {
  return [...hidden].filter(([, secret]) => text.includes(secret) && !known.includes(secret)).map(([description]) => description);
}
