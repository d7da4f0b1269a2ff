// Addresses that Purser may connect to, and the proxies that it uses. A registered Cluster must not make Purser connect to the machine
// that Purser runs on, to link-local addresses or to the metadata service of a cloud.

import { BlockList, isIP } from 'node:net';

export interface DialPolicyOptions {
  /** True to allow connections to loopback addresses, for clusters on the machine that Purser runs on. */
  readonly allowLoopback: boolean;
}

/**
 * Returns a function that reports whether Purser may connect to an IP address. Callers must apply it to every connection, after name
 * resolution.
 */
export function createDialPolicy({ allowLoopback }: DialPolicyOptions): (address: string) => boolean {
  return (address) => {
    // The zone names a network interface and does not affect the check.
    const [bare = ''] = address.split('%');
    const family = isIP(bare);
    if (family === 0) return false;
    const type = family === 4 ? 'ipv4' : 'ipv6';
    if (LOOPBACK.check(bare, type)) return allowLoopback;
    const tunneled = family === 6 ? findIsatapAddress(bare) : undefined;
    return !DENIED_BLOCKS.check(bare, type) && (tunneled === undefined || !(LOOPBACK.check(tunneled) || DENIED_BLOCKS.check(tunneled)));
  };
}

export interface ProxySettings {
  /** URL of the proxy; undefined for none. */
  readonly httpsProxy?: string | undefined;
  /** Comma-separated hosts to reach without the proxy: domains (with their subdomains), IP addresses and CIDR blocks, or `*` for all. */
  readonly noProxy?: string | undefined;
}

/** Returns the URL of the proxy for the server with this URL; undefined to connect directly. */
export type ProxyPolicy = (server: string) => string | undefined;

/** Returns a policy that interprets HTTPS_PROXY and NO_PROXY as Go programs do. Connections to loopback addresses never use a proxy. */
export function createProxyPolicy({ httpsProxy, noProxy = '' }: ProxySettings): ProxyPolicy {
  if (!httpsProxy) return () => undefined;
  const exceptions = noProxy
    .split(',')
    .map((entry) => entry.trim().toLowerCase())
    .filter((entry) => entry !== '')
    .map(parseException);
  return (server) => {
    const { hostname, port } = new URL(server);
    const host = { name: hostname.replace(/^\[|\]$/g, ''), port: port || HTTPS_PORT };
    return isThisMachine(host) || exceptions.some((matches) => matches(host)) ? undefined : httpsProxy;
  };
}

/** Returns the IPv4 address that an ISATAP address with any prefix contains; undefined if the address is not an ISATAP address. */
function findIsatapAddress(address: string): string | undefined {
  // The URL parser normalizes IPv6 addresses.
  const canonical = new URL(`http://[${address}]`).hostname.slice(1, -1);
  const [high, low] =
    ISATAP.exec(canonical)
      ?.slice(1)
      .map((group) => Number.parseInt(group, 16)) ?? [];
  return high === undefined || low === undefined ? undefined : [high >> 8, high & 255, low >> 8, low & 255].join('.');
}

const ISATAP = /:(?:0?:|200:)5efe:([\da-f]{1,4}):([\da-f]{1,4})$/;

const OWN_MACHINE = ['127.0.0.0/8', '::1/128'];
// IPv4 blocks also cover IPv4-mapped IPv6 addresses.
const LOOPBACK = createBlockList(OWN_MACHINE);

/** Unspecified addresses, which connect to this machine, and link-local, site-local, multicast, reserved and broadcast addresses. */
const SPECIAL_BLOCKS = ['0.0.0.0/8', '169.254.0.0/16', '224.0.0.0/4', '240.0.0.0/4', 'fe80::/10', 'fec0::/10', 'ff00::/8'];
/** IPv6 blocks that embed IPv4 addresses in forms that no cluster uses: IPv4-compatible, IPv4-translated, local-use NAT64, Teredo. */
const EMBEDDED_BLOCKS = ['::/96', '::ffff:0:0:0/96', '64:ff9b:1::/48', '2001::/32'];
/** Addresses of metadata services outside link-local blocks: Alibaba, Azure, Oracle; on IPv6 AWS, Google and Scaleway. */
export const METADATA_BLOCKS = [
  '100.100.100.200/32',
  '168.63.129.16/32',
  '192.0.0.192/32',
  'fd00:ec2::/32',
  'fd20:ce::254/128',
  'fd00:42::42/128',
];

const DENIED_BLOCKS = createBlockList([
  ...SPECIAL_BLOCKS,
  ...EMBEDDED_BLOCKS,
  ...METADATA_BLOCKS,
  ...[...OWN_MACHINE, ...SPECIAL_BLOCKS, ...METADATA_BLOCKS].flatMap(toTunnelBlocks),
]);

/** Returns the IPv6 blocks that reach an IPv4 block through a gateway (NAT64) or a tunnel (6to4); none for an IPv6 block. */
function toTunnelBlocks(block: string): readonly string[] {
  const [address = '', prefix] = block.split('/');
  if (isIP(address) !== 4) return [];
  const halves = Buffer.from(address.split('.').map(Number)).toString('hex').replace(/^.{4}/, '$&:');
  return [`64:ff9b::${halves}/${96 + Number(prefix)}`, `2002:${halves}::/${16 + Number(prefix)}`];
}

function createBlockList(blocks: readonly string[]): BlockList {
  const list = new BlockList();
  for (const block of blocks) {
    const [address = '', prefix] = block.split('/');
    list.addSubnet(address, Number(prefix), typeOf(address));
  }
  return list;
}

interface Host {
  readonly name: string;
  readonly port: string;
}

type Exception = (host: Host) => boolean;

const HTTPS_PORT = '443';

function isThisMachine({ name }: Host): boolean {
  return name === 'localhost' || name.endsWith('.localhost') || (isIP(name) !== 0 && LOOPBACK.check(name, typeOf(name)));
}

function parseException(entry: string): Exception {
  if (entry === '*') return () => true;
  const [network = '', bits] = entry.split('/');
  if (bits !== undefined) return parseBlockException(network, bits);
  const [, bracketed, plain, exceptionPort] = /^(?:\[(.*)\]|([^:]*|[^:]*:[^:]*:.*))(?::(\d+))?$/.exec(entry) ?? [];
  const exception = (bracketed ?? plain ?? entry).replace(/^\*(?=\.)/, '');
  const isNamed: Exception = exception.startsWith('.')
    ? ({ name }) => name.endsWith(exception)
    : ({ name }) => name === exception || (isIP(exception) === 0 && name.endsWith(`.${exception}`));
  return (host) => isNamed(host) && (exceptionPort === undefined || exceptionPort === host.port);
}

/** Returns the exception for a CIDR block; an invalid block matches no host. */
function parseBlockException(network: string, bits: string): Exception {
  const prefix = Number(bits);
  if (isIP(network) === 0 || !/^\d{1,3}$/.test(bits) || prefix > (isIP(network) === 4 ? 32 : 128)) return () => false;
  const block = new BlockList();
  block.addSubnet(network, prefix, typeOf(network));
  return ({ name }) => isIP(name) !== 0 && block.check(name, typeOf(name));
}

function typeOf(address: string): 'ipv4' | 'ipv6' {
  return isIP(address) === 4 ? 'ipv4' : 'ipv6';
}
