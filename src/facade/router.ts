// The routes of the façade. All paths except those of public documents require an authenticated caller, including paths without a route.

import { METHODS } from 'node:http';
import findMyWay, { type HTTPMethod } from 'find-my-way';
import { createErrorReply, type Reply } from '../kubernetes/reply.ts';
import { badRequest, internalError, methodNotAllowed, pathNotFound, StatusError, serviceUnavailable } from '../kubernetes/status.ts';
import type { Preferences } from '../kubernetes/wire/negotiate.ts';
import { readFlag } from '../kubernetes/wire/query.ts';
import { type Caller, recheckToken } from './authenticate.ts';
import { AbandonedError, type Exchange } from './exchange.ts';
import { UnreadResponses } from './limits/unread-responses.ts';
import type { Endpoint, FacadeReply, FacadeRequest } from './request.ts';

/** A path with parameters such as `:name`, and its endpoint. */
export interface Route {
  readonly method: 'GET' | 'POST';
  readonly path: string;
  readonly endpoint: Endpoint;
  /**
   * Called for each request that matches the method and the path, has valid path parameters, and is rejected before it reaches the
   * endpoint.
   */
  readonly onRejected?: (request: Exchange, error: unknown) => void;
}

/** A document that any client may read. The last segment of its path may be `*`. */
export interface PublicDocument {
  readonly path: string;
  /** Throws a StatusError for a path that matches `*` but has no document. */
  readonly reply: (request: Pick<FacadeRequest, 'preferences' | 'params' | 'header'>) => Reply;
}

export interface RouterOptions {
  readonly routes: readonly Route[];
  readonly documents: readonly PublicDocument[];
  /** Returns the caller of a request. Throws a StatusError if the credentials are missing or invalid, or cannot be reviewed. */
  readonly authenticate: (exchange: Exchange) => Promise<Caller>;
  /** Waits for a seat; returns the function that releases it. Throws a StatusError above a limit, or the reason of the aborted signal. */
  readonly admit?: (exchange: Exchange) => Promise<() => void>;
  /** Receives unexpected errors, with the ID of the failed request; without an ID for an error outside of requests. */
  readonly report: (error: unknown, requestId?: string) => void;
}

/** Entry for a path: a public document, an authenticated route, or neither for a path without a route. */
interface Entry {
  readonly path: string;
  readonly document?: PublicDocument;
  readonly route?: Route;
}

/** Maximum length of a path parameter, in characters; as high as the limit on the size of the headers. */
const MAX_PARAM_LENGTH = 16_384;
const ANY_METHOD = METHODS as HTTPMethod[];
const ANY_PATH = '*';

export class Router {
  readonly #options: RouterOptions;
  readonly #unread = new UnreadResponses();
  readonly #router = findMyWay({
    caseSensitive: true,
    ignoreTrailingSlash: false,
    ignoreDuplicateSlashes: false,
    maxParamLength: MAX_PARAM_LENGTH,
  });

  constructor(options: RouterOptions) {
    this.#options = options;
    for (const document of options.documents) this.#add(ANY_METHOD, { path: document.path, document });
    for (const route of options.routes) this.#add(ANY_METHOD, { path: route.path, route });
    this.#add(ANY_METHOD, { path: ANY_PATH });
  }

  /** Serves a request. Rejects it with 503 if the server is stopping. */
  serve(exchange: Exchange, isStopping: boolean): void {
    const found = this.#router.find(exchange.method as HTTPMethod, exchange.url);
    if (found === null) return this.#reject(exchange, hasPath(exchange) ? badRequest('the path cannot be decoded') : methodNotAllowed());
    const { path, document, route } = found.store as Entry;
    exchange.route = path;
    try {
      exchange.checkHead(found.params as Readonly<Record<string, string>>);
      if (isStopping) throw serviceUnavailable('Purser is stopping, please try again', 1);
      if (document !== undefined) return this.#sendWithoutSeat(exchange, createDocumentReply(document, exchange));
    } catch (error) {
      return this.#reject(exchange, error, route);
    }
    void this.#serveCaller(exchange, route);
  }

  #add(methods: HTTPMethod[], entry: Entry): void {
    this.#router.on(methods, entry.path, () => {}, entry);
  }

  async #serveCaller(exchange: Exchange, route: Route | undefined): Promise<void> {
    const { authenticate, admit } = this.#options;
    try {
      exchange.startTimeout();
      exchange.caller = await authenticate(exchange);
      if (admit !== undefined) exchange.holdSeat(await admit(exchange));
      await recheckToken(exchange);
      if (route === undefined) throw pathNotFound();
    } catch (error) {
      return this.#reject(exchange, error, route);
    }
    await exchange.send(await this.#serveRoute(exchange, route));
  }

  async #serveRoute(exchange: Exchange, { method, endpoint }: Route): Promise<FacadeReply> {
    const served = findServedMethods(method, exchange);
    if (!served.includes(exchange.method)) return createMethodNotAllowedReply(exchange, served.join(', '));
    try {
      return await endpoint(exchange);
    } catch (error) {
      return this.#createErrorReply(error, exchange);
    }
  }

  #reject(exchange: Exchange, error: unknown, route?: Route): void {
    // A request without valid parameters names no object that could be recorded.
    if (route?.method === exchange.method && Object.keys(exchange.params).length > 0) route.onRejected?.(exchange, error);
    this.#sendWithoutSeat(exchange, this.#createErrorReply(error, exchange));
  }

  /** Sends a document or an error. Limits unread responses, because the limits on tenants do not cover requests without a seat. */
  #sendWithoutSeat(exchange: Exchange, reply: Reply): void {
    void exchange.send(reply);
    this.#unread.add(exchange, (reply.body as string | Buffer).length);
  }

  #createErrorReply(error: unknown, { preferences, requestId, signal }: Exchange): Reply {
    const reply = toErrorReply(error, preferences, requestId);
    if (reply.status === 500 && !(signal.reason instanceof AbandonedError)) this.#options.report(error, requestId);
    return reply;
  }
}

/** Returns true for a method whose requests have a path. Over HTTP/2, a method can be any string. */
function hasPath({ method }: Exchange): boolean {
  return method !== 'CONNECT' && METHODS.includes(method);
}

/**
 * Returns the methods that a route serves. HEAD is served as GET, except for a watch, because a response without a body has no events.
 */
function findServedMethods(method: Route['method'], { query }: Exchange): readonly string[] {
  return method === 'GET' && !readFlag(query, 'watch') ? ['GET', 'HEAD'] : [method];
}

/** Returns a public document, or 405 for a method other than GET. */
function createDocumentReply(document: PublicDocument, exchange: Exchange): Reply {
  return exchange.method === 'GET' ? document.reply(exchange) : createMethodNotAllowedReply(exchange, 'GET');
}

function createMethodNotAllowedReply({ preferences }: Exchange, allow: string): Reply {
  const reply = createErrorReply(methodNotAllowed(), preferences);
  return { ...reply, headers: { ...reply.headers, allow } };
}

/**
 * Returns the response for any thrown value. For an unexpected error, the response contains only the request ID, which identifies the error
 * in the log.
 */
function toErrorReply(error: unknown, preferences: Preferences, requestId: string): Reply {
  const message = `the request ${requestId} could not be completed; Purser's log contains the cause`;
  const known = error instanceof StatusError ? error : internalError(message, { cause: error });
  const reply = createErrorReply(known, preferences);
  return known.code === 401 ? { ...reply, headers: { ...reply.headers, 'www-authenticate': 'Bearer' } } : reply;
}
