// The façade's HTTPS server for HTTP/1.1 and HTTP/2: its limits, responses to malformed requests, and graceful shutdown.

import { type IncomingMessage, type ServerResponse, STATUS_CODES } from 'node:http';
import { createServer, type Server } from 'node:https';
import type { Socket } from 'node:net';
import type { TLSSocket } from 'node:tls';
import { methodNotAllowed, type StatusError, statusError, unclassified } from '../kubernetes/status.ts';
import { encodeOrderedJson } from '../kubernetes/wire/ordered-json.ts';
import type { Clock } from '../std/clock.ts';
import { type ListeningServer, listen } from '../std/listening.ts';
import type { ServedRequest } from '../telemetry/metrics.ts';
import { ActiveRequests } from './active-requests.ts';
import { Http2Connections, MAX_HEADER_BYTES } from './http2.ts';
import { type ConnectionLimits, Connections } from './limits/connections.ts';
import { toAddressKey } from './limits/tenant.ts';
import { ServingTurns } from './limits/turns.ts';
import { Router, type RouterOptions } from './router.ts';

export interface ServerOptions extends RouterOptions {
  readonly clock: Clock;
  readonly certificate: { readonly cert: string; readonly key: string };
  /** Called for every request that reaches the router, once its response has been sent or its connection is closed. */
  readonly onResponse?: (response: ServedRequest) => void;
  readonly connections?: Partial<ConnectionLimits> | undefined;
  /** Idle timeout of a connection, in milliseconds; 65 s if undefined. */
  readonly keepAliveMs?: number | undefined;
  /** Maximum time for a TLS handshake, and for a request to arrive, head and body, in milliseconds; 9 s if undefined. */
  readonly arrivalMs?: number | undefined;
  /** False to serve only HTTP/1.1; true if undefined. */
  readonly isHttp2Served?: boolean | undefined;
}

export interface FacadeServer {
  /** Starts to listen. Rejects if the address or the port is not available. */
  listen(port: number, host: string | undefined): Promise<Pick<ListeningServer, 'port' | 'url'>>;
  /** Uses another certificate for new connections. Throws for a certificate that cannot be used. */
  useCertificate(certificate: ServerOptions['certificate']): void;
  /** Ends watches, still serves requests for a few seconds, lets requests in progress finish within the grace period, and closes. */
  close(graceMs: number): Promise<void>;
}

/** Default of `arrivalMs`, in milliseconds. The description of 408 in the OpenAPI document contains the same time. */
const ARRIVAL_MS = 9_000;
/** Interval at which Node checks whether requests have taken longer than `arrivalMs`, in milliseconds. */
const CHECKING_INTERVAL_MS = 250;
const KEEP_ALIVE_MS = 65_000;
/** TLS without ML-KEM, whose keys would use 7 kB per connection. ML-KEM protects long-lived secrets; tokens expire much earlier. */
const TLS = { minVersion: 'TLSv1.2', ecdhCurve: 'X25519:prime256v1:secp384r1' } as const;
/**
 * Limits on connections. The difference between the two limits exceeds the limit on requests in progress, so that additional requests are
 * rejected with a response.
 */
const CONNECTIONS: ConnectionLimits = { waiting: 2_048, total: 16_384 };
/** Time for a client to read the response to a malformed request or a CONNECT request, in milliseconds. */
const UNREAD_MS = 1_000;

/**
 * Maximum time for which a stopping server still serves requests, in milliseconds. A client may send a request on an idle connection just
 * as the server closes the connection, and would lose the request. An HTTP/1.1 response that begins during this time closes its connection.
 * HTTP/2 connections receive GOAWAY only afterwards: an additional, earlier GOAWAY made Node abort (assertion `!current_write_` in
 * TLSWrap).
 */
const DRAIN_MS = 3_000;

/** Creates a server that does not listen yet. */
export function createFacadeServer(options: ServerOptions): FacadeServer {
  const { clock, report, onResponse } = options;
  const active = new ActiveRequests(clock, onResponse);
  const { server, http2 } = createServers(options, active, new Router(options));
  let listening: ListeningServer | undefined;
  return {
    async listen(port, host) {
      listening = await listen(server, { port, host, clock, report: (error) => report(error) });
      return listening;
    },
    useCertificate: (certificate) => server.setSecureContext({ ...certificate, ...TLS }),
    async close(graceMs) {
      active.drain();
      const endAt = clock.monotonic() + graceMs;
      await listening?.whenUnused(Math.min(DRAIN_MS, graceMs));
      const closed = listening?.close(Math.max(0, endAt - clock.monotonic()));
      active.stop();
      http2.stop();
      await closed;
    },
  };
}

interface Servers {
  readonly server: Server;
  readonly http2: Http2Connections;
}

function createServers(options: ServerOptions, active: ActiveRequests, router: Router): Servers {
  const { clock, keepAliveMs = KEEP_ALIVE_MS, arrivalMs = ARRIVAL_MS } = options;
  const connections = new Connections({ ...CONNECTIONS, ...options.connections });
  const turns = new ServingTurns();
  const serve = (message: IncomingMessage, response: ServerResponse) => {
    // Node parses bytes after the last response of a connection as additional requests.
    if (!active.isEnding(message.socket)) router.serve(active.begin(message, response), active.isStopping);
  };
  // A client may send several requests without waiting for responses, and Node emits all of them at once.
  const inTurn = (socket: Socket, act: () => void) =>
    turns.start(toAddressKey(socket.remoteAddress), () => !active.isOver(socket) && act());
  const serveInTurn = (message: IncomingMessage, response: ServerResponse) => {
    const { socket } = message;
    active.recordArrival(message);
    if (connections.begin(socket, response)) inTurn(socket, () => serve(message, response));
  };
  const serveHttp2 = (message: IncomingMessage, response: ServerResponse) => {
    if (connections.begin(message.socket, response)) serve(message, response);
  };
  const http2 = new Http2Connections({ clock, keepAliveMs, arrivalMs, turns, serve: serveHttp2 });
  const hasRoom = (socket: Socket) => options.isHttp2Served !== false && http2.hasRoom(socket);
  const server = createServer({ ...toNodeOptions(options), ALPNCallback: createProtocolSelector(hasRoom) }, serveInTurn);
  server.on('checkContinue', serveInTurn);
  server.on('checkExpectation', serveInTurn);
  // `detach` marks a request as an upgrade, for which Node requires a listener.
  server.on('upgrade', () => {});
  // A rejection waits until the earlier requests on its connection have started.
  server.on('connect', (_message, socket: Socket) => {
    // Node has detached from the socket, and has removed its error listener.
    socket.on('error', () => {});
    inTurn(socket, () => rejectConnect(socket, active));
  });
  server.on('clientError', (error: NodeJS.ErrnoException, socket: Socket) => inTurn(socket, () => rejectMalformed(error, socket, active)));
  closeFailedHandshakes(server);
  connections.follow(server);
  divertHttp2(server, http2);
  return { server, http2 };
}

/**
 * Closes connections whose TLS handshake fails or takes too long. Node would report them as malformed requests, and the responses would
 * wait for the end of the handshake. If the client then completed the handshake and selected HTTP/2, Node would abort.
 */
function closeFailedHandshakes(server: Server): void {
  server.removeAllListeners('tlsClientError');
  server.on('tlsClientError', (_error, socket) => socket.destroy());
}

/** Passes connections that have selected HTTP/2 in their TLS handshake to `http2`. */
function divertHttp2(server: Server, http2: Http2Connections): void {
  const listeners = server.listeners('secureConnection');
  server.removeAllListeners('secureConnection');
  server.on('secureConnection', (socket: TLSSocket) => {
    if (socket.alpnProtocol === 'h2') http2.open(socket);
    else for (const listener of listeners) listener.call(server, socket);
  });
}

function toNodeOptions({ certificate, keepAliveMs = KEEP_ALIVE_MS, arrivalMs = ARRIVAL_MS }: ServerOptions) {
  return {
    ...certificate,
    ...TLS,
    handshakeTimeout: arrivalMs,
    headersTimeout: arrivalMs,
    requestTimeout: arrivalMs,
    keepAliveTimeout: keepAliveMs,
    connectionsCheckingInterval: CHECKING_INTERVAL_MS,
    maxHeaderSize: MAX_HEADER_BYTES,
    // Node would reject a request without a Host header with an empty body; the façade sends a Status.
    requireHostHeader: false,
    shouldUpgradeCallback: () => false,
  } as const;
}

/**
 * Returns a function that selects the protocol of a connection. Node rejects the connection if the function returns undefined. Given a list
 * of protocols instead, Node would copy it into its buffer pool for each connection, and the pool around each copy would stay in memory.
 */
function createProtocolSelector(hasHttp2Room: (socket: Socket) => boolean) {
  return function selectProtocol(this: TLSSocket, { protocols }: { readonly protocols: readonly string[] }): string | undefined {
    return PROTOCOLS.find((protocol) => protocols.includes(protocol) && (protocol !== 'h2' || hasHttp2Room(this)));
  };
}

/** Protocols in order of preference. */
const PROTOCOLS = ['h2', 'http/1.1'] as const;

/** Rejects bytes that are not an HTTP request, or a request whose headers are too large or that arrives too slowly. */
function rejectMalformed({ code = '' }: NodeJS.ErrnoException, socket: Socket, active: ActiveRequests): void {
  const end = (isCurrent: boolean) => endSoon(socket, isCurrent && !active.isResponding(socket) ? encodeReply(toRejection(code)) : '');
  if (code === 'ECONNRESET' || !socket.writable) socket.destroy();
  else if (!active.runAfterResponses(socket, (isCurrent) => socket.writable && end(isCurrent))) end(true);
}

function rejectConnect(socket: Socket, active: ActiveRequests): void {
  if (active.isResponding(socket)) socket.destroy();
  else endSoon(socket, encodeReply(methodNotAllowed(), 'allow: POST\r\n'));
}

/** Sends `text`, and ends the connection. Node has detached from the socket, so timeouts are handled here. */
function endSoon(socket: Socket, text: string): void {
  socket.on('error', () => {});
  socket.setTimeout(UNREAD_MS, () => socket.destroy());
  socket.end(text, () => socket.destroy());
}

function toRejection(code: string): StatusError {
  if (code === 'ERR_HTTP_REQUEST_TIMEOUT') return unclassified('the request did not arrive in time', 408);
  if (code === 'HPE_HEADER_OVERFLOW') return unclassified('the request headers are larger than 16 KiB', 431);
  return statusError('BadRequest', 'the request is malformed');
}

function encodeReply({ code, status }: StatusError, more = ''): string {
  const body = `${encodeOrderedJson(status)}\n`;
  return `HTTP/1.1 ${code} ${STATUS_CODES[code]}\r\ncontent-type: application/json\r\ncache-control: no-cache, private\r\ncontent-length: ${Buffer.byteLength(body)}\r\n${more}connection: close\r\n\r\n${body}`;
}
