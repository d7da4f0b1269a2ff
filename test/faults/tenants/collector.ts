// Collects every token that hostile tenants can get at, and presents each to all clusters with a TokenReview.

import { setTimeout as delay } from 'node:timers/promises';
import { type KubeObject, paths } from '../api.ts';
import type { Bench } from '../bench.ts';
import type { Acceptance } from '../history.ts';
import type { Place } from '../place.ts';
import { digestOf } from '../prober.ts';
import type { HostileServer } from './hostile-server.ts';
import { HOSTILE_NAMESPACES } from './names.ts';
import { decodeClaims, tokensIn } from './token-text.ts';

const EVERY_MS = 1_000;
/** Tokens of users of the bench that are no JWTs. */
const MAX_KNOWN = 100_000;

/** Token texts stay in memory; the history has digests. */
export class Collector {
  readonly #bench: Bench;
  readonly #hostile: HostileServer;
  readonly #known = new Set<string>();
  readonly #own: ReadonlySet<string>;
  #receivedSoFar = 0;

  /** `own` are the tenants' own tokens, which they may hold. */
  constructor(bench: Bench, hostile: HostileServer, own: readonly string[]) {
    this.#bench = bench;
    this.#hostile = hostile;
    this.#own = new Set(own);
  }

  /** Collects until the signal, and once more. */
  async run(signal: AbortSignal): Promise<void> {
    while (!signal.aborted) {
      await this.#collect();
      await delay(EVERY_MS);
    }
    await this.#collect();
  }

  /** Records a token that a tenant got from the façade. */
  async hold(token: string, requested?: readonly string[]): Promise<void> {
    await this.#record('caller', 'facade', token, requested);
  }

  async #collect(): Promise<void> {
    for (const namespace of HOSTILE_NAMESPACES) {
      const secrets = await this.#bench.hub.api.list(paths.secrets(namespace)).catch(() => []);
      for (const token of secrets.flatMap(tokensOf)) await this.#record('writer', 'secret', token);
    }
    await this.#collectReceived();
  }

  async #collectReceived(): Promise<void> {
    const fresh = this.#hostile.received.slice(this.#receivedSoFar);
    this.#receivedSoFar += fresh.length;
    for (const { path, tokens } of fresh) {
      for (const token of tokens) {
        const isIssued = this.#bench.prober.seen.has(token) || this.#known.has(`writer ${token}`) || this.#known.has(`caller ${token}`);
        const acceptedBy = await this.#acceptedBy(token);
        this.#bench.history.add({ type: 'received', path, digest: digestOf(token), acceptedBy, isIssued });
      }
    }
  }

  async #record(holder: string, source: 'facade' | 'secret', token: string, requested?: readonly string[]): Promise<void> {
    const key = `${holder} ${token}`;
    if (this.#known.has(key) || this.#own.has(token) || this.#known.size > MAX_KNOWN) return;
    this.#known.add(key);
    // The search for leaks looks for all of them.
    this.#bench.prober.seen.add(token);
    const { aud = [], iat = 0 } = decodeClaims(token);
    const acceptedBy = await this.#acceptedBy(token);
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
    });
  }

  async #acceptedBy(token: string): Promise<readonly Acceptance[]> {
    const found = await Promise.all(this.#bench.places.map((place) => acceptance(place, token)));
    return found.flat();
  }
}

/** Returns whom a cluster takes a token for, at any of the token's audiences. */
async function acceptance({ name, api }: Place, token: string): Promise<readonly Acceptance[]> {
  const { aud = [] } = decodeClaims(token);
  const review = await api.create(paths.reviews, { spec: { token, ...(aud.length > 0 && { audiences: aud }) } }).catch(() => undefined);
  return review?.status?.authenticated === true ? [{ place: name, username: review.status.user?.username ?? '' }] : [];
}

function tokensOf({ data = {}, metadata }: KubeObject): readonly string[] {
  const texts = Object.values(data).map((value) => Buffer.from(value, 'base64').toString());
  return tokensIn([...texts, JSON.stringify(metadata)].join('\n'));
}
