// The attacker's API server: its own CA, plausible responses, and a record of every token that reaches it.

import { once } from 'node:events';
import type { IncomingMessage, ServerResponse } from 'node:http';
import { createServer, type Server } from 'node:https';
import type { AddressInfo } from 'node:net';
import { text } from 'node:stream/consumers';
import { setTimeout as delay } from 'node:timers/promises';
import { type Certificate, createAuthority, issueServerCertificate, LOOPBACK_NAMES } from '../../../src/std/x509/certificates.ts';
import { pick } from '../../support/random.ts';
import { findTokens } from './token-text.ts';

/** Request that reached the attacker. */
export interface Received {
  readonly at: number;
  readonly method: string;
  readonly path: string;
  /** Tokens in headers and body; they stay in memory. */
  readonly tokens: readonly string[];
}

const MAX_BODY = 1_000_000;
const HOLD_MS = 20_000;
/** Paths of requests that hold a slot of the controller. */
const DELAYED = /\/(secrets|serviceaccounts)(\/|$)/;

export interface HostileOptions {
  readonly random: () => number;
  /** Delay of each response about tokens and Secrets, in milliseconds; 0 by default. */
  readonly delayMs?: number;
}

/** HTTPS server on loopback. */
export class HostileServer {
  readonly received: Received[] = [];
  readonly #server: Server;
  readonly #authority: Certificate;
  readonly #random: () => number;
  readonly #delayMs: number;

  private constructor(server: Server, authority: Certificate, { random, delayMs = 0 }: HostileOptions) {
    this.#delayMs = delayMs;
    this.#server = server;
    this.#authority = authority;
    this.#random = random;
    server.on('request', (incoming, outgoing) => void this.#respond(incoming, outgoing).catch(() => outgoing.destroy()));
    server.on('tlsClientError', () => {});
  }

  static async listen(options: HostileOptions): Promise<HostileServer> {
    const authority = createAuthority(Date.now());
    const { certificate, key } = issueServerCertificate(authority, LOOPBACK_NAMES, Date.now());
    const server = createServer({ cert: certificate, key }).listen(0, '127.0.0.1');
    await once(server, 'listening');
    return new HostileServer(server, authority, options);
  }

  get url(): string {
    return `https://127.0.0.1:${(this.#server.address() as AddressInfo).port}`;
  }

  get ca(): string {
    return this.#authority.certificate;
  }

  close(): void {
    this.#server.closeAllConnections();
    this.#server.close();
  }

  async #respond(incoming: IncomingMessage, outgoing: ServerResponse): Promise<void> {
    const { method = '', url: path = '' } = incoming;
    const body = (await text(incoming)).slice(0, MAX_BODY);
    const { authorization = '' } = incoming.headers;
    const bearer = authorization.replace(/^Bearer\s+/i, '');
    const tokens = [...new Set([...(bearer === '' ? [] : [bearer]), ...findTokens(path), ...findTokens(body)])];
    this.received.push({ at: Date.now(), method, path: path.slice(0, 200), tokens });
    if (DELAYED.test(path)) await delay(this.#delayMs, undefined, { ref: false });
    const { status, content } = this.#drawResponse(method, path, tokens.at(-1) ?? '');
    if (status === 0) return void setTimeout(() => outgoing.destroy(), HOLD_MS).unref();
    outgoing.writeHead(status, { 'content-type': 'application/json' }).end(content);
  }

  /** Draws a response: usually that of Kubernetes, sometimes an invalid one; status 0 holds the request. */
  #drawResponse(method: string, path: string, token: string): { readonly status: number; readonly content: string } {
    if (this.#random() < 0.15) return pick(this.#random, [{ status: 0, content: '' }, ...ODD_RESPONSES]);
    if (path.startsWith('/readyz') || path.startsWith('/livez')) return { status: 200, content: 'ok' };
    if (path.startsWith('/version')) return json(200, { major: '1', minor: '34', gitVersion: 'v1.34.0' });
    if (path.includes('selfsubjectreviews'))
      return json(201, { kind: 'SelfSubjectReview', status: { userInfo: { username: this.#drawUsername() } } });
    if (path.includes('tokenreviews')) {
      return json(201, {
        kind: 'TokenReview',
        status: { authenticated: true, user: { username: this.#drawUsername() }, audiences: ['https://hub.test'] },
      });
    }
    if (path.includes('accessreviews')) return json(201, { status: { allowed: true } });
    if (method === 'POST' && path.endsWith('/token')) {
      const expirationTimestamp = new Date(Date.now() + 3_600_000).toISOString();
      return json(201, { kind: 'TokenRequest', status: { token: token || 'garbage', expirationTimestamp } });
    }
    return json(200, { kind: 'Secret', apiVersion: 'v1', metadata: { name: 'any', uid: 'any' } });
  }

  #drawUsername(): string {
    const names = ['system:serviceaccount:purser-system:purser', 'system:serviceaccount:elsewhere:unknown', 'admin', ''];
    return pick(this.#random, names);
  }
}

const ODD_RESPONSES = [
  { status: 200, content: '{' },
  { status: 302, content: '' },
  { status: 401, content: '{}' },
  { status: 500, content: 'x'.repeat(100_000) },
];

function json(status: number, body: object): { readonly status: number; readonly content: string } {
  return { status, content: JSON.stringify(body) };
}
