// Client of a list over HTTP: lists in pages, watches from the revision of the list, resumes a broken watch, and lists again
// after 410.

import type { IncomingMessage } from 'node:http';
import { request } from 'node:https';
import { createInterface } from 'node:readline';
import { objectKeyOf } from '../../src/kube/paths.ts';
import type { ClusterFacade } from './cluster-facade.ts';

interface ListedObject {
  readonly metadata: { readonly name: string; readonly namespace?: string; readonly resourceVersion: string };
}

interface Page {
  readonly items: readonly ListedObject[];
  readonly metadata: { readonly continue: string; readonly resourceVersion: string };
}

interface Event {
  readonly type: string;
  readonly object: ListedObject & { readonly code?: number };
}

export interface WireReflectorOptions {
  readonly token: string;
  /** Path of the list. */
  readonly path: string;
  readonly query?: string;
}

export class WireReflector {
  readonly #facade: ClusterFacade;
  readonly #token: string;
  readonly #path: string;
  readonly #query: string;
  #state = new Map<string, ListedObject>();
  #version: string | undefined;
  #response: IncomingMessage | undefined;
  /** Number of failed lists and of ERROR events. */
  expired = 0;
  problem: Error | undefined;

  constructor(facade: ClusterFacade, { token, path, query = '' }: WireReflectorOptions) {
    this.#facade = facade;
    this.#token = token;
    this.#path = path;
    this.#query = query;
  }

  /** Known objects as JSON, without their resourceVersions. */
  get contents(): readonly string[] {
    return toContents(this.#state.values());
  }

  /** Returns the objects of a new list, in the form of `contents`. */
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
    const items: ListedObject[] = [];
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
    this.#state = new Map(items.map((item) => [objectKeyOf(item), item]));
  }

  async #page(parameters: string): Promise<Page> {
    const { status, body } = await this.#facade.request('GET', `${this.#path}?${this.#query}${parameters}`, {
      headers: { authorization: `Bearer ${this.#token}` },
    });
    if (status !== 200) throw new Error(`the list returned ${status}: ${body}`);
    return JSON.parse(body) as Page;
  }

  async #watch(): Promise<void> {
    const { promise, resolve, reject } = Promise.withResolvers<IncomingMessage>();
    const url = `${this.#facade.url}${this.#path}?watch=true&allowWatchBookmarks=true&${this.#query}&resourceVersion=${this.#version}`;
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
    this.#version = object.metadata.resourceVersion;
    if (type === 'BOOKMARK') return;
    const name = objectKeyOf(object);
    if (this.#state.has(name) !== (type !== 'ADDED')) this.problem ??= new Error(`event ${type} ${name} contradicts the known objects`);
    if (type === 'DELETED') this.#state.delete(name);
    else this.#state.set(name, object);
  }
}

function toContents(objects: Iterable<ListedObject>): readonly string[] {
  return [...objects].map((each) => JSON.stringify({ ...each, metadata: { ...each.metadata, resourceVersion: '' } })).sort();
}
