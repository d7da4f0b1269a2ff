// The HTTP side of a fault proxy: ends TLS with a certificate of the bench's own, passes requests on, and does to them and
// to their answers what the rules say.

import { once } from 'node:events';
import type { IncomingMessage, ServerResponse } from 'node:http';
import { Agent, createServer, request as httpsRequest, type Server } from 'node:https';
import type { AddressInfo } from 'node:net';
import { buffer } from 'node:stream/consumers';
import type { Certificate } from '../../../src/std/x509/certificates.ts';
import { digestOf } from '../digest.ts';
import { type Action, isWatch, type Rules, type Seen } from './rules.ts';

/** A request that was dealt with. */
export interface Relayed extends Seen {
  /** Of the server's answer, or of ours in its place; 0 if there was none. */
  readonly status: number;
  /** Whether the server has seen it. */
  readonly forwarded: boolean;
  readonly fault?: Action['type'];
  /** Digest of the bearer token; absent without one. */
  readonly bearer?: string;
  readonly tookMs: number;
}

export interface RelayOptions {
  readonly name: string;
  /** The API server behind it. */
  readonly upstream: { readonly port: number; readonly ca: () => string };
  readonly certificate: Certificate;
  readonly rules: Rules;
  readonly onRelayed: (relayed: Relayed) => void;
}

/** Relays from a port of its own. */
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
    const relay = new HttpRelay(server, agentFor(options));
    server.on('request', (incoming, outgoing) => void relay.#relay(options, incoming, outgoing));
    server.on('tlsClientError', () => {});
    return relay;
  }

  /** Shows another certificate to whoever connects from now on, and ends what is open. */
  present({ certificate, key }: Certificate): void {
    this.#server.setSecureContext({ cert: certificate, key });
    this.#server.closeAllConnections();
  }

  /** Forgets connections to an API server that was restarted, and its certificate. */
  renew(options: RelayOptions): void {
    this.#agent.destroy();
    this.#agent = agentFor(options);
  }

  async close(): Promise<void> {
    this.#server.closeAllConnections();
    this.#server.close();
    this.#agent.destroy();
  }

  async #relay(options: RelayOptions, incoming: IncomingMessage, outgoing: ServerResponse): Promise<void> {
    const seen: Seen = { server: options.name, method: incoming.method ?? '', path: incoming.url ?? '' };
    const action = options.rules.actionFor(seen);
    const bearer = bearerOf(incoming);
    const startedAt = performance.now();
    const done = (status: number, forwarded: boolean) =>
      options.onRelayed({
        ...seen,
        status,
        forwarded,
        ...(action !== undefined && { fault: action.type }),
        ...bearer,
        tookMs: Math.round(performance.now() - startedAt),
      });
    outgoing.on('error', () => {});
    try {
      if (await stopsHere(action, incoming, outgoing)) return done(action?.type === 'answer' ? action.status : 0, false);
      const answer = await this.#forward(options, incoming, outgoing);
      if (isWatch(seen)) done(answer.statusCode ?? 0, true);
      await deliver(action, answer, outgoing);
      if (!isWatch(seen)) done(answer.statusCode ?? 0, true);
    } catch {
      outgoing.destroy();
      if (!isWatch(seen)) done(0, true);
    }
  }

  async #forward({ upstream }: RelayOptions, incoming: IncomingMessage, outgoing: ServerResponse): Promise<IncomingMessage> {
    // Answers are changed here, so they must come as they are; and the server has another name for us than for its clients.
    const {
      method,
      url,
      headers: { 'accept-encoding': _, host: __, ...headers },
    } = incoming;
    const body = await buffer(incoming);
    const request = httpsRequest({ host: '127.0.0.1', port: upstream.port, agent: this.#agent, method, path: url, headers });
    outgoing.on('close', () => !outgoing.writableFinished && request.destroy());
    const answered = once(request, 'response');
    request.end(body);
    const [answer] = (await answered) as [IncomingMessage];
    return answer;
  }
}

function bearerOf({ headers }: IncomingMessage): Pick<Relayed, 'bearer'> {
  const token = /^Bearer (.+)$/i.exec(headers.authorization ?? '')?.[1];
  return token === undefined ? {} : { bearer: digestOf(token) };
}

function agentFor({ upstream }: RelayOptions): Agent {
  return new Agent({ keepAlive: true, ca: upstream.ca() });
}

/** Does what comes before a request is passed on; tells whether it is not. */
async function stopsHere(action: Action | undefined, incoming: IncomingMessage, outgoing: ServerResponse): Promise<boolean> {
  if (action === undefined) return false;
  if (action.type === 'answer') {
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

async function deliver(action: Action | undefined, answer: IncomingMessage, outgoing: ServerResponse): Promise<void> {
  if (action?.type === 'lose') {
    await buffer(answer);
    outgoing.destroy();
  } else if (action?.type === 'stop') {
    await buffer(answer);
    await action.act();
    outgoing.destroy();
  } else if (action?.type === 'truncate') {
    const body = await buffer(answer);
    outgoing.writeHead(answer.statusCode ?? 500, { ...answer.headers, 'content-length': body.length });
    outgoing.write(body.subarray(0, action.bytes), () => outgoing.destroy());
  } else if (action?.type === 'alter') {
    const body = await buffer(answer);
    withoutLength(answer, outgoing).end(action.alter(body.toString()));
  } else {
    await stream(answer, withoutLength(answer, outgoing), action);
  }
}

async function stream(answer: IncomingMessage, outgoing: ServerResponse, action: Action | undefined): Promise<void> {
  const alter = action?.type === 'stream' ? action.alter : (chunk: Buffer) => [chunk];
  // A watch is open before anything happens.
  outgoing.flushHeaders();
  for await (const chunk of answer) for (const piece of alter(chunk as Buffer)) outgoing.write(piece);
  outgoing.end();
}

/** The head of an answer whose length may change on the way. */
function withoutLength({ statusCode = 500, headers }: IncomingMessage, outgoing: ServerResponse): ServerResponse {
  const kept = Object.entries(headers).filter(([name]) => name !== 'content-length' && name !== 'transfer-encoding');
  return outgoing.writeHead(statusCode, Object.fromEntries(kept));
}

/** The body of an error that nobody has thought about further. */
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
