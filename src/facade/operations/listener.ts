// The listener for /metrics, /livez and /readyz, on a different port than the façade.

import { createServer, type IncomingMessage, type Server, type ServerResponse } from 'node:http';
import { createServer as createSecureServer } from 'node:https';
import { isIP } from 'node:net';
import { Readable } from 'node:stream';
import { pipeline } from 'node:stream/promises';
import { createGzip } from 'node:zlib';
import { createPlainTextReply, type Reply } from '../../kubernetes/reply.ts';
import { internalError, StatusError, serviceUnavailable } from '../../kubernetes/status.ts';
import { acceptsGzip } from '../../kubernetes/wire/accept-gzip.ts';
import { encodeOrderedJson } from '../../kubernetes/wire/ordered-json.ts';
import type { Clock } from '../../std/clock.ts';
import { type ListeningServer, listen } from '../../std/listening.ts';
import type { Logger } from '../../telemetry/logger.ts';
import type { Metrics } from '../../telemetry/metrics.ts';
import { type CertificateSource, followCertificate, type ServingCertificate } from '../certificate.ts';
import { Connections } from '../limits/connections.ts';
import { toAddressKey } from '../limits/tenant.ts';
import { UnreadResponses } from '../limits/unread-responses.ts';
import { createHealthReply, type HealthChecks } from './health.ts';

export interface OperationsOptions {
  /** Address to listen on; all addresses by default. */
  readonly host?: string | undefined;
  /** Port; 0 for any free port. */
  readonly port: number;
  readonly health: HealthChecks;
  readonly metrics: Pick<Metrics, 'text'>;
  /** Throws a StatusError to reject a request for metrics. If undefined, any client may read metrics. */
  readonly admit?: ((request: IncomingMessage, signal: AbortSignal) => Promise<void>) | undefined;
  readonly log: Logger;
  readonly clock: Clock;
  /** Serving certificate; plain HTTP if undefined. */
  readonly certificate?: CertificateSource | undefined;
}

/** A running listener. */
export interface Operations extends Pick<ListeningServer, 'url'> {
  close(): Promise<void>;
}

/** Starts to listen. Rejects if the address or the port is not available, or the certificate cannot be read or used. */
export async function listenForOperations(options: OperationsOptions): Promise<Operations> {
  const { log } = options;
  const connections = new Connections(CONNECTIONS);
  const { server, stopFollowing } = await createOperationsServer(options, connections);
  connections.follow(server);
  const report = (error: Error) => log.error({ error }, 'cannot accept a connection on the metrics port');
  const listening = await listen(server, { ...options, report });
  return {
    url: listening.url,
    // No grace period: Prometheus repeats an interrupted scrape.
    close() {
      stopFollowing();
      return listening.close(0);
    },
  };
}

/** Timeouts of Node's server, in milliseconds. */
const TIMEOUTS = { headersTimeout: 10_000, requestTimeout: 15_000, keepAliveTimeout: 65_000 };
/** Limits on connections. Probes and scrapes need only a few connections. */
const CONNECTIONS = { waiting: 128, total: 512 };
/** Limits on unread responses, in bytes. Each response counts as at least 4 KiB, so unread responses occupy at most 256 connections. */
const UNREAD = { perAddress: 512 << 10, total: 1 << 20 };
/** Maximum time for one response, in milliseconds; the default scrape timeout of Prometheus. */
const RESPONSE_MS = 10_000;
/** Maximum number of requests for metrics in progress, including those that are being authorized. */
const MAX_METRICS_REQUESTS = 64;
const METRICS_TYPE = 'text/plain; version=0.0.4; charset=utf-8';
const WRONG_HOST = 'The Host header does not name the loopback interface. Use localhost or 127.0.0.1 in the URL.\n';
const NOT_FOUND = createPlainTextReply(404, '404 page not found\n');
/** Maximum number of scrapes in progress; additional ones are rejected with 503. */
const MAX_SCRAPES = 4;
const TOO_MANY_SCRAPES = 'too many scrapes in progress, please try again';

async function createOperationsServer(
  options: OperationsOptions,
  connections: Connections,
): Promise<{ readonly server: Server; readonly stopFollowing: () => void }> {
  const { certificate, clock, log } = options;
  const requests = new Requests(options);
  const listener = (request: IncomingMessage, response: ServerResponse) => {
    if (connections.begin(request.socket, response)) void requests.serve(request, response);
  };
  if (certificate === undefined) return { server: createServer(TIMEOUTS, listener), stopFollowing: () => {} };
  const first = await certificate();
  const server = createSecureServer({ ...TIMEOUTS, ...TLS, ...first }, listener);
  const useCertificate = (next: ServingCertificate) => server.setSecureContext({ ...TLS, ...next });
  return { server, stopFollowing: followCertificate({ certificate, clock, log }, first, { useCertificate }) };
}

const TLS = { minVersion: 'TLSv1.2', handshakeTimeout: 10_000 } as const;

class Requests {
  readonly #options: OperationsOptions;
  readonly #unread = new UnreadResponses(UNREAD);
  #scrapes = 0;
  #metricsRequests = 0;

  constructor(options: OperationsOptions) {
    this.#options = options;
  }

  async serve(request: IncomingMessage, response: ServerResponse): Promise<void> {
    response.once(
      'close',
      this.#options.clock.wakeAfter(RESPONSE_MS, () => response.destroy()),
    );
    try {
      const [path = '', query = ''] = (request.url ?? '').split('?', 2);
      if (isLoopback(this.#options.host) && !isLoopbackHost(request.headers.host))
        this.#send(request, response, createPlainTextReply(421, WRONG_HOST));
      else if (request.method !== 'GET' && request.method !== 'HEAD')
        this.#send(request, response, { ...createPlainTextReply(405, ''), headers: { allow: 'GET, HEAD' } });
      else if (path === '/metrics') await this.#scrape(request, response);
      else this.#send(request, response, createHealthReply(this.#options.health, path, new URLSearchParams(query)) ?? NOT_FOUND);
    } catch (error) {
      this.#fail(error, request, response);
    }
  }

  async #scrape(request: IncomingMessage, response: ServerResponse): Promise<void> {
    const { admit, metrics } = this.#options;
    const disconnected = new AbortController();
    if (this.#metricsRequests >= MAX_METRICS_REQUESTS) throw serviceUnavailable(TOO_MANY_SCRAPES, 1);
    this.#metricsRequests += 1;
    response.once('close', () => {
      this.#metricsRequests -= 1;
      disconnected.abort();
    });
    await admit?.(request, disconnected.signal);
    if (this.#scrapes >= MAX_SCRAPES) throw serviceUnavailable(TOO_MANY_SCRAPES, 1);
    this.#scrapes += 1;
    try {
      const isZipped = acceptsGzip(request.headersDistinct['accept-encoding']?.join());
      response.writeHead(200, { 'content-type': METRICS_TYPE, vary: 'Accept-Encoding', ...(isZipped && { 'content-encoding': 'gzip' }) });
      if (request.method === 'HEAD') response.end();
      else await pipeline([Readable.from(metrics.text()), ...(isZipped ? [createGzip({ level: 1 })] : []), response]);
    } finally {
      this.#scrapes -= 1;
    }
  }

  #fail(error: unknown, request: IncomingMessage, response: ServerResponse): void {
    if (response.destroyed) return;
    if (response.headersSent) response.destroy();
    else if (error instanceof StatusError) this.#send(request, response, createErrorReply(error));
    else {
      this.#options.log.error({ error }, 'request to the metrics port failed');
      this.#send(request, response, createErrorReply(internalError("the request could not be completed; Purser's log contains the cause")));
    }
  }

  #send(message: IncomingMessage, response: ServerResponse, { status, headers, body }: Reply): void {
    response.writeHead(status, { 'cache-control': 'no-cache, private', ...(headers as Record<string, string>) });
    response.end(body as string);
    this.#unread.add({ address: toAddressKey(message.socket.remoteAddress), message, response }, (body as string).length);
  }
}

function createErrorReply(error: StatusError): Reply {
  const { code, retryAfterSeconds = 0 } = error;
  return {
    status: code,
    headers: {
      'content-type': 'application/json',
      ...(code === 401 && { 'www-authenticate': 'Bearer' }),
      ...(retryAfterSeconds > 0 && { 'retry-after': String(retryAfterSeconds) }),
    },
    body: `${encodeOrderedJson(error.status)}\n`,
  };
}

/** Returns true for an address that only this machine can reach; false if the address is undefined. */
function isLoopback(address = ''): boolean {
  return address === 'localhost' || address === '::1' || (isIP(address) === 4 && address.startsWith('127.'));
}

/**
 * Returns true if a Host header names this machine: localhost, 127.0.0.0/8 or [::1], with or without a port. A web page whose name
 * resolves to 127.0.0.1 must not read from a loopback listener.
 */
function isLoopbackHost(header: string | undefined): boolean {
  const [, bracketed, name] = /^(?:\[([^\]]*)\]|([^:]*))(?::\d+)?$/.exec(header ?? '') ?? [];
  return isLoopback(bracketed ?? name?.toLowerCase());
}
