// Ports that are free right now. Another program may take one before we listen on it: callers try again with others.

import { once } from 'node:events';
import { type AddressInfo, createServer } from 'node:net';

/** As many different free ports of loopback as asked for. */
export async function freePorts(count: number): Promise<readonly number[]> {
  const servers = Array.from({ length: count }, () => createServer().listen(0, '127.0.0.1'));
  await Promise.all(servers.map((server) => once(server, 'listening')));
  const ports = servers.map((server) => (server.address() as AddressInfo).port);
  await Promise.all(servers.map((server) => once(server.close(), 'close')));
  return ports;
}
