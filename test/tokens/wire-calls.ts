// Every request that leaves this process, as the HTTP client sends it.

import { type ChannelListener, subscribe, unsubscribe } from 'node:diagnostics_channel';

export interface WireCall {
  readonly server: string;
  readonly method: string;
  readonly path: string;
  readonly bearer: string;
}

/** Records requests from now on, without watches and lists of informers. */
export class WireCalls {
  readonly #calls: WireCall[] = [];
  /** Requests in progress, without watches. */
  readonly #open = new Set<unknown>();
  #completed = 0;
  readonly #listener: ChannelListener = (message) => {
    const { request } = message as { request: { origin: string; method: string; path: string; headers: string | readonly string[] } };
    if (!/[?&]watch=/.test(request.path)) this.#open.add(request);
    const headers = typeof request.headers === 'string' ? request.headers.split('\r\n') : pairs(request.headers);
    const bearer = headers.find((header) => /^authorization: /i.test(header))?.replace(/^authorization: Bearer /i, '') ?? '';
    const [path = ''] = request.path.split('?');
    this.#calls.push({ server: request.origin, method: request.method, path, bearer });
  };

  readonly #onEnd: ChannelListener = (message) => {
    if (this.#open.delete((message as { readonly request: unknown }).request)) this.#completed += 1;
  };

  constructor() {
    subscribe('undici:request:create', this.#listener);
    for (const channel of ENDS) subscribe(channel, this.#onEnd);
  }

  /** Number of completed requests so far, without watches. */
  get completed(): number {
    return this.#completed;
  }

  /** True while a request is in progress, other than a watch. */
  get hasOpen(): boolean {
    return this.#open.size > 0;
  }

  /** Returns the requests with these bearers in order, such as `POST subjectaccessreviews`, without lists and watches. */
  by(...bearers: readonly string[]): readonly string[] {
    return this.#calls
      .filter((call) => bearers.includes(call.bearer) && !isCollectionRead(call))
      .map(({ method, path }) => `${method} ${short(path)}`);
  }

  clear(): void {
    this.#calls.length = 0;
  }

  stop(): void {
    unsubscribe('undici:request:create', this.#listener);
    for (const channel of ENDS) unsubscribe(channel, this.#onEnd);
  }
}

const ENDS = ['undici:request:trailers', 'undici:request:error'];

function pairs(headers: readonly string[]): readonly string[] {
  return headers.flatMap((name, index) => (index % 2 === 0 ? [`${name}: ${headers[index + 1]}`] : []));
}

const COLLECTION = /^\/(api|apis\/[^/]+)\/[^/]+\/[a-z]+$|\/namespaces\/[^/]+\/[a-z]+$/;

function isCollectionRead({ method, path }: WireCall): boolean {
  return method === 'GET' && (COLLECTION.test(path) || !/^\/apis?\//.test(path) || path.split('/').length <= 4);
}

/** Returns the part of a path after the version and namespace. */
function short(path: string): string {
  return path.replace(/^\/(api|apis\/[^/]+)\/v[0-9a-z]+\/(namespaces\/[^/]+\/(?=.))?/, '');
}
