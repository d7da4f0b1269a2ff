// Address lookups. The system's resolver blocks a thread of a small pool during each lookup, so a few lookups that hang would delay all
// others. Purser uses the system's resolver only for names that neither the hosts file nor the name servers know.

import { createSocket } from 'node:dgram';
import { type LookupAddress, lookup, promises } from 'node:dns';
import { once } from 'node:events';
import { readFile } from 'node:fs/promises';
import { isIP, isIPv6 } from 'node:net';
import { codeOf, TransportError } from './transport-error.ts';

export interface NameLookupOptions {
  /** Addresses of name servers; undefined for those of this machine. */
  readonly servers?: readonly string[];
  readonly hostsFile?: string;
}

/**
 * Returns the addresses of a host. Throws a TransportError if none was found: EAI_AGAIN if a query timed out or the system's resolver
 * reports a temporary failure, ENOTFOUND otherwise.
 */
export type NameLookup = (hostname: string) => Promise<readonly LookupAddress[]>;

/**
 * Creates a lookup that tries the hosts file, the name servers and the system's resolver in this order, until one of them returns
 * addresses. The system's resolver also uses search domains and other sources. If a query to the name servers timed out and no address was
 * found, the lookup throws EAI_AGAIN without trying the system's resolver.
 */
export function createNameLookup({ servers, hostsFile = HOSTS_FILE }: NameLookupOptions = {}): NameLookup {
  return async (hostname) => {
    const listed = await readHostsEntries(hostsFile, hostname);
    if (listed.length > 0) return listed;
    const { addresses, isSilent } = await queryNameServers(hostname, servers);
    if (addresses.length > 0) return addresses;
    if (isSilent) throw new TransportError('EAI_AGAIN', `the DNS servers did not respond to the query for ${hostname}`);
    return await querySystem(hostname);
  };
}

const HOSTS_FILE = '/etc/hosts';
/** Timeout of the first try, over all name servers, in milliseconds. Both tries take up to 2.4 s, well below the connect timeout. */
const FIRST_TRY_MS = 800;

async function readHostsEntries(file: string, hostname: string): Promise<readonly LookupAddress[]> {
  const text = await readFile(file, 'utf8').catch(() => '');
  const lowerCaseName = hostname.toLowerCase();
  return text.split('\n').flatMap((line) => {
    const [address = '', ...names] = line.replace(/#.*/, '').trim().split(/\s+/);
    const family = isIP(address);
    return family !== 0 && names.some((name) => name.toLowerCase() === lowerCaseName) ? [{ address, family }] : [];
  });
}

interface Lookup {
  readonly addresses: readonly LookupAddress[];
  /** True if a query timed out. */
  readonly isSilent: boolean;
}

/** Queries the name servers with a new resolver, which reads the current settings of the machine. */
async function queryNameServers(hostname: string, servers: readonly string[] | undefined): Promise<Lookup> {
  const known = servers ?? new promises.Resolver().getServers();
  const resolver = new promises.Resolver({ timeout: Math.floor(FIRST_TRY_MS / Math.max(known.length, 1)), tries: 2 });
  if (servers !== undefined) resolver.setServers(servers);
  const [four, six] = await Promise.allSettled([resolver.resolve4(hostname), resolver.resolve6(hostname)]);
  const addresses = [four, six].flatMap((result, index) =>
    result.status === 'fulfilled' ? result.value.map((address) => ({ address, family: index === 0 ? 4 : 6 })) : [],
  );
  return { addresses, isSilent: [four, six].some((result) => result.status === 'rejected' && codeOf(result.reason) === 'ETIMEOUT') };
}

function querySystem(hostname: string): Promise<readonly LookupAddress[]> {
  return new Promise((resolve, reject) => {
    lookup(hostname, { all: true }, (error, addresses) => {
      if (error === null && addresses.length > 0) return resolve(addresses);
      const code = error?.code === 'EAI_AGAIN' ? 'EAI_AGAIN' : 'ENOTFOUND';
      return reject(new TransportError(code, `cannot resolve ${hostname}`));
    });
  });
}

/**
 * Returns the local IP address on the route to a server; undefined if there is no route, or if the server's host name has no IPv4 address.
 * Sends nothing to the server.
 */
export async function findLocalAddress(server: string): Promise<string | undefined> {
  const { hostname, port } = new URL(server);
  const host = hostname.replace(/^\[|\]$/g, '');
  const socket = createSocket(isIPv6(host) ? 'udp6' : 'udp4');
  try {
    // Connecting a datagram socket only consults the routing table.
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
