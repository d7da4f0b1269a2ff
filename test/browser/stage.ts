// A server with the page and with lists of a given fleet, as the façade would serve them: for pictures, and for input that
// Purser itself would never write.

import { createServer, type IncomingMessage, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { Assets } from '../../src/ui/assets.ts';
import type { ApiObject, Fleet } from './fleet.ts';

/** Response to requests for lists in place of the objects. */
export interface Refusal {
  readonly status: number;
  readonly message: string;
  readonly retryAfter?: string;
}

/** A started stage. */
export class Stage implements AsyncDisposable {
  readonly #server = createServer((request, response) => this.#serve(request, response));
  readonly #assets: Assets;
  readonly #objects: Readonly<Record<string, Map<string, ApiObject>>>;
  readonly #watches = new Map<ServerResponse, string>();
  #revision = 1_000;
  /** Clusters on the hub; undefined for a page that the façade serves. */
  readonly #hub: readonly ApiObject[] | undefined;
  refusal: Refusal | undefined;
  /** Response to requests for Clusters on the hub in place of the objects. */
  hubRefusal: Refusal | undefined;
  /** Number of requests. */
  requests = 0;

  private constructor(assets: Assets, { clusters, tokens }: Fleet, hub: readonly ApiObject[] | undefined) {
    this.#assets = assets;
    this.#hub = hub;
    this.#objects = { clusters: byKey(clusters), managedtokens: byKey(tokens) };
  }

  /** Starts a stage; with `hub`, the page needs no login. */
  static async start(fleet: Fleet, hub?: readonly ApiObject[]): Promise<Stage> {
    const stage = new Stage(await Assets.load({ needsLogin: hub === undefined }), fleet, hub);
    await new Promise<void>((resolve) => stage.#server.listen(0, '127.0.0.1', resolve));
    return stage;
  }

  get url(): string {
    return `http://127.0.0.1:${(this.#server.address() as AddressInfo).port}/ui/`;
  }

  /** Number of open watches. */
  get watching(): number {
    return this.#watches.size;
  }

  /** Stores an object, and sends it to all watches of its list. */
  put(list: 'clusters' | 'managedtokens', object: ApiObject): void {
    const objects = this.#objects[list];
    const type = objects?.has(keyOf(object)) ? 'MODIFIED' : 'ADDED';
    this.#revision += 1;
    const stored = { ...object, metadata: { ...object.metadata, resourceVersion: String(this.#revision) } };
    objects?.set(keyOf(object), stored);
    this.#send(list, { type, object: stored });
  }

  /** Removes an object, and reports this to all watches of its list. */
  remove(list: 'clusters' | 'managedtokens', object: ApiObject): void {
    this.#objects[list]?.delete(keyOf(object));
    this.#revision += 1;
    this.#send(list, { type: 'DELETED', object: { ...object, metadata: { ...object.metadata, resourceVersion: String(this.#revision) } } });
  }

  /** Ends all watches, as a restarting server does. */
  endWatches(): void {
    for (const response of this.#watches.keys()) response.destroy();
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.#server.closeAllConnections();
    await new Promise((resolve) => this.#server.close(resolve));
  }

  #send(list: string, event: object): void {
    const line = `${JSON.stringify(event)}\n`;
    for (const [response, watched] of this.#watches) if (watched === list) response.write(line);
  }

  #serve(request: IncomingMessage, response: ServerResponse): void {
    this.requests += 1;
    const { pathname, searchParams } = new URL(request.url ?? '', 'http://stage');
    if (pathname.startsWith('/ui/')) return this.#serveAsset(pathname.slice('/ui/'.length), request, response);
    const refusal = this.refusal ?? (pathname.startsWith('/hub/') ? this.hubRefusal : undefined);
    if (refusal !== undefined) return reply(response, refusal.status, statusOf(refusal), refusal.retryAfter);
    const list = pathname.slice(pathname.lastIndexOf('/') + 1);
    if (searchParams.has('watch')) return this.#watch(pathname.startsWith('/hub/') ? 'hub' : list, response);
    this.#list(pathname.startsWith('/hub/') ? (this.#hub ?? []) : [...(this.#objects[list]?.values() ?? [])], searchParams, response);
  }

  #list(objects: readonly ApiObject[], searchParams: URLSearchParams, response: ServerResponse): void {
    const from = Number(searchParams.get('continue') ?? 0);
    const limit = Number(searchParams.get('limit') ?? objects.length);
    const rest = Math.max(0, objects.length - from - limit);
    const more = rest === 0 ? {} : { continue: String(from + limit), remainingItemCount: rest };
    reply(response, 200, { metadata: { resourceVersion: String(this.#revision), ...more }, items: objects.slice(from, from + limit) });
  }

  #serveAsset(path: string, { headers }: IncomingMessage, response: ServerResponse): void {
    try {
      const {
        status,
        headers: responseHeaders,
        body,
      } = this.#assets.reply(path, {
        acceptEncoding: String(headers['accept-encoding']),
        ifNoneMatch: headers['if-none-match'],
      });
      response.writeHead(status, responseHeaders).end(body);
    } catch {
      response.writeHead(404).end();
    }
  }

  #watch(list: string, response: ServerResponse): void {
    response.writeHead(200, { 'content-type': 'application/json' });
    response.flushHeaders();
    this.#watches.set(response, list);
    response.on('close', () => this.#watches.delete(response));
  }
}

function byKey(objects: readonly ApiObject[]): Map<string, ApiObject> {
  return new Map(objects.map((object) => [keyOf(object), object]));
}

function keyOf({ metadata: { namespace = '', name } }: ApiObject): string {
  return `${namespace}/${name}`;
}

function statusOf({ status, message }: Refusal) {
  return { apiVersion: 'v1', kind: 'Status', status: 'Failure', code: status, message };
}

function reply(response: ServerResponse, status: number, body: object, retryAfter?: string): void {
  response.writeHead(status, { 'content-type': 'application/json', ...(retryAfter !== undefined && { 'retry-after': retryAfter }) });
  response.end(JSON.stringify(body));
}
