// Sends one request to an API server unchanged: without normalization of the path, and only with the headers that HTTP requires.

import type { IncomingMessage, OutgoingHttpHeaders } from 'node:http';
import { type Agent, request as httpsRequest } from 'node:https';
import { addAbortSignal } from 'node:stream';
import { text } from 'node:stream/consumers';

export interface ApiRequest {
  /** Header values with one character per byte; a list for a repeated header. */
  readonly headers?: Readonly<Record<string, string | readonly string[]>>;
  readonly body?: string | Buffer;
  /** Length after which an endless response, such as a watch, is cut, in characters; undefined to read the complete response. */
  readonly maxLength?: number;
  /** Called when the head of the response has arrived. */
  readonly onHead?: () => void;
  /** Signal that cuts an endless response; the part that has arrived is returned. */
  readonly cut?: AbortSignal;
}

export interface ApiResponse {
  readonly status: number;
  /** Headers with lowercase names; several `warning` headers are joined with a comma. */
  readonly headers: Readonly<Record<string, string>>;
  readonly body: string;
}

/** URL of an API server, and the agent with its CA. */
export interface ApiAddress {
  readonly url: string;
  readonly agent: Agent;
}

/** Sends a request, and reads the response, completely unless `maxLength` or `cut` is set. */
export async function sendRequest(server: ApiAddress, method: string, path: string, request: ApiRequest = {}): Promise<ApiResponse> {
  const { hostname, port } = new URL(server.url);
  const { promise, resolve, reject } = Promise.withResolvers<IncomingMessage>();
  const length = request.body === undefined ? {} : { 'content-length': String(Buffer.byteLength(request.body)) };
  const headers = { ...request.headers, ...length } as OutgoingHttpHeaders;
  const outgoing = httpsRequest({ agent: server.agent, hostname, port, method, path, headers }, resolve);
  outgoing.on('error', reject);
  // Node would encode the headers as UTF-8 if the body were a string.
  outgoing.end(request.body === undefined ? undefined : Buffer.from(request.body));
  const incoming = await promise;
  request.onHead?.();
  const body = await readBody(incoming, request);
  return { status: incoming.statusCode ?? 0, headers: joinHeaders(incoming.headers), body };
}

function readBody(incoming: IncomingMessage, { maxLength, cut }: ApiRequest): Promise<string> {
  if (cut !== undefined) return readUntil(incoming, cut);
  return maxLength === undefined ? text(incoming) : readFirst(incoming, maxLength);
}

async function readUntil(incoming: IncomingMessage, cut: AbortSignal): Promise<string> {
  let body = '';
  try {
    for await (const chunk of addAbortSignal(cut, incoming.setEncoding('utf8'))) body += chunk as string;
  } catch (error) {
    if (!cut.aborted) throw error;
  }
  return body;
}

async function readFirst(incoming: IncomingMessage, maxLength: number): Promise<string> {
  let read = '';
  for await (const chunk of incoming.setEncoding('utf8')) {
    read += chunk as string;
    if (read.length >= maxLength) break;
  }
  return read;
}

function joinHeaders(headers: IncomingMessage['headers']): Record<string, string> {
  return Object.fromEntries(
    Object.entries(headers).map(([name, value]) => [name, Array.isArray(value) ? value.join(', ') : (value ?? '')]),
  );
}
