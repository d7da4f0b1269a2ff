// Port forwarding to a pod through the API server: one WebSocket per connection, in the protocol v4.channel.k8s.io of the kubelet.

import { Duplex } from 'node:stream';
import type { WebSocket } from 'undici';
import { Pods } from '../api/resources.ts';
import { objectPath } from './paths.ts';
import type { Transport } from './transport.ts';
import { TransportError } from './transport-error.ts';

export interface PodPort {
  readonly namespace: string;
  readonly pod: string;
  readonly port: number;
}

/** Opens a connection to a port of a pod. Throws a TransportError if the API server is unreachable or rejects the port-forward. */
export async function forwardPort(transport: Transport, { namespace, pod, port }: PodPort): Promise<Duplex> {
  const path = objectPath(Pods, { namespace, name: pod }, 'portforward');
  const socket = await transport.openWebSocket(path, { ports: String(port) }, 'v4.channel.k8s.io');
  socket.binaryType = 'arraybuffer';
  // Listens before the handshake ends, because messages may follow it immediately.
  const stream = new PortStream(socket).on('error', () => {});
  await new Promise<void>((resolve, reject) => {
    socket.addEventListener('open', () => resolve(), { once: true });
    const fail = () => reject(new TransportError('ECONNREFUSED', `port-forward to pod ${namespace}/${pod} failed`));
    socket.addEventListener('error', fail, { once: true });
    socket.addEventListener('close', fail, { once: true });
  });
  return stream;
}

const DATA_CHANNEL = 0;
const ERROR_CHANNEL = 1;
/** Length of the port number that the first message of each channel contains, in bytes. */
const PORT_BYTES = 2;

/** The bytes of one forwarded connection. */
class PortStream extends Duplex {
  readonly #socket: WebSocket;
  /** Channels whose first message has arrived. */
  readonly #opened = new Set<number>();

  constructor(socket: WebSocket) {
    super();
    this.#socket = socket;
    socket.addEventListener('message', ({ data }) => this.#receive(Buffer.from(data as ArrayBuffer)));
    socket.addEventListener('close', () => this.push(null));
    socket.addEventListener('error', () => this.destroy(new TransportError('ECONNRESET', 'the forwarded connection failed')));
  }

  #receive(message: Buffer): void {
    const [channel = DATA_CHANNEL] = message;
    const payload = message.subarray(1);
    if (!this.#opened.has(channel)) {
      this.#opened.add(channel);
      if (payload.length === PORT_BYTES) return;
    }
    if (channel === DATA_CHANNEL) this.push(payload);
    else if (channel === ERROR_CHANNEL && payload.length > 0)
      this.destroy(new TransportError('ECONNREFUSED', `port-forward failed: ${payload.toString()}`));
  }

  override _read(): void {}

  override _write(chunk: Buffer, _encoding: BufferEncoding, done: () => void): void {
    this.#socket.send(Buffer.concat([Buffer.of(DATA_CHANNEL), chunk]));
    done();
  }

  override _final(done: () => void): void {
    this.#socket.close();
    done();
  }

  override _destroy(error: Error | null, done: (error: Error | null) => void): void {
    this.#socket.close();
    done(error);
  }
}
