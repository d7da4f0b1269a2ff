// The façade's TLS server: its limits, what Node leaves to us of HTTP, and an orderly end.

import { METHODS } from 'node:http';
import { createServer, type Server } from 'node:https';
import type { Socket } from 'node:net';
import { type FastifyServerFactory, fastify } from 'fastify';
import { badRequest, serviceUnavailable } from '../kubernetes/status.ts';
import type { Clock } from '../std/clock.ts';
import { type Listening, listen } from '../std/listening.ts';
import type { Answer } from '../telemetry/metrics.ts';
import { type ConnectionLimits, Connections } from './admission/connections.ts';
import { addRoutes, answer, type RouteOptions } from './routes.ts';
import { errorAnswer } from './send.ts';
import { UnderWay } from './under-way.ts';
import { endSoon, refuseConnect, refuseUnparsed } from './unparsed.ts';

export interface ServerOptions extends RouteOptions {
  readonly clock: Clock;
  readonly certificate: { readonly cert: string; readonly key: string };
  /** Told of every answer, when it has been sent. */
  readonly answered?: (answer: Answer) => void;
  readonly connections?: Partial<ConnectionLimits> | undefined;
  /** How long a connection is kept after its last answer. */
  readonly keepAliveMs?: number | undefined;
}

export interface FacadeServer {
  /** Rejects when the port is taken. */
  listen(port: number, host: string | undefined): Promise<Pick<Listening, 'port' | 'url'>>;
  /** Takes another certificate for new connections. Throws for one that cannot be used. */
  useCertificate(certificate: ServerOptions['certificate']): void;
  /** Ends streams, lets other requests finish for a while, and closes. */
  close(graceMs: number): Promise<void>;
}

/** How long a request may take to arrive, its head and its body; with what Node takes to notice, no more than ten seconds. */
const REQUEST_MS = 9_000;
const NOTICE_MS = 250;
const KEEP_ALIVE_MS = 65_000;
/** Key exchange without ML-KEM, whose keys take 7 kB of every open connection: tokens that pass here expire long before it matters. */
const TLS = { minVersion: 'TLSv1.2', ecdhCurve: 'X25519:prime256v1:secp384r1' } as const;
const MAX_HEADER_BYTES = 16_384;
/** Requests in progress are limited to fewer than the difference, so that a connection is always left for a refusal. */
const CONNECTIONS: ConnectionLimits = { waiting: 2_048, total: 16_384 };

/** Makes a server that does not listen yet. */
export async function createFacadeServer(options: ServerOptions): Promise<FacadeServer> {
  const underWay = new UnderWay(options.clock, options.answered);
  let server: Server | undefined;
  const app = fastify({
    serverFactory: (handler) => {
      server = serverOf(options, underWay, handler);
      return server;
    },
    routerOptions: { caseSensitive: true, ignoreTrailingSlash: false, ignoreDuplicateSlashes: false, maxParamLength: MAX_HEADER_BYTES },
    logger: false,
    exposeHeadRoutes: false,
    return503OnClosing: false,
    clientErrorHandler: (error, socket) => (underWay.isAnswering(socket) ? endSoon(socket) : refuseUnparsed(error, socket)),
    frameworkErrors: (_error, request, reply) => {
      const { preferences, requestId } = underWay.begin(request, reply);
      void answer(request, reply, errorAnswer(badRequest('the path cannot be decoded'), preferences, requestId));
    },
  });
  // Endpoints read bodies themselves, when their turn has come.
  for (const method of METHODS) app.addHttpMethod(method, { hasBody: false, overrideExisting: true });
  app.decorateRequest('exchange');
  app.addHook('onRequest', (request, reply, done) => {
    if (underWay.isEnding(request.raw.socket)) return void reply.hijack();
    underWay.begin(request, reply).checkTarget(request.params as Record<string, string>);
    if (underWay.isStopping) throw serviceUnavailable('Purser is stopping, please try again', 1);
    done();
  });
  await addRoutes(app, options);
  await app.ready();
  if (server === undefined) throw new Error('there is no server');
  return facadeServer(server, underWay, options);
}

function serverOf(options: ServerOptions, underWay: UnderWay, handler: Parameters<FastifyServerFactory>[0]): Server {
  const server = createServer(limits(options), handler);
  server.on('checkContinue', handler);
  server.on('checkExpectation', handler);
  server.on('connect', (_message, socket: Socket) => (underWay.isAnswering(socket) ? socket.destroy() : refuseConnect(socket)));
  new Connections({ ...CONNECTIONS, ...options.connections }).follow(server);
  return server;
}

function limits({ certificate, keepAliveMs = KEEP_ALIVE_MS }: ServerOptions) {
  return {
    ...certificate,
    ...TLS,
    ALPNCallback: selectProtocol,
    handshakeTimeout: REQUEST_MS,
    headersTimeout: REQUEST_MS,
    requestTimeout: REQUEST_MS,
    keepAliveTimeout: keepAliveMs,
    connectionsCheckingInterval: NOTICE_MS,
    maxHeaderSize: MAX_HEADER_BYTES,
    // Its refusal would be an empty one.
    requireHostHeader: false,
  } as const;
}

/**
 * Returns the protocol to speak; without one, Node rejects the connection. Node would copy a list of protocols into its buffer pool
 * for each connection, and the 8 kB around each copy would stay in memory with the connection.
 */
function selectProtocol({ protocols }: { readonly protocols: readonly string[] }): string | undefined {
  return protocols.find((protocol) => protocol === 'http/1.1');
}

function facadeServer(server: Server, underWay: UnderWay, { clock, report }: ServerOptions): FacadeServer {
  let listening: Listening | undefined;
  return {
    async listen(port, host) {
      listening = await listen(server, { port, host, clock, report: (error) => report(error) });
      return listening;
    },
    useCertificate: (certificate) => server.setSecureContext({ ...certificate, ...TLS }),
    async close(graceMs) {
      const closed = listening?.close(graceMs);
      underWay.stop();
      await closed;
    },
  };
}
