// TCP proxy with an adjustable delay.

import { type AddressInfo, connect, createServer, type Socket } from 'node:net';

export interface SlowProxy {
  readonly port: number;
  /** Sets the delay of each chunk in each direction, in milliseconds. */
  delay(ms: number): void;
  close(): Promise<void>;
}

/** Starts a proxy to a loopback port, initially without a delay. */
export async function startSlowProxy(to: number): Promise<SlowProxy> {
  let delayMs = 0;
  const sockets = new Set<Socket>();
  const pipe = (from: Socket, into: Socket) => {
    sockets.add(from);
    // Each chunk waits for the previous one, so that bytes stay in order when the delay changes.
    let last = Promise.resolve();
    const later = (act: () => void) => {
      const waited = new Promise<void>((resolve) => setTimeout(resolve, delayMs));
      last = Promise.all([last, waited]).then(act);
    };
    from.on('data', (chunk) => later(() => into.writable && into.write(chunk)));
    from.on('close', () => later(() => into.destroy()));
    from.on('error', () => from.destroy());
  };
  const server = createServer((client) => {
    const upstream = connect(to, '127.0.0.1');
    pipe(client, upstream);
    pipe(upstream, client);
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  return {
    port: (server.address() as AddressInfo).port,
    delay: (ms) => {
      delayMs = ms;
    },
    close: () =>
      new Promise((resolve) => {
        server.close(() => resolve());
        for (const socket of sockets) socket.destroy();
      }),
  };
}
