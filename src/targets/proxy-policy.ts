// Which clusters are reached through a proxy: what HTTPS_PROXY and NO_PROXY say, as Go programs understand them.

import { BlockList, isIP } from 'node:net';

export interface ProxySettings {
  /** The URL of the proxy; without it, none is used. */
  readonly httpsProxy?: string | undefined;
  /** Hosts that are dialled directly: names, which hold for what is below them too, addresses and blocks, with commas between them. */
  readonly noProxy?: string | undefined;
}

/** The proxy for the server with this URL; undefined when it is dialled directly. */
export type ProxyPolicy = (server: string) => string | undefined;

/** Reads the settings once. This machine is never reached through a proxy, so that nobody gets at what is on the proxy's own. */
export function proxyPolicy({ httpsProxy, noProxy = '' }: ProxySettings): ProxyPolicy {
  if (!httpsProxy) return () => undefined;
  const exceptions = noProxy
    .split(',')
    .map((entry) => entry.trim().toLowerCase())
    .filter((entry) => entry !== '')
    .map(exceptionFor);
  return (server) => {
    const { hostname, port } = new URL(server);
    const host = { name: hostname.replace(/^\[|\]$/g, ''), port: port || HTTPS_PORT };
    return isThisMachine(host) || exceptions.some((holdsFor) => holdsFor(host)) ? undefined : httpsProxy;
  };
}

interface Host {
  readonly name: string;
  readonly port: string;
}

type Exception = (host: Host) => boolean;

const HTTPS_PORT = '443';
const LOOPBACK = new BlockList();
LOOPBACK.addSubnet('127.0.0.0', 8, 'ipv4');
LOOPBACK.addAddress('::1', 'ipv6');

function isThisMachine({ name }: Host): boolean {
  return name === 'localhost' || name.endsWith('.localhost') || (isIP(name) !== 0 && LOOPBACK.check(name, typeOf(name)));
}

function exceptionFor(entry: string): Exception {
  if (entry === '*') return () => true;
  const [network = '', bits] = entry.split('/');
  if (bits !== undefined) return blockException(network, bits);
  const [, bracketed, plain, wantedPort] = /^(?:\[(.*)\]|([^:]*|[^:]*:[^:]*:.*))(?::(\d+))?$/.exec(entry) ?? [];
  const wanted = (bracketed ?? plain ?? entry).replace(/^\*(?=\.)/, '');
  const isNamed: Exception = wanted.startsWith('.')
    ? ({ name }) => name.endsWith(wanted)
    : ({ name }) => name === wanted || (isIP(wanted) === 0 && name.endsWith(`.${wanted}`));
  return (host) => isNamed(host) && (wantedPort === undefined || wantedPort === host.port);
}

/** A block that is none holds for nobody. */
function blockException(network: string, bits: string): Exception {
  const prefix = Number(bits);
  if (isIP(network) === 0 || !/^\d{1,3}$/.test(bits) || prefix > (isIP(network) === 4 ? 32 : 128)) return () => false;
  const block = new BlockList();
  block.addSubnet(network, prefix, typeOf(network));
  return ({ name }) => isIP(name) !== 0 && block.check(name, typeOf(name));
}

function typeOf(address: string): 'ipv4' | 'ipv6' {
  return isIP(address) === 4 ? 'ipv4' : 'ipv6';
}
