// A client of the cluster list over the wire: lists in pages, watches from there, resumes where a watch broke, lists again
// after 410.

import type { IncomingMessage } from 'node:http';
import { request } from 'node:https';
import { createInterface } from 'node:readline';
import type { ClusterFacade } from './cluster-facade.ts';

const PATH = '/auth/v1/clusters';

interface Shown {
  readonly metadata: { readonly name: string; readonly resourceVersion: string };
}

interface List {
  readonly items: readonly Shown[];
  readonly metadata: { readonly continue: string; readonly resourceVersion: string };
}

interface Event {
  readonly type: string;
  readonly object: Shown & { readonly code?: number };
}

export class WireReflector {
  readonly #facade: ClusterFacade;
  readonly #token: string;
  readonly #query: string;
  #state = new Map<string, Shown>();
  #version: string | undefined;
  #answer: IncomingMessage | undefined;
  /** Number of 410 responses. */
  expired = 0;
  problem: Error | undefined;

  constructor(facade: ClusterFacade, token: string, query = '') {
    this.#facade = facade;
    this.#token = token;
    this.#query = query;
  }

  /** Known objects, without their versions. */
  get contents(): readonly string[] {
    return contentsOf(this.#state.values());
  }

  /** Returns the objects of a new list. */
  async fresh(): Promise<readonly string[]> {
    return contentsOf((await this.#page('')).items);
  }

  /** Lists in pages of `limit`, unless it has a version already, and watches. */
  async connect(limit = 0): Promise<void> {
    if (this.#answer !== undefined) return;
    if (this.#version === undefined) await this.#list(limit);
    if (this.#version !== undefined) await this.#watch();
  }

  /** Leaves; what has not been read is lost. */
  disconnect(): void {
    this.#answer?.destroy();
    this.#answer = undefined;
  }

  /** Stops or goes on to read. */
  pause(): void {
    this.#answer?.pause();
  }

  resume(): void {
    this.#answer?.resume();
  }

  async #list(limit: number): Promise<void> {
    const items: Shown[] = [];
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

  async #page(more: string): Promise<List> {
    const { status, body } = await this.#facade.request('GET', `${PATH}?${this.#query}${more}`, {
      headers: { authorization: `Bearer ${this.#token}` },
    });
    if (status !== 200) throw new Error(`a list was answered with ${status}: ${body}`);
    return JSON.parse(body) as List;
  }

  async #watch(): Promise<void> {
    const { promise, resolve, reject } = Promise.withResolvers<IncomingMessage>();
    const url = `${this.#facade.url}${PATH}?watch=true&allowWatchBookmarks=true&${this.#query}&resourceVersion=${this.#version}`;
    const headers = { authorization: `Bearer ${this.#token}` };
    request(url, { ca: this.#facade.ca, agent: false, headers }, resolve).on('error', reject).end();
    const answer = await promise;
    this.#answer = answer;
    answer.on('error', () => {});
    const isOurs = () => this.#answer === answer;
    createInterface({ input: answer })
      .on('line', (line) => isOurs() && this.#take(JSON.parse(line) as Event))
      .on('close', () => {
        if (isOurs()) this.#answer = undefined;
      });
  }

  #take({ type, object }: Event): void {
    if (type === 'ERROR') {
      this.expired += 1;
      this.#version = undefined;
      return;
    }
    const { name, resourceVersion } = object.metadata;
    this.#version = resourceVersion;
    if (type === 'BOOKMARK') return;
    if (this.#state.has(name) !== (type !== 'ADDED')) this.problem ??= new Error(`${type} ${name} does not fit`);
    if (type === 'DELETED') this.#state.delete(name);
    else this.#state.set(name, object);
  }
}

function contentsOf(clusters: Iterable<Shown>): readonly string[] {
  return [...clusters].map((each) => JSON.stringify({ ...each, metadata: { ...each.metadata, resourceVersion: '' } })).sort();
}
