// One request to an API server, sent as it is: no path is normalised, and no header is added but those HTTP requires.

import type { IncomingMessage } from 'node:http';
import { type Agent, request as httpsRequest } from 'node:https';
import { text } from 'node:stream/consumers';

export interface ApiRequest {
  readonly headers?: Readonly<Record<string, string>>;
  readonly body?: string | Buffer;
  /** Ends an answer without end, such as a watch, once it is this long. */
  readonly enough?: number;
}

export interface ApiAnswer {
  readonly status: number;
  /** Names in lower case; several `warning` headers are joined with a comma. */
  readonly headers: Readonly<Record<string, string>>;
  readonly body: string;
}

/** Where an API server listens and how to reach it. */
export interface ApiAddress {
  readonly url: string;
  readonly agent: Agent;
}

/** Sends a request and reads the whole answer. */
export async function sendRequest(server: ApiAddress, method: string, path: string, request: ApiRequest = {}): Promise<ApiAnswer> {
  const { hostname, port } = new URL(server.url);
  const { promise, resolve, reject } = Promise.withResolvers<IncomingMessage>();
  const length = request.body === undefined ? {} : { 'content-length': String(Buffer.byteLength(request.body)) };
  const outgoing = httpsRequest({ agent: server.agent, hostname, port, method, path, headers: { ...request.headers, ...length } }, resolve);
  outgoing.on('error', reject);
  outgoing.end(request.body);
  const incoming = await promise;
  const body = await (request.enough === undefined ? text(incoming) : firstOf(incoming, request.enough));
  return { status: incoming.statusCode ?? 0, headers: joined(incoming.headers), body };
}

async function firstOf(incoming: IncomingMessage, enough: number): Promise<string> {
  let read = '';
  for await (const chunk of incoming.setEncoding('utf8')) {
    read += chunk as string;
    if (read.length >= enough) break;
  }
  return read;
}

function joined(headers: IncomingMessage['headers']): Record<string, string> {
  return Object.fromEntries(
    Object.entries(headers).map(([name, value]) => [name, Array.isArray(value) ? value.join(', ') : (value ?? '')]),
  );
}
