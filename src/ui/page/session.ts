// The live data of the page: the lists of clusters and tokens, and the clock of the server. Draws changes at most ten times a second.

import { Collection, type CollectionOptions } from '../model/collection.ts';
import { type Cluster, type Token, toCluster, toToken, withHubFields } from '../model/objects.ts';
import type { Problem, Server } from '../model/problems.ts';

/** Bearer token that the user entered; undefined if the server adds the credential. The page never stores the token. */
export type Credential = string | undefined;

/** Interval at which the page is drawn without changes, in milliseconds. */
const TICK_MS = 1_000;
/** Minimum interval between redraws after changes, in milliseconds. */
const MIN_DRAW_MS = 100;
/** Maximum difference between the clocks of browser and server that is ignored, in milliseconds. The Date header has whole seconds. */
const MAX_SKEW_MS = 2_000;

export class Session {
  readonly tokens: Collection<Token>;
  readonly #clusters: Collection<Cluster>;
  /** Clusters read from the hub, which returns additional fields; undefined if the façade serves the page. */
  readonly #hub: Collection<Cluster> | undefined;
  readonly #credential: Credential;
  readonly #ending = new AbortController();
  readonly #draw: () => void;
  #running: AbortController | undefined;
  #isDue = false;
  /** Time of the last redraw, on the page's monotonic clock. */
  #drawnAt = -Infinity;
  #skewMs = 0;
  #merged: { readonly revision: string; readonly clusters: ReadonlyMap<string, Cluster> } | undefined;

  /** `draw` is called after changes, but at most ten times a second, and at least once a second while the page is visible. */
  constructor(credential: Credential, draw: () => void) {
    this.#credential = credential;
    this.#draw = draw;
    this.tokens = new Collection(this.#options('../auth/v1/managedtokens', toToken));
    this.#clusters = new Collection(this.#options('../auth/v1/clusters', toCluster));
    this.#hub = credential === undefined ? new Collection(this.#options('../hub/clusters', toCluster, 'hub')) : undefined;
  }

  /** Time of the server, in milliseconds since the epoch. */
  get now(): number {
    return Date.now() + this.#skewMs;
  }

  /** True if the Clusters have fields that only the hub returns. */
  get hasHubFields(): boolean {
    return (this.#hub?.items.size ?? 0) > 0;
  }

  /** Clusters that the caller sees, by name. */
  get clusters(): ReadonlyMap<string, Cluster> {
    const hub = this.#hub;
    if (hub === undefined || hub.items.size === 0) return this.#clusters.items;
    const revision = this.clusterRevision;
    if (this.#merged?.revision !== revision)
      this.#merged = {
        revision,
        clusters: new Map([...this.#clusters.items].map(([key, each]) => [key, withHubFields(each, hub.items.get(key))])),
      };
    return this.#merged.clusters;
  }

  /** Text that differs after each change to a cluster. */
  get clusterRevision(): string {
    return `${this.#clusters.revision} ${this.#hub?.revision ?? 0}`;
  }

  /** Problem of the first of the façade's two lists for which the credential was rejected; undefined if there is none. */
  get rejection(): Problem | undefined {
    for (const { phase } of [this.tokens, this.#clusters]) if (phase.type === 'rejected') return phase.problem;
    return undefined;
  }

  /**
   * Problem of the list from the hub, whose fields are then outdated; undefined if there is none, or if the user is not authorized to list
   * Clusters on the hub.
   */
  get hubProblem(): Problem | undefined {
    const phase = this.#hub?.phase;
    return phase !== undefined && 'problem' in phase && phase.problem.status !== 403 ? phase.problem : undefined;
  }

  /** Phase of the façade's two lists together: retrying if either retries, otherwise loading if either loads, otherwise live. */
  get phase(): Collection<Token>['phase'] {
    const phases = [this.tokens.phase, this.#clusters.phase];
    return phases.find(({ type }) => type === 'retrying') ?? phases.find(({ type }) => type === 'loading') ?? { type: 'live' };
  }

  /** True while one of the façade's two lists is being read for the first time. */
  get isLoading(): boolean {
    return this.tokens.phase.type === 'loading' || this.#clusters.phase.type === 'loading';
  }

  start(): void {
    const { signal } = this.#ending;
    this.#resume();
    const ticking = setInterval(() => this.#schedule(), TICK_MS);
    const onVisibility = () => (document.hidden ? this.#pause() : this.#resume());
    document.addEventListener('visibilitychange', onVisibility);
    signal.addEventListener('abort', () => {
      clearInterval(ticking);
      document.removeEventListener('visibilitychange', onVisibility);
      this.#pause();
    });
  }

  stop(): void {
    this.#ending.abort();
  }

  /** Starts all lists, or resumes them from the versions at which they were paused. */
  #resume(): void {
    if (this.#running !== undefined) return;
    this.#running = new AbortController();
    for (const collection of [this.#clusters, this.tokens, this.#hub]) void collection?.run(this.#running.signal);
  }

  /** Ends the watches of a hidden page: without HTTP/2, all tabs of a browser share six connections to a server. */
  #pause(): void {
    this.#running?.abort();
    this.#running = undefined;
  }

  #options<T extends { readonly key: string }>(
    path: string,
    parse: (object: unknown) => T | undefined,
    server: Server = 'façade',
  ): CollectionOptions<T> {
    return {
      server,
      request: (query, signal) => this.#request(`${path}?${query}`, signal),
      parse,
      onChange: () => this.#schedule(),
      now: () => this.now,
      random: Math.random,
      sleep,
    };
  }

  async #request(url: string, signal: AbortSignal): Promise<Response> {
    const headers: Record<string, string> = { accept: 'application/json' };
    if (this.#credential !== undefined) headers['authorization'] = `Bearer ${this.#credential}`;
    const response = await fetch(url, {
      headers,
      signal,
      cache: 'no-store',
      credentials: 'omit',
      redirect: 'error',
      referrerPolicy: 'no-referrer',
    });
    const skew = Date.parse(response.headers.get('date') ?? '') - Date.now();
    this.#skewMs = Math.abs(skew) > MAX_SKEW_MS ? skew : 0;
    return response;
  }

  /** Draws in the next frame, at most ten times a second. Browsers run no animation frames for a hidden page. */
  #schedule(): void {
    if (this.#isDue || this.#ending.signal.aborted) return;
    this.#isDue = true;
    const wait = this.#drawnAt + MIN_DRAW_MS - performance.now();
    if (wait > 0) setTimeout(() => this.#drawNext(), wait);
    else this.#drawNext();
  }

  #drawNext(): void {
    requestAnimationFrame(() => {
      this.#isDue = false;
      this.#drawnAt = performance.now();
      if (!this.#ending.signal.aborted) this.#draw();
    });
  }
}

function sleep(ms: number, signal: AbortSignal): Promise<void> {
  return new Promise((resolve) => {
    const timer = setTimeout(resolve, ms);
    signal.addEventListener(
      'abort',
      () => {
        clearTimeout(timer);
        resolve();
      },
      { once: true },
    );
  });
}
