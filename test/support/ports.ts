// Free ports that only a listener takes. The kernel gives outgoing connections, and listeners on port 0, a port from 32768 (Linux) or 49152
// up; a port from that range can be taken between two starts of a server, even by a client that tries to reach the server.

import { randomInt } from 'node:crypto';
import { once } from 'node:events';
import { createServer } from 'node:net';

const FIRST_PORT = 20_000;
const END_OF_PORTS = 32_768;

/** Returns different free ports of loopback. */
export async function freePorts(count: number): Promise<readonly number[]> {
  const ports = new Set<number>();
  while (ports.size < count) {
    const port = randomInt(FIRST_PORT, END_OF_PORTS);
    if (await isFree(port)) ports.add(port);
  }
  return [...ports];
}

async function isFree(port: number): Promise<boolean> {
  const server = createServer().listen(port, '127.0.0.1');
  try {
    await once(server, 'listening');
  } catch {
    return false;
  }
  await once(server.close(), 'close');
  return true;
}
