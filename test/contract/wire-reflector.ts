// Client of the cluster list over HTTP: lists in pages, watches from the revision of the list, resumes a broken watch, and lists again
// after 410.

import type { IncomingMessage } from 'node:http';
import { request } from 'node:https';
import { createInterface } from 'node:readline';
import type { ClusterFacade } from './cluster-facade.ts';

const PATH = '/auth/v1/clusters';

interface ListedCluster {
  readonly metadata: { readonly name: string; readonly resourceVersion: string };
}

interface Page {
  readonly items: readonly ListedCluster[];
  readonly metadata: { readonly continue: string; readonly resourceVersion: string };
}

interface Event {
  readonly type: string;
  readonly object: ListedCluster & { readonly code?: number };
}

export class WireReflector {
  readonly #facade: ClusterFacade;
  readonly #token: string;
  readonly #query: string;
  #state = new Map<string, ListedCluster>();
  #version: string | undefined;
  #response: IncomingMessage | undefined;
  /** Number of 410 responses. */
  expired = 0;
  problem: Error | undefined;

  constructor(facade: ClusterFacade, token: string, query = '') {
    this.#facade = facade;
    this.#token = token;
    this.#query = query;
  }

  /** Known clusters as JSON, without their resourceVersions. */
  get contents(): readonly string[] {
    return toContents(this.#state.values());
  }

  /** Returns the clusters of a new list, in the form of `contents`. */
  async listContents(): Promise<readonly string[]> {
    return toContents((await this.#page('')).items);
  }

  /** Watches from the last known revision; without one, lists first, in pages of `limit`. */
  async connect(limit = 0): Promise<void> {
    if (this.#response !== undefined) return;
    if (this.#version === undefined) await this.#list(limit);
    if (this.#version !== undefined) await this.#watch();
  }

  /** Closes the watch; unread events are lost. */
  disconnect(): void {
    this.#response?.destroy();
    this.#response = undefined;
  }

  /** Stops reading events. */
  pause(): void {
    this.#response?.pause();
  }

  resume(): void {
    this.#response?.resume();
  }

  async #list(limit: number): Promise<void> {
    const items: ListedCluster[] = [];
    let next = '';
    do {
      const page = await this.#page(`${limit > 0 ? `&limit=${limit}` : ''}${next === '' ? '' : `&continue=${next}`}`).catch(
        () => undefined,
      );
      if (page === undefined) {
        this.expired += 1;
        return;
      }
      items.push(...page.items);
      next = page.metadata.continue;
      if (next === '') this.#version = page.metadata.resourceVersion;
    } while (next !== '');
    this.#state = new Map(items.map((item) => [item.metadata.name, item]));
  }

  async #page(parameters: string): Promise<Page> {
    const { status, body } = await this.#facade.request('GET', `${PATH}?${this.#query}${parameters}`, {
      headers: { authorization: `Bearer ${this.#token}` },
    });
    if (status !== 200) throw new Error(`the list returned ${status}: ${body}`);
    return JSON.parse(body) as Page;
  }

  async #watch(): Promise<void> {
    const { promise, resolve, reject } = Promise.withResolvers<IncomingMessage>();
    const url = `${this.#facade.url}${PATH}?watch=true&allowWatchBookmarks=true&${this.#query}&resourceVersion=${this.#version}`;
    const headers = { authorization: `Bearer ${this.#token}` };
    request(url, { ca: this.#facade.ca, agent: false, headers }, resolve).on('error', reject).end();
    const response = await promise;
    this.#response = response;
    response.on('error', () => {});
    const isCurrent = () => this.#response === response;
    createInterface({ input: response })
      .on('line', (line) => isCurrent() && this.#applyEvent(JSON.parse(line) as Event))
      .on('close', () => {
        if (isCurrent()) this.#response = undefined;
      });
  }

  #applyEvent({ type, object }: Event): void {
    if (type === 'ERROR') {
      this.expired += 1;
      this.#version = undefined;
      return;
    }
    const { name, resourceVersion } = object.metadata;
    this.#version = resourceVersion;
    if (type === 'BOOKMARK') return;
    if (this.#state.has(name) !== (type !== 'ADDED')) this.problem ??= new Error(`event ${type} ${name} contradicts the known clusters`);
    if (type === 'DELETED') this.#state.delete(name);
    else this.#state.set(name, object);
  }
}

function toContents(clusters: Iterable<ListedCluster>): readonly string[] {
  return [...clusters].map((each) => JSON.stringify({ ...each, metadata: { ...each.metadata, resourceVersion: '' } })).sort();
}
