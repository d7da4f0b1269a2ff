// The limit on unread responses to requests that reach no endpoint of the façade: rejected requests, such as those without valid
// credentials, and requests for public documents. The metrics port has its own limits. If the unread responses to an address take too much
// memory, the connection with the oldest of them is closed; over HTTP/2, only the stream of that response. If all unread responses together
// take too much memory, this affects the address whose responses take the most.

import type { IncomingMessage, ServerResponse } from 'node:http';
import type { Socket } from 'node:net';
import { isHttp2 } from '../http2.ts';

/** Limits on the memory of unread responses, in bytes. */
export interface UnreadLimits {
  readonly perAddress: number;
  readonly total: number;
}

/** A request whose response has been passed to Node. */
export interface RespondedRequest {
  readonly address: string;
  readonly message: IncomingMessage;
  readonly response: ServerResponse;
}

/** Unread responses to one source address, the oldest first. */
interface Unread {
  readonly bytes: Map<RespondedRequest, number>;
  total: number;
}

/** Default limits. Clients that read have almost no unread bytes, because the kernel accepts a short response immediately. */
const LIMITS: UnreadLimits = { perAddress: 8 << 20, total: 32 << 20 };
/** Memory of the objects of an HTTP/1.1 request and its response, in bytes. */
const OVERHEAD_BYTES = 4 << 10;
/** Memory of the objects of an HTTP/2 request and its response, including the stream and the request body, in bytes. */
const STREAM_OVERHEAD_BYTES = 32 << 10;

export class UnreadResponses {
  readonly #limits: UnreadLimits;
  readonly #byAddress = new Map<string, Unread>();
  #total = 0;

  constructor(limits: Partial<UnreadLimits> = {}) {
    this.#limits = { ...LIMITS, ...limits };
  }

  /** Memory of all unread responses, in bytes. */
  get total(): number {
    return this.#total;
  }

  /** Counts a response until it is closed. `bodyBytes` is the length of its body. */
  add(responded: RespondedRequest, bodyBytes: number): void {
    const { address, message, response } = responded;
    if (message.socket.destroyed) return;
    const unread = this.#byAddress.get(address) ?? { bytes: new Map(), total: 0 };
    this.#byAddress.set(address, unread);
    const overhead = isHttp2(response) ? STREAM_OVERHEAD_BYTES : OVERHEAD_BYTES;
    const bytes = overhead + measureHead(message) + bodyBytes;
    unread.bytes.set(responded, bytes);
    unread.total += bytes;
    this.#total += bytes;
    response.once('close', () => this.#remove(responded));
    while (unread.total > this.#limits.perAddress) this.#closeOldest(unread);
    while (this.#total > this.#limits.total) this.#closeOldest(this.#findLargest());
  }

  #remove(responded: RespondedRequest): void {
    const { address } = responded;
    const unread = this.#byAddress.get(address);
    const bytes = unread?.bytes.get(responded);
    if (unread === undefined || bytes === undefined) return;
    unread.bytes.delete(responded);
    unread.total -= bytes;
    this.#total -= bytes;
    if (unread.bytes.size === 0) this.#byAddress.delete(address);
  }

  #findLargest(): Unread {
    return [...this.#byAddress.values()].reduce((most, each) => (each.total > most.total ? each : most));
  }

  /** Closes the connection or the HTTP/2 stream of the oldest response, and removes all responses on it. */
  #closeOldest({ bytes }: Unread): void {
    let socket: Socket | undefined;
    for (const responded of bytes.keys()) {
      socket ??= responded.message.socket;
      if (responded.message.socket === socket) this.#remove(responded);
    }
    socket?.destroy();
  }
}

/** Returns the length of the URL and the headers of a request. They stay in memory with the request, and the response may repeat them. */
function measureHead({ rawHeaders, url = '' }: IncomingMessage): number {
  return rawHeaders.reduce((sum, text) => sum + text.length, url.length);
}
