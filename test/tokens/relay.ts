// A TCP relay that can hang: it accepts connections and sends nothing.

import { once } from 'node:events';
import { type AddressInfo, connect, createServer, type Socket } from 'node:net';

export interface Relay {
  readonly url: string;
  /** Closes all connections; later ones hang. */
  silence(): void;
  close(): void;
}

/** Passes bytes on to the server at `url`. */
export async function startRelay(url: string): Promise<Relay> {
  const sockets = new Set<Socket>();
  let isSilent = false;
  const server = createServer((socket) => {
    track(socket);
    if (isSilent) return;
    const upstream = track(connect(Number(new URL(url).port), '127.0.0.1'));
    socket.pipe(upstream).pipe(socket);
  }).listen(0, '127.0.0.1');
  await once(server, 'listening');

  function track(socket: Socket): Socket {
    sockets.add(socket);
    return socket.on('error', () => {}).on('close', () => sockets.delete(socket));
  }

  const cut = () => {
    for (const socket of sockets) socket.destroy();
  };
  return {
    url: `https://127.0.0.1:${(server.address() as AddressInfo).port}`,
    silence: () => {
      isSilent = true;
      cut();
    },
    close: () => {
      server.close();
      cut();
    },
  };
}
