// A scripted collection on the wire: pages, watches, WatchList, bookmarks, compaction, and injected faults.

import type { ConfigMap } from '../../src/api/resources.ts';
import type { ObjectMeta } from '../../src/api/wire.ts';
import type { WireHandler, WireReply, WireRequest } from '../support/wire-server.ts';

interface Entry {
  readonly revision: number;
  readonly type: 'ADDED' | 'MODIFIED' | 'DELETED';
  readonly object: ConfigMap;
}

/** Handler of the next request in place of the normal response. */
export type Fault = (request: WireRequest, reply: WireReply) => void;

/** Server of the ConfigMaps in one namespace, which responds like kube-apiserver. */
export class ScriptedCollection {
  readonly objects = new Map<string, ConfigMap>();
  /** Faults for the next requests, one each. */
  readonly faults: Fault[] = [];
  offersWatchList = true;
  pageLimit = Infinity;
  #revision = 100;
  #compactedTo = 100;
  #uids = 0;
  #log: Entry[] = [];
  readonly #snapshots = new Map<number, readonly ConfigMap[]>();
  readonly #watchers = new Set<WireReply>();

  readonly handler: WireHandler = (request, reply) => {
    const fault = this.faults.shift();
    if (fault !== undefined) fault(request, reply);
    else if (request.query.get('watch') === 'true') this.#watch(request, reply);
    else this.#list(request, reply);
  };

  get watching(): number {
    return [...this.#watchers].filter((watcher) => watcher.isOpen).length;
  }

  put(name: string, value: string, more: ObjectMeta = {}): void {
    const previous = this.objects.get(name);
    this.#revision += 1;
    const uid = previous?.metadata.uid ?? `uid-${(this.#uids += 1)}`;
    const object = configMap(name, { uid, resourceVersion: String(this.#revision), ...more }, value);
    this.objects.set(name, object);
    this.#emit({ revision: this.#revision, type: previous === undefined ? 'ADDED' : 'MODIFIED', object });
  }

  remove(name: string): void {
    const previous = this.objects.get(name);
    if (previous === undefined) return;
    this.#revision += 1;
    this.objects.delete(name);
    const object = { ...previous, metadata: { ...previous.metadata, resourceVersion: String(this.#revision) } };
    this.#emit({ revision: this.#revision, type: 'DELETED', object });
  }

  /** Compacts the history: requests for older versions and pages then fail with Expired. */
  compact(): void {
    this.#compactedTo = this.#revision;
    this.#log = [];
    this.#snapshots.clear();
  }

  bookmark(): void {
    this.#each((watcher) => watcher.lines(bookmark(this.#revision)));
  }

  /** Applies `how` to every open watch, and removes the watches. */
  cut(how: (watcher: WireReply) => void): void {
    this.#each(how);
    this.#watchers.clear();
  }

  #each(act: (watcher: WireReply) => void): void {
    for (const watcher of this.#watchers) {
      if (watcher.isOpen) act(watcher);
    }
  }

  #emit(entry: Entry): void {
    this.#log.push(entry);
    this.#each((watcher) => watcher.lines(event(entry)));
  }

  #list(request: WireRequest, reply: WireReply): void {
    const token = request.query.get('continue');
    const [revision, start]: [number, number] = token === null ? [this.#revision, 0] : JSON.parse(token);
    const all = token === null ? [...this.objects.values()] : this.#snapshots.get(revision);
    if (all === undefined) return reply.json(410, expired('The provided continue parameter is too old'));
    const end = start + Math.min(Number(request.query.get('limit') ?? Infinity), this.pageLimit);
    const isLast = end >= all.length;
    if (!isLast) this.#snapshots.set(revision, all);
    const metadata = { resourceVersion: String(revision), ...(!isLast && { continue: JSON.stringify([revision, end]) }) };
    // Items of built-in lists have no type.
    const items = all.slice(start, end).map(({ metadata: meta, data }) => ({ metadata: meta, data }));
    return reply.json(200, { kind: 'ConfigMapList', apiVersion: 'v1', metadata, items });
  }

  #watch(request: WireRequest, reply: WireReply): void {
    const isInitial = request.query.get('sendInitialEvents') === 'true';
    if (isInitial && !this.offersWatchList) {
      const message = 'ListOptions.meta.k8s.io "" is invalid: sendInitialEvents: Forbidden: sendInitialEvents is forbidden for watch';
      return reply.json(422, { kind: 'Status', status: 'Failure', message, reason: 'Invalid', code: 422 });
    }
    const from = Number(request.query.get('resourceVersion') ?? 0);
    reply.open();
    if (!isInitial && from < this.#compactedTo) {
      reply.lines({ type: 'ERROR', object: expired(`too old resource version: ${from}`) });
      return reply.end();
    }
    const present = [...this.objects.values()].map((object) => ({ type: 'ADDED', object }));
    if (isInitial) reply.lines(...present, bookmark(this.#revision, { 'k8s.io/initial-events-end': 'true' }));
    else reply.lines(...this.#log.filter(({ revision }) => revision > from).map(event));
    this.#watchers.add(reply);
  }
}

/** Returns a fault with this response. */
export function respondWith(status: number, body: unknown, headers?: Readonly<Record<string, string>>): Fault {
  return (_, reply) => reply.json(status, body, headers);
}

export const reset: Fault = (_, reply) => reply.reset();

/** Accepts the request and never responds. */
export const freeze: Fault = () => undefined;

function configMap(name: string, metadata: ObjectMeta, value: string): ConfigMap {
  return { apiVersion: 'v1', kind: 'ConfigMap', metadata: { name, namespace: 'ns', ...metadata }, data: { value } };
}

function event({ type, object }: Entry): unknown {
  return { type, object };
}

function bookmark(revision: number, annotations?: Readonly<Record<string, string>>): unknown {
  return {
    type: 'BOOKMARK',
    object: { kind: 'ConfigMap', apiVersion: 'v1', metadata: { resourceVersion: String(revision), annotations } },
  };
}

function expired(message: string): unknown {
  return { kind: 'Status', apiVersion: 'v1', metadata: {}, status: 'Failure', message, reason: 'Expired', code: 410 };
}
