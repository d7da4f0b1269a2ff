// A TLS connection for tests that write and read bytes.

import { connect, type TLSSocket } from 'node:tls';
import type { ApiResponse } from '../support/api-request.ts';

/** Address and CA of a façade. */
export interface RawAddress {
  readonly port: number;
  readonly ca: string;
  /** Source address; chosen by the kernel if undefined. */
  readonly localAddress?: string | undefined;
}

/** Bytes that a connection received. */
export type RawResponse = { readonly text: string; readonly isClosed: boolean };

export class RawConnection {
  readonly #socket: TLSSocket;
  /** Resolves when the connection is closed by either side. */
  readonly closed: Promise<void>;
  #text = '';
  #error: Error | undefined;

  private constructor(socket: TLSSocket) {
    this.#socket = socket;
    this.closed = new Promise((resolve) => socket.on('close', () => resolve()));
    socket.on('data', (chunk: Buffer) => (this.#text += chunk.toString('latin1')));
    socket.on('end', () => socket.end());
    socket.on('error', (error) => (this.#error = error));
  }

  /** Rejects if the connection fails before the TLS handshake ends. */
  static open({ port, ca, localAddress }: RawAddress): Promise<RawConnection> {
    const socket = connect({ port, host: '127.0.0.1', ca, ALPNProtocols: ['http/1.1'], ...(localAddress && { localAddress }) });
    const connection = new RawConnection(socket);
    return new Promise((resolve, reject) => {
      socket.on('secureConnect', () => resolve(connection));
      socket.on('error', reject);
    });
  }

  /** All bytes received so far, one character each. */
  get text(): string {
    return this.#text;
  }

  get isClosed(): boolean {
    return this.#socket.closed;
  }

  /** Writes bytes. Resolves with true when the bytes are sent, and with false if they cannot be sent. */
  write(bytes: string | Buffer): Promise<boolean> {
    return new Promise((resolve) => this.#socket.write(bytes, (error) => resolve(!error)));
  }

  /** Reads until the predicate holds or the connection is closed. Rejects if the connection fails before the first byte. */
  read(isEnough: (text: string) => boolean): Promise<RawResponse> {
    const { promise, resolve, reject } = Promise.withResolvers<RawResponse>();
    const check = () => isEnough(this.#text) && resolve({ text: this.#text, isClosed: false });
    this.#socket.on('data', check);
    const ended = () =>
      this.#error !== undefined && this.#text === '' ? reject(this.#error) : resolve({ text: this.#text, isClosed: true });
    void this.closed.then(ended);
    check();
    return promise.finally(() => this.#socket.off('data', check));
  }

  destroy(): void {
    this.#socket.destroy();
  }
}

/** Returns the status code of the first response; 0 without one. */
export function statusOf({ text }: Pick<RawResponse, 'text'>): number {
  return Number(/^HTTP\/1\.1 (\d+)/.exec(text)?.[1] ?? 0);
}

/** Returns the Status of the first response. */
export function failureOf({ text }: RawResponse): { readonly message?: string; readonly reason?: string; readonly code?: number } {
  return JSON.parse(text.slice(text.indexOf('\r\n\r\n') + 4)) as object;
}

/** Returns the parts of the first response. */
export function responseOf(response: RawResponse): ApiResponse {
  const [first] = responsesIn(response.text);
  if (first === undefined) throw new Error(`the connection was closed, after: ${response.text || 'none'}`);
  return first;
}

/** Returns all complete responses, in order. */
export function responsesIn(text: string): readonly ApiResponse[] {
  const responses: ApiResponse[] = [];
  for (let from = 0, next = completeResponse(text, from); next !== undefined; next = completeResponse(text, from)) {
    responses.push(next.response);
    from = next.end;
  }
  return responses;
}

/** Returns true if the first response is complete. */
export function isWhole(text: string): boolean {
  return completeResponse(text, 0) !== undefined;
}

function completeResponse(text: string, from: number): { readonly response: ApiResponse; readonly end: number } | undefined {
  const headEnd = text.indexOf('\r\n\r\n', from);
  if (headEnd < 0) return undefined;
  const [first = '', ...lines] = text.slice(from, headEnd).split('\r\n');
  const headers = headersOf(lines);
  const end = headEnd + 4 + Number(headers['content-length'] ?? Number.NaN);
  // Without a Content-Length, `end` is NaN and the response is never complete.
  if (!(text.length >= end)) return undefined;
  const body = Buffer.from(text.slice(headEnd + 4, end), 'latin1').toString('utf8');
  return { response: { status: statusOf({ text: first }), headers, body }, end };
}

/** Returns headers with lowercase names; repeated headers are joined with a comma. */
function headersOf(lines: readonly string[]): Readonly<Record<string, string>> {
  const headers: Record<string, string> = {};
  for (const line of lines) {
    const [, name = '', value = ''] = /^([^:]+): (.*)$/s.exec(line) ?? [];
    const key = name.toLowerCase();
    headers[key] = key in headers ? `${headers[key]}, ${value}` : value;
  }
  return headers;
}
