// Client of the façade: single requests, and watches that stay open.

import type { IncomingMessage } from 'node:http';
import { Agent, request as httpsRequest } from 'node:https';
import { text } from 'node:stream/consumers';
import { paths } from './api.ts';
import type { Bench } from './bench.ts';
import type { Purser } from './purser.ts';
import { DEPLOY, TEAM } from './seed.ts';

/** Optional parts of a request to the façade. */
export interface FacadeRequest {
  readonly body?: string | undefined;
  readonly headers?: Readonly<Record<string, string>>;
  /** Bearer token, instead of the caller's own. */
  readonly bearer?: string | undefined;
}

/** Requests a token for a service account on the hub. */
export async function requestHubToken(bench: Bench, namespace: string, account: string): Promise<string> {
  const { status } = await bench.hub.api.create(`${paths.serviceAccounts(namespace, account)}/token`, {
    spec: { expirationSeconds: 7_200 },
  });
  return status?.token ?? '';
}

/** Client of the façade with a bearer token that the hub accepts. */
export class FacadeClient {
  readonly #url: string;
  readonly #agent: Agent;
  readonly #headers: Readonly<Record<string, string>>;

  private constructor(url: string, ca: string, token: string) {
    this.#url = url;
    this.#agent = new Agent({ keepAlive: true, maxSockets: Infinity, ca });
    this.#headers = { authorization: `Bearer ${token}`, 'content-type': 'application/json' };
  }

  /** Returns a client of a process of Purser, by default as a service account that is allowed to issue tokens. */
  static async connect(bench: Bench, purser: Purser, namespace = TEAM, account = 'default'): Promise<FacadeClient> {
    const { facade } = await purser.waitForAddresses();
    return new FacadeClient(facade, bench.facadeAuthority, await requestHubToken(bench, namespace, account));
  }

  /** Sends any request; returns status 0 without a response. */
  async send(method: string, path: string, request: FacadeRequest = {}): Promise<{ readonly status: number; readonly body: string }> {
    const { bearer, headers = {} } = request;
    try {
      const authorization = bearer === undefined ? {} : { authorization: `Bearer ${bearer}` };
      const response = await this.#open(method, path, request.body, { ...headers, ...authorization });
      return { status: response.statusCode ?? 0, body: await text(response) };
    } catch {
      return { status: 0, body: '' };
    }
  }

  /** Lists clusters; returns the response status, or 0 without a response. */
  async list(): Promise<number> {
    return await this.#status('GET', '/auth/v1/clusters');
  }

  /** Requests a token for a service account; returns the response status, or 0 without a response. */
  async issue(cluster: string, account: string): Promise<number> {
    const body = JSON.stringify({ spec: { audiences: ['https://hub.test'], expirationSeconds: 600 } });
    return await this.#status('POST', `/orchestrator/${cluster}/api/v1/namespaces/${DEPLOY}/serviceaccounts/${account}/token`, body);
  }

  /** Opens a watch. `ended` resolves at its end, with false if the connection broke. */
  async watch(): Promise<{ readonly status: number; readonly ended: Promise<boolean>; readonly close: () => void }> {
    const response = await this.#open('GET', '/auth/v1/clusters?watch=true&allowWatchBookmarks=true');
    const ended = new Promise<boolean>((resolve) => {
      response.on('end', () => resolve(true)).on('error', () => resolve(false));
      response.resume();
    });
    return { status: response.statusCode ?? 0, ended, close: () => response.destroy() };
  }

  close(): void {
    this.#agent.destroy();
  }

  async #status(method: string, path: string, body?: string): Promise<number> {
    return (await this.send(method, path, { body })).status;
  }

  #open(method: string, path: string, body = '', more: Readonly<Record<string, string>> = {}): Promise<IncomingMessage> {
    const { promise, resolve, reject } = Promise.withResolvers<IncomingMessage>();
    const headers = { ...this.#headers, ...more, 'content-length': String(Buffer.byteLength(body)) };
    const { hostname, port } = new URL(this.#url);
    const outgoing = httpsRequest({ hostname, port, agent: this.#agent, method, path, headers, timeout: 40_000 }, resolve);
    outgoing.on('error', reject).on('timeout', () => outgoing.destroy(new Error('no response within 40 s')));
    outgoing.end(body);
    return promise;
  }
}
