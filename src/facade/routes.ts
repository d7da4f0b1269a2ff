// What is served where, and the scope in which everybody is authenticated.

import { METHODS } from 'node:http';
import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify';
import { noMethod, noRoute } from '../kubernetes/refusals.ts';
import { errorReply, type Reply } from '../kubernetes/reply.ts';
import { flag } from '../kubernetes/wire/query.ts';
import { Abandoned, type Exchange } from './exchange.ts';
import type { Caller, Endpoint, FacadeReply, FacadeRequest } from './request.ts';
import { errorAnswer, send } from './send.ts';

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

export interface RouteOptions {
  readonly routes: readonly Route[];
  readonly documents: readonly PublicDocument[];
  /** Returns the caller who sent a request. Throws a StatusError if there is none. */
  readonly authenticate: (exchange: Exchange) => Promise<Caller>;
  /** Waits until the request may begin; returns the function that ends its turn. Throws a StatusError for a caller with too many. */
  readonly admit?: (exchange: Exchange) => Promise<() => void>;
  /** Told of errors that nobody expected, and of the request that met them. */
  readonly report: (error: unknown, requestId?: string) => void;
}

/** Adds everything that is served, and answers to whatever is not. */
export async function addRoutes(app: FastifyInstance, options: RouteOptions): Promise<void> {
  app.setErrorHandler((error, request, reply) => {
    tellRoute(error, request, options);
    void answer(request, reply, refusal(error, request.exchange, options));
  });
  for (const { path, reply: document } of options.documents) {
    app.get(path, (request, reply) => void answer(request, reply, document(request.exchange)));
  }
  await app.register(async (scope) => addAuthenticatedRoutes(scope, options));
}

/** Past Fastify's own serialisation: answers are text already, or write themselves. */
export function answer({ exchange }: FastifyRequest, reply: FastifyReply, found: FacadeReply): Promise<void> {
  reply.hijack();
  return send(exchange, found);
}

/** Whatever is added here is behind the hook: no route can forget it. */
function addAuthenticatedRoutes(scope: FastifyInstance, options: RouteOptions): void {
  const { authenticate, admit, routes } = options;
  scope.addHook('onRequest', async ({ exchange }) => {
    exchange.startTimeout();
    exchange.caller = await authenticate(exchange);
    if (admit !== undefined) exchange.holdTurn(await admit(exchange));
  });
  for (const { method, path, endpoint } of routes) {
    scope.route({
      method: METHODS,
      url: path,
      handler: (request, reply) => {
        const { exchange } = request;
        if (!isServed(method, exchange)) void answer(request, reply, notAllowed(exchange, method));
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

/** HEAD is GET without a body, of which a watch has nothing else. */
function isServed(method: Route['method'], { method: asked, query }: Exchange): boolean {
  return asked === method || (method === 'GET' && asked === 'HEAD' && !flag(query, 'watch'));
}

/** A path of which no names are known is nobody's. */
function tellRoute(error: unknown, { exchange, routeOptions }: FastifyRequest, { routes }: RouteOptions): void {
  if (Object.keys(exchange.params).length === 0) return;
  routes.find(({ path, method }) => path === routeOptions.url && method === exchange.method)?.turnedAway?.(exchange, error);
}

function notAllowed({ preferences }: Exchange, allow: string): Reply {
  const reply = errorReply(noMethod(), preferences);
  return { ...reply, headers: { ...reply.headers, allow } };
}

function refusal(error: unknown, { preferences, requestId, signal }: Exchange, { report }: RouteOptions): Reply {
  const reply = errorAnswer(error, preferences, requestId);
  if (reply.status === 500 && !(signal.reason instanceof Abandoned)) report(error, requestId);
  return reply;
}
