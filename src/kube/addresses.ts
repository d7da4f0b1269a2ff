// Names to addresses without the system's resolver as long as name servers are silent: it blocks a thread for each name,
// of which there are few, so that the names of some dead servers would hold up all others.

import { createSocket } from 'node:dgram';
import { type LookupAddress, lookup, promises } from 'node:dns';
import { once } from 'node:events';
import { readFile } from 'node:fs/promises';
import { isIP, isIPv6 } from 'node:net';
import { codeOf, TransportError } from './transport-error.ts';

export interface NameLookupOptions {
  /** Addresses of name servers; those of this machine by default. */
  readonly servers?: readonly string[];
  readonly hostsFile?: string;
}

/** Finds the addresses of a host. Throws a TransportError: ENOTFOUND if it has none, EAI_AGAIN if that is not known. */
export type NameLookup = (hostname: string) => Promise<readonly LookupAddress[]>;

/**
 * Looks into the hosts file, then asks the name servers. What they do not know at once is asked of the system, which may
 * know of search domains and other directories; what they are silent on is not.
 */
export function nameLookup({ servers, hostsFile = HOSTS_FILE }: NameLookupOptions = {}): NameLookup {
  return async (hostname) => {
    const listed = await hostsEntries(hostsFile, hostname);
    if (listed.length > 0) return listed;
    const { addresses, isSilent } = await askNameServers(hostname, servers);
    if (addresses.length > 0) return addresses;
    if (isSilent) throw new TransportError('EAI_AGAIN', `the name servers do not answer for ${hostname}`);
    return await askSystem(hostname);
  };
}

const HOSTS_FILE = '/etc/hosts';
/** Together with the second try, which waits twice as long, well below what a connection may take. */
const FIRST_TRY_MS = 800;

async function hostsEntries(file: string, hostname: string): Promise<readonly LookupAddress[]> {
  const text = await readFile(file, 'utf8').catch(() => '');
  const wanted = hostname.toLowerCase();
  return text.split('\n').flatMap((line) => {
    const [address = '', ...names] = line.replace(/#.*/, '').trim().split(/\s+/);
    const family = isIP(address);
    return family !== 0 && names.some((name) => name.toLowerCase() === wanted) ? [{ address, family }] : [];
  });
}

interface Answer {
  readonly addresses: readonly LookupAddress[];
  /** Whether some question got no answer at all. */
  readonly isSilent: boolean;
}

/** Every time with a resolver of its own, for which the machine's settings are read anew. */
async function askNameServers(hostname: string, servers: readonly string[] | undefined): Promise<Answer> {
  const known = servers ?? new promises.Resolver().getServers();
  const resolver = new promises.Resolver({ timeout: Math.floor(FIRST_TRY_MS / Math.max(known.length, 1)), tries: 2 });
  if (servers !== undefined) resolver.setServers(servers);
  const [four, six] = await Promise.allSettled([resolver.resolve4(hostname), resolver.resolve6(hostname)]);
  const addresses = [four, six].flatMap((result, index) =>
    result.status === 'fulfilled' ? result.value.map((address) => ({ address, family: index === 0 ? 4 : 6 })) : [],
  );
  return { addresses, isSilent: [four, six].some((result) => result.status === 'rejected' && codeOf(result.reason) === 'ETIMEOUT') };
}

function askSystem(hostname: string): Promise<readonly LookupAddress[]> {
  return new Promise((resolve, reject) => {
    lookup(hostname, { all: true }, (error, addresses) => {
      if (error === null && addresses.length > 0) return resolve(addresses);
      const code = error?.code === 'EAI_AGAIN' ? 'EAI_AGAIN' : 'ENOTFOUND';
      return reject(new TransportError(code, `${hostname} cannot be resolved`));
    });
  });
}

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
