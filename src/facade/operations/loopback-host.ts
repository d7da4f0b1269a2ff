// Host names of requests to a listener on loopback. A web page whose name resolves to 127.0.0.1 must not read from it.

import { isIP } from 'node:net';

/** Whether a listener at this address is reachable from this machine alone. */
export function isLoopback(address: string): boolean {
  return address === 'localhost' || address === '::1' || (isIP(address) === 4 && address.startsWith('127.'));
}

/** Whether a Host header names this machine: localhost, 127.0.0.0/8 or [::1], with or without a port. */
export function isLoopbackHost(header: string | undefined): boolean {
  const [, bracketed, name] = /^(?:\[([^\]]*)\]|([^:]*))(?::\d+)?$/.exec(header ?? '') ?? [];
  return isLoopback(bracketed ?? name?.toLowerCase() ?? '');
}
