// What a handler answers with; the listener turns it into bytes on a socket.

export interface Reply {
  readonly status: number;
  readonly headers: Readonly<Record<string, string | readonly string[]>>;
  readonly body: string | Buffer | AsyncIterable<string>;
}

/** Whether the body comes piece by piece, for as long as the caller listens. */
export function isStream(body: Reply['body']): body is AsyncIterable<string> {
  return typeof body === 'object' && Symbol.asyncIterator in body;
}

/** Go's http.NotFound and its kin. */
export function plainText(status: number, text: string): Reply {
  return { status, headers: { 'content-type': 'text/plain; charset=utf-8', 'x-content-type-options': 'nosniff' }, body: text };
}
