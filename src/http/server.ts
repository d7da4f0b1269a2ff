// The façade's TLS server: routes, the scope in which everybody is authenticated, limits, and an orderly end.

import { METHODS } from 'node:http';
import { createServer, type Server } from 'node:https';
import type { AddressInfo } from 'node:net';
import type { Duplex } from 'node:stream';
import { type FastifyInstance, type FastifyReply, type FastifyRequest, fastify } from 'fastify';
import { badRequest, serviceUnavailable } from '../api/status.ts';
import { noMethod, noRoute } from '../apimachinery/refusals.ts';
import { errorReply, type Reply } from '../apimachinery/reply.ts';
import type { Clock } from '../std/clock.ts';
import type { Answer } from '../telemetry/metrics.ts';
import { Abandoned, Exchange } from './exchange.ts';
import type { Caller, Endpoint, FacadeReply, FacadeRequest } from './request.ts';
import { errorAnswer, send } from './send.ts';
import { connectRefusal, unparsedReply } from './unparsed.ts';

/** A path of Fastify's form, and what answers there. */
export interface Route {
  readonly method: 'GET' | 'POST';
  readonly path: string;
  readonly endpoint: Endpoint;
  /** Told of requests for this route that were refused before the endpoint saw them. */
  readonly turnedAway?: (request: Exchange, error: unknown) => void;
}

/** A document that everybody may read. */
export interface PublicDocument {
  readonly path: string;
  readonly reply: (request: Pick<FacadeRequest, 'preferences'>) => Reply;
}

export interface ServerOptions {
  readonly clock: Clock;
  readonly certificate: { readonly cert: string; readonly key: string };
  readonly routes: readonly Route[];
  readonly documents: readonly PublicDocument[];
  /** Says who sent a request, from its headers as they came. Throws a StatusError when that is nobody. */
  readonly authenticate: (rawHeaders: readonly string[], signal: AbortSignal) => Promise<Caller>;
  /** Throws a StatusError for a caller who has to wait. */
  readonly admit?: (caller: Caller) => void;
  /** Told of errors that nobody expected. */
  readonly report: (error: unknown, requestId: string) => void;
  /** Told of every answer, when it has been sent. */
  readonly answered?: (answer: Answer) => void;
  readonly maxConnections?: number;
}

export interface FacadeServer {
  /** Rejects when the port is taken. */
  listen(port: number, host: string | undefined): Promise<AddressInfo>;
  /** Takes another certificate for new connections. Throws for one that cannot be used. */
  useCertificate(certificate: ServerOptions['certificate']): void;
  /** Ends streams, lets other requests finish for a while, and closes. */
  close(graceMs: number): Promise<void>;
}

declare module 'fastify' {
  interface FastifyRequest {
    exchange: Exchange;
  }
}

/** How long a request may take to arrive, its head and its body. */
const REQUEST_MS = 10_000;
const KEEP_ALIVE_MS = 65_000;
const MAX_HEADER_BYTES = 16_384;
const MAX_CONNECTIONS = 10_000;

/** Makes a server that does not listen yet. */
export async function createFacadeServer(options: ServerOptions): Promise<FacadeServer> {
  const underWay = new Set<Exchange>();
  const state = { isStopping: false };
  let server: Server | undefined;
  const app = fastify({
    serverFactory: (handler) => {
      server = createServer(limits(options), handler);
      server.on('checkContinue', handler);
      server.on('connect', (_message, socket: Duplex) => socket.end(connectRefusal()));
      server.maxConnections = options.maxConnections ?? MAX_CONNECTIONS;
      return server;
    },
    routerOptions: { caseSensitive: true, ignoreTrailingSlash: false, ignoreDuplicateSlashes: false, maxParamLength: MAX_HEADER_BYTES },
    logger: false,
    exposeHeadRoutes: false,
    return503OnClosing: false,
    clientErrorHandler: (error, socket) => unparsedReply(error, socket),
    frameworkErrors: (_error, request, reply) => {
      reply.hijack();
      const exchange = new Exchange(request.raw, reply.raw);
      void send(exchange, errorAnswer(badRequest('the path cannot be decoded'), exchange.preferences, exchange.requestId));
    },
  });
  // Endpoints read bodies themselves, when their turn has come.
  for (const method of METHODS) app.addHttpMethod(method, { hasBody: false, overrideExisting: true });
  app.decorateRequest('exchange');
  app.addHook('onRequest', (request, reply, done) => {
    const exchange = new Exchange(request.raw, reply.raw);
    request.exchange = exchange;
    underWay.add(exchange);
    const startedAt = options.clock.monotonic();
    reply.raw.on('close', () => {
      underWay.delete(exchange);
      options.answered?.(answerOf(request, options.clock.monotonic() - startedAt));
    });
    exchange.checkTarget(request.params as Record<string, string>);
    if (state.isStopping) throw serviceUnavailable('Purser is stopping, please try again', 1);
    done();
  });
  app.setErrorHandler((error, request, reply) => {
    tellRoute(error, request, options);
    void answer(request, reply, refusal(error, request.exchange, options));
  });
  addDocuments(app, options);
  await app.register(async (scope) => addAuthenticatedRoutes(scope, options));
  await app.ready();
  if (server === undefined) throw new Error('there is no server');
  return facadeServer(server, underWay, state);
}

/** What was answered, by the pattern of the path: paths that callers make up are all the same. */
function answerOf({ exchange, routeOptions }: FastifyRequest, durationMs: number): Answer {
  const { url = OTHER_PATHS } = routeOptions;
  const { headersSent, statusCode } = exchange.response;
  return { route: url, code: headersSent ? statusCode : GONE, durationMs: exchange.isStreaming ? undefined : durationMs };
}

const OTHER_PATHS = '*';
/** Whoever asked has left before there was an answer. */
const GONE = 499;

function limits({ certificate }: ServerOptions) {
  return {
    ...certificate,
    minVersion: 'TLSv1.2',
    ALPNProtocols: ['http/1.1'],
    handshakeTimeout: REQUEST_MS,
    headersTimeout: REQUEST_MS,
    requestTimeout: REQUEST_MS,
    keepAliveTimeout: KEEP_ALIVE_MS,
    connectionsCheckingInterval: 1_000,
    maxHeaderSize: MAX_HEADER_BYTES,
  } as const;
}

function addDocuments(app: FastifyInstance, { documents }: ServerOptions): void {
  for (const { path, reply: document } of documents) {
    app.get(path, (request, reply) => void answer(request, reply, document(request.exchange)));
  }
}

/** Whatever is added here is behind the hook: no route can forget it. */
function addAuthenticatedRoutes(scope: FastifyInstance, options: ServerOptions): void {
  const { clock, authenticate, admit, routes } = options;
  scope.addHook('onRequest', async ({ exchange }) => {
    exchange.startTimeout(clock);
    exchange.caller = await authenticate(exchange.message.rawHeaders, exchange.signal);
    admit?.(exchange.caller);
  });
  for (const { method, path, endpoint } of routes) {
    scope.route({
      method: METHODS,
      url: path,
      handler: (request, reply) => {
        const { exchange } = request;
        if (exchange.method !== method) void answer(request, reply, notAllowed(exchange, method));
        else
          endpoint(exchange).then(
            (found) => answer(request, reply, found),
            (error: unknown) => answer(request, reply, refusal(error, exchange, options)),
          );
      },
    });
  }
  scope.route({
    method: METHODS,
    url: '*',
    handler: () => {
      throw noRoute();
    },
  });
}

/** A path of which no names are known is nobody's. */
function tellRoute(error: unknown, { exchange, routeOptions }: FastifyRequest, { routes }: ServerOptions): void {
  if (Object.keys(exchange.params).length === 0) return;
  routes.find(({ path, method }) => path === routeOptions.url && method === exchange.method)?.turnedAway?.(exchange, error);
}

function notAllowed({ preferences }: Exchange, allow: string): Reply {
  const reply = errorReply(noMethod(), preferences);
  return { ...reply, headers: { ...reply.headers, allow } };
}

function refusal(error: unknown, { preferences, requestId, signal }: Exchange, { report }: ServerOptions): Reply {
  const reply = errorAnswer(error, preferences, requestId);
  if (reply.status === 500 && !(signal.reason instanceof Abandoned)) report(error, requestId);
  return reply;
}

/** Past Fastify's own serialisation: answers are text already, or write themselves. */
function answer({ exchange }: FastifyRequest, reply: FastifyReply, found: FacadeReply): Promise<void> {
  reply.hijack();
  return send(exchange, found);
}

function facadeServer(server: Server, underWay: ReadonlySet<Exchange>, state: { isStopping: boolean }): FacadeServer {
  const sockets = new Set<Duplex>();
  server.on('connection', (socket) => {
    sockets.add(socket);
    socket.on('close', () => sockets.delete(socket));
  });
  return {
    async listen(port, host) {
      const { promise, resolve, reject } = Promise.withResolvers<void>();
      server.once('error', reject);
      server.listen(port, host, resolve);
      await promise;
      server.off('error', reject);
      return server.address() as AddressInfo;
    },
    useCertificate: (certificate) => server.setSecureContext({ ...certificate, minVersion: 'TLSv1.2' }),
    async close(graceMs) {
      state.isStopping = true;
      const closed = new Promise((resolve) => server.close(resolve));
      for (const exchange of underWay) if (exchange.isStreaming) exchange.abandon();
      server.closeIdleConnections();
      AbortSignal.timeout(graceMs).addEventListener('abort', () => sockets.forEach((socket) => socket.destroy()));
      await closed;
    },
  };
}
