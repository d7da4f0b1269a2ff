// A TLS connection on which a test writes what it likes, byte for byte, and sees all that comes back.

import { connect, type TLSSocket } from 'node:tls';
import type { ApiAnswer } from '../support/api-request.ts';

/** Where a façade listens, and who vouches for its certificate. */
export interface RawAddress {
  readonly port: number;
  readonly ca: string;
  /** Source address; chosen by the kernel if undefined. */
  readonly localAddress?: string | undefined;
}

/** What a connection got to read until it was closed, or until that was enough. */
export type RawAnswer = { readonly text: string; readonly isClosed: boolean };

export class RawConnection {
  readonly #socket: TLSSocket;
  /** Resolves when the connection is at its end, whoever ended it. */
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

  /** Rejects when the connection is refused, or ended before TLS has begun. */
  static open({ port, ca, localAddress }: RawAddress): Promise<RawConnection> {
    const socket = connect({ port, host: '127.0.0.1', ca, ALPNProtocols: ['http/1.1'], ...(localAddress && { localAddress }) });
    const connection = new RawConnection(socket);
    return new Promise((resolve, reject) => {
      socket.on('secureConnect', () => resolve(connection));
      socket.on('error', reject);
    });
  }

  /** All that came so far, a character for each byte. */
  get text(): string {
    return this.#text;
  }

  get isClosed(): boolean {
    return this.#socket.closed;
  }

  /** Writes bytes as they are; says when they are on their way, or that they cannot be sent any more. */
  write(bytes: string | Buffer): Promise<boolean> {
    return new Promise((resolve) => this.#socket.write(bytes, (error) => resolve(!error)));
  }

  /** Reads until that is enough or the connection is closed. Rejects when it breaks before the first byte. */
  read(isEnough: (text: string) => boolean): Promise<RawAnswer> {
    const { promise, resolve, reject } = Promise.withResolvers<RawAnswer>();
    const look = () => isEnough(this.#text) && resolve({ text: this.#text, isClosed: false });
    this.#socket.on('data', look);
    const ended = () =>
      this.#error !== undefined && this.#text === '' ? reject(this.#error) : resolve({ text: this.#text, isClosed: true });
    void this.closed.then(ended);
    look();
    return promise.finally(() => this.#socket.off('data', look));
  }

  destroy(): void {
    this.#socket.destroy();
  }
}

/** The status of an answer on the wire; 0 when there is none. */
export function statusOf({ text }: Pick<RawAnswer, 'text'>): number {
  return Number(/^HTTP\/1\.1 (\d+)/.exec(text)?.[1] ?? 0);
}

/** The Status of an answer on the wire. */
export function failureOf({ text }: RawAnswer): { readonly message?: string; readonly reason?: string; readonly code?: number } {
  return JSON.parse(text.slice(text.indexOf('\r\n\r\n') + 4)) as object;
}

/** The first answer on the wire, in parts. */
export function answerOf(answer: RawAnswer): ApiAnswer {
  const [first] = answersIn(answer.text);
  if (first === undefined) throw new Error(`the connection was closed, with this answer: ${answer.text || 'none'}`);
  return first;
}

/** The answers that are whole, in their order. */
export function answersIn(text: string): readonly ApiAnswer[] {
  const answers: ApiAnswer[] = [];
  for (let from = 0, next = wholeAnswer(text, from); next !== undefined; next = wholeAnswer(text, from)) {
    answers.push(next.answer);
    from = next.end;
  }
  return answers;
}

/** Whether there is an answer with all that its head announces. */
export function isWhole(text: string): boolean {
  return wholeAnswer(text, 0) !== undefined;
}

function wholeAnswer(text: string, from: number): { readonly answer: ApiAnswer; readonly end: number } | undefined {
  const headEnd = text.indexOf('\r\n\r\n', from);
  if (headEnd < 0) return undefined;
  const [first = '', ...lines] = text.slice(from, headEnd).split('\r\n');
  const headers = headersOf(lines);
  const end = headEnd + 4 + Number(headers['content-length'] ?? Number.NaN);
  // Not so either for an answer that does not tell its length.
  if (!(text.length >= end)) return undefined;
  const body = Buffer.from(text.slice(headEnd + 4, end), 'latin1').toString('utf8');
  return { answer: { status: statusOf({ text: first }), headers, body }, end };
}

/** Names in lower case; several headers of one name are joined with a comma. */
function headersOf(lines: readonly string[]): Readonly<Record<string, string>> {
  const headers: Record<string, string> = {};
  for (const line of lines) {
    const [, name = '', value = ''] = /^([^:]+): (.*)$/s.exec(line) ?? [];
    const key = name.toLowerCase();
    headers[key] = key in headers ? `${headers[key]}, ${value}` : value;
  }
  return headers;
}
