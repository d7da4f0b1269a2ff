// Our own place in the network.

import { createSocket } from 'node:dgram';
import { once } from 'node:events';
import { isIPv6 } from 'node:net';

/** The address of ours from which a server is reached; undefined when there is no way to it. Sends nothing. */
export async function ownAddressTowards(server: string): Promise<string | undefined> {
  const { hostname, port } = new URL(server);
  const host = hostname.replace(/^\[|\]$/g, '');
  const socket = createSocket(isIPv6(host) ? 'udp6' : 'udp4');
  try {
    // Connecting a datagram socket only asks the routing table.
    socket.connect(Number(port) || DEFAULT_PORT, host);
    await once(socket, 'connect');
    return socket.address().address;
  } catch {
    return undefined;
  } finally {
    socket.close();
  }
}

const DEFAULT_PORT = 443;
