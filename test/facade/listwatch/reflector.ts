// A client that behaves like client-go's reflector: it lists, watches from the version of the list, resumes a broken watch, and lists again
// after 410. The client checks that versions never decrease.

import { objectKeyOf } from '../../../src/kube/paths.ts';
import type { ListedObject, ListReplica, TestCaller, WatchStream } from './replica.ts';

export class Reflector {
  readonly caller: TestCaller;
  readonly #query: string;
  readonly #bookmarks: boolean;
  readonly #namespace: string | undefined;
  #state = new Map<string, ListedObject>();
  /** Version to watch from; undefined if the client has to list. */
  #version: string | undefined;
  /** True until the bookmark after the initial events of a watch. */
  #isInitial = false;
  #stream: WatchStream | undefined;
  /** Version of the last list, which a list after 410 requests. */
  #listed = '';
  /** Number of 410 responses. */
  expired = 0;
  /** Pages of a list that is not complete. */
  #pages: { readonly items: ListedObject[]; next: string } | undefined;

  constructor(caller: TestCaller, query: string, bookmarks: boolean, namespace?: string) {
    this.caller = caller;
    this.#query = query;
    this.#bookmarks = bookmarks;
    this.#namespace = namespace;
  }

  get state(): ReadonlyMap<string, ListedObject> {
    return this.#state;
  }

  get query(): string {
    return this.#query;
  }

  /** Returns a fresh list of the same objects. */
  async freshList(replica: ListReplica): Promise<readonly ListedObject[]> {
    return (await replica.get(this.#query, this.caller, this.#namespace)).body.items;
  }

  get isCurrent(): boolean {
    return this.#version !== undefined;
  }

  /** Lists, one page at a time if there is a limit. */
  async list(replica: ListReplica, limit: number): Promise<void> {
    this.disconnect();
    const versionQuery = this.#versionQuery(limit);
    const { status, body } = await replica.get(
      `${this.#query}${limit > 0 ? `&limit=${limit}` : ''}${versionQuery}`,
      this.caller,
      this.#namespace,
    );
    this.#version = undefined;
    if (status === 410) {
      this.expired += 1;
      this.#pages = undefined;
      return;
    }
    if (status === 504) return;
    if (status !== 200) throw new Error(`the list returned ${status}: ${body.message}`);
    const items = [...(this.#pages?.items ?? []), ...body.items];
    if (body.metadata.continue !== '') {
      this.#pages = { items, next: body.metadata.continue };
      return;
    }
    this.#pages = undefined;
    this.#state = new Map(items.map((item) => [objectKeyOf(item), item]));
    this.#version = body.metadata.resourceVersion;
    // Without a version, as for the first page of several, a replica that lags behind may return an older list.
    if (versionQuery.startsWith('&resourceVersion=')) checkOrder(this.#listed, this.#version);
    this.#listed = body.metadata.resourceVersion;
  }

  async watch(replica: ListReplica): Promise<void> {
    this.disconnect();
    if (this.#version === undefined) return;
    this.#isInitial = false;
    this.#stream = await this.#open(replica, `${this.#query}&resourceVersion=${this.#version}${this.#bookmarkQuery}`);
  }

  /** Lists by a watch with initial events. */
  async watchList(replica: ListReplica): Promise<void> {
    this.disconnect();
    this.#pages = undefined;
    this.#version = undefined;
    this.#state = new Map();
    this.#isInitial = true;
    const query = `${this.#query}&sendInitialEvents=true&resourceVersionMatch=NotOlderThan&resourceVersion=&allowWatchBookmarks=true`;
    this.#stream = await this.#open(replica, query);
  }

  /** Reads some of the received events, in order. */
  read(count = Number.POSITIVE_INFINITY): void {
    for (const { type, object } of this.#stream?.take(count) ?? []) {
      if (type === 'ERROR') {
        if (object.code === 410) this.expired += 1;
        this.#version = undefined;
        this.#stream = undefined;
        return;
      }
      if (type !== 'BOOKMARK') this.#apply(type, object);
      // As client-go does, because the client may have received only a part of the initial events.
      if (this.#isInitial && type !== 'BOOKMARK') continue;
      this.#isInitial = false;
      if (this.#version !== undefined) checkOrder(this.#version, object.metadata.resourceVersion);
      this.#version = object.metadata.resourceVersion;
    }
  }

  async #open(replica: ListReplica, query: string): Promise<WatchStream> {
    return replica.watch(query, this.caller, undefined, { namespace: this.#namespace });
  }

  #apply(type: string, object: ListedObject): void {
    const name = objectKeyOf(object);
    if (this.#state.has(name) !== (type !== 'ADDED'))
      throw new Error(`unexpected ${type} ${name} with the state ${[...this.#state.keys()].join()}`);
    if (type === 'DELETED') this.#state.delete(name);
    else this.#state.set(name, object);
  }

  #versionQuery(limit: number): string {
    if (this.#pages !== undefined) return `&continue=${this.#pages.next}`;
    return this.#listed === '' || limit > 0 ? '' : `&resourceVersion=${this.#listed}`;
  }

  stall(): void {
    if (this.#stream !== undefined) this.#stream.isStalled = true;
  }

  resumeReading(): void {
    this.#stream?.resumeReading();
  }

  /** Disconnects; unread events are lost. */
  disconnect(): void {
    this.#stream?.leave();
    this.#stream = undefined;
  }

  get isWatching(): boolean {
    return this.#stream !== undefined && !this.#stream.writableEnded;
  }

  get #bookmarkQuery(): string {
    return this.#bookmarks ? '&allowWatchBookmarks=true' : '';
  }
}

function checkOrder(earlier: string, later: string): void {
  if (earlier !== '' && BigInt(later) < BigInt(earlier)) throw new Error(`the version ${later} follows ${earlier}`);
}

/** Returns the content of a list without versions, which differ between lists and events. */
export function contents(objects: Iterable<ListedObject>): readonly string[] {
  return [...objects].map((object) => JSON.stringify({ ...object, metadata: { ...object.metadata, resourceVersion: '' } })).sort();
}
