// HTTP part of a fault proxy: terminates TLS with its own certificate, forwards requests, and applies the rules to requests and
// responses.

import { once } from 'node:events';
import type { IncomingMessage, ServerResponse } from 'node:http';
import { Agent, createServer, request as httpsRequest, type Server } from 'node:https';
import type { AddressInfo } from 'node:net';
import { buffer } from 'node:stream/consumers';
import type { Certificate } from '../../../src/std/x509/certificates.ts';
import { digestOf } from '../digest.ts';
import { type Action, isWatch, type ProxiedRequest, type Rules } from './rules.ts';

/** Completed request. */
export interface Relayed extends ProxiedRequest {
  /** Status of the response to the client; 0 without a response. */
  readonly status: number;
  /** True if the request reached the API server. */
  readonly forwarded: boolean;
  readonly fault?: Action['type'];
  /** Digest of the bearer token; absent without one. */
  readonly bearer?: string;
  readonly tookMs: number;
}

export interface RelayOptions {
  readonly name: string;
  /** API server behind the proxy. */
  readonly upstream: { readonly port: number; readonly ca: () => string };
  readonly certificate: Certificate;
  readonly rules: Rules;
  readonly onRelayed: (relayed: Relayed) => void;
  /** Called with the bearer token of each request. */
  readonly onBearer: (token: string) => void;
}

/** HTTPS server that relays requests. */
export class HttpRelay {
  readonly port: number;
  readonly #server: Server;
  #agent: Agent;

  private constructor(server: Server, agent: Agent) {
    this.#server = server;
    this.#agent = agent;
    this.port = (server.address() as AddressInfo).port;
  }

  static async listen(options: RelayOptions): Promise<HttpRelay> {
    const { certificate, key } = options.certificate;
    const server = createServer({ cert: certificate, key, keepAliveTimeout: 120_000 }).listen(0, '127.0.0.1');
    await once(server, 'listening');
    const relay = new HttpRelay(server, createAgent(options));
    server.on('request', (incoming, outgoing) => void relay.#relay(options, incoming, outgoing));
    server.on('tlsClientError', () => {});
    return relay;
  }

  /** Presents another certificate to new clients, and closes all connections. */
  setCertificate({ certificate, key }: Certificate): void {
    this.#server.setSecureContext({ cert: certificate, key });
    this.#server.closeAllConnections();
  }

  /** Drops connections to an API server that was restarted, and trusts its current CA. */
  reconnect(options: RelayOptions): void {
    this.#agent.destroy();
    this.#agent = createAgent(options);
  }

  async close(): Promise<void> {
    this.#server.closeAllConnections();
    this.#server.close();
    this.#agent.destroy();
  }

  async #relay(options: RelayOptions, incoming: IncomingMessage, outgoing: ServerResponse): Promise<void> {
    const proxied: ProxiedRequest = { server: options.name, method: incoming.method ?? '', path: incoming.url ?? '' };
    const action = options.rules.takeAction(proxied);
    const bearer = reportBearer(options, incoming);
    const startedAt = performance.now();
    const report = (status: number, forwarded: boolean) =>
      options.onRelayed({
        ...proxied,
        status,
        forwarded,
        ...(action !== undefined && { fault: action.type }),
        ...bearer,
        tookMs: Math.round(performance.now() - startedAt),
      });
    outgoing.on('error', () => {});
    try {
      if (await actBeforeForwarding(action, incoming, outgoing)) return report(action?.type === 'respond' ? action.status : 0, false);
      const response = await this.#forward(options, incoming, outgoing);
      if (isWatch(proxied)) report(response.statusCode ?? 0, true);
      await deliver(action, response, outgoing);
      if (!isWatch(proxied)) report(response.statusCode ?? 0, true);
    } catch {
      outgoing.destroy();
      if (!isWatch(proxied)) report(0, true);
    }
  }

  async #forward({ upstream }: RelayOptions, incoming: IncomingMessage, outgoing: ServerResponse): Promise<IncomingMessage> {
    // Rules alter responses, so they must not be compressed; the API server has a different host name than the proxy.
    const {
      method,
      url,
      headers: { 'accept-encoding': _, host: __, ...headers },
    } = incoming;
    const body = await buffer(incoming);
    const request = httpsRequest({ host: '127.0.0.1', port: upstream.port, agent: this.#agent, method, path: url, headers });
    outgoing.on('close', () => !outgoing.writableFinished && request.destroy());
    const responseEvent = once(request, 'response');
    request.end(body);
    const [response] = (await responseEvent) as [IncomingMessage];
    return response;
  }
}

/** Passes the bearer token of a request to `onBearer`, and returns its digest; empty without a token. */
function reportBearer({ onBearer }: RelayOptions, { headers }: IncomingMessage): Pick<Relayed, 'bearer'> {
  const token = /^Bearer (.+)$/i.exec(headers.authorization ?? '')?.[1];
  if (token === undefined) return {};
  onBearer(token);
  return { bearer: digestOf(token) };
}

function createAgent({ upstream }: RelayOptions): Agent {
  return new Agent({ keepAlive: true, ca: upstream.ca() });
}

/** Applies the part of an action that precedes forwarding. Returns true if the request must not be forwarded. */
async function actBeforeForwarding(action: Action | undefined, incoming: IncomingMessage, outgoing: ServerResponse): Promise<boolean> {
  if (action === undefined) return false;
  if (action.type === 'respond') {
    await buffer(incoming);
    outgoing
      .writeHead(action.status, { 'content-type': 'application/json', ...action.headers })
      .end(action.body ?? statusBody(action.status));
    return true;
  }
  if (action.type === 'delay') await new Promise((resolve) => setTimeout(resolve, action.ms));
  if (action.type === 'stop' && action.when === 'before') {
    await action.act();
    outgoing.destroy();
    return true;
  }
  if (action.type === 'drop') outgoing.destroy();
  return action.type === 'drop' || action.type === 'hold';
}

async function deliver(action: Action | undefined, response: IncomingMessage, outgoing: ServerResponse): Promise<void> {
  if (action?.type === 'lose') {
    await buffer(response);
    outgoing.destroy();
  } else if (action?.type === 'stop') {
    await buffer(response);
    await action.act();
    outgoing.destroy();
  } else if (action?.type === 'truncate') {
    const body = await buffer(response);
    outgoing.writeHead(response.statusCode ?? 500, { ...response.headers, 'content-length': body.length });
    outgoing.write(body.subarray(0, action.bytes), () => outgoing.destroy());
  } else if (action?.type === 'alter') {
    const body = await buffer(response);
    writeHead(response, outgoing).end(action.alter(body.toString()));
  } else {
    await stream(response, writeHead(response, outgoing), action);
  }
}

async function stream(response: IncomingMessage, outgoing: ServerResponse, action: Action | undefined): Promise<void> {
  const alter = action?.type === 'stream' ? action.alter : (chunk: Buffer) => [chunk];
  // A watch must be open before its first event.
  outgoing.flushHeaders();
  for await (const chunk of response) for (const piece of alter(chunk as Buffer)) outgoing.write(piece);
  outgoing.end();
}

/** Writes the status and headers of a response whose length may change. */
function writeHead({ statusCode = 500, headers }: IncomingMessage, outgoing: ServerResponse): ServerResponse {
  const kept = Object.entries(headers).filter(([name]) => name !== 'content-length' && name !== 'transfer-encoding');
  return outgoing.writeHead(statusCode, Object.fromEntries(kept));
}

/** Returns a Status object for an injected error. */
export function statusBody(code: number): string {
  const reason = REASONS[code] ?? 'InternalError';
  return JSON.stringify({ kind: 'Status', apiVersion: 'v1', metadata: {}, status: 'Failure', message: `fault ${code}`, reason, code });
}

const REASONS: Readonly<Record<number, string>> = {
  401: 'Unauthorized',
  403: 'Forbidden',
  409: 'Conflict',
  410: 'Expired',
  429: 'TooManyRequests',
  503: 'ServiceUnavailable',
  504: 'Timeout',
};
