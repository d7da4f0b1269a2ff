// Addresses that no cluster is at: whoever registers a cluster must not make us talk to this machine or its hypervisor.

import { BlockList, isIP } from 'node:net';

export interface DialPolicyOptions {
  /** For a run in which the clusters are on this machine. */
  readonly allowLoopback: boolean;
}

/** Tells of an IP address whether it may be dialled. To be asked after names are resolved, at every dial. */
export function dialPolicy({ allowLoopback }: DialPolicyOptions): (address: string) => boolean {
  return (address) => {
    // A zone says which link an address is on, not what kind it is.
    const [bare = ''] = address.split('%');
    const family = isIP(bare);
    if (family === 0) return false;
    const type = family === 4 ? 'ipv4' : 'ipv6';
    if (LOOPBACK.check(bare, type)) return allowLoopback;
    const tunneled = family === 6 ? isatapAddress(bare) : undefined;
    return !NEVER.check(bare, type) && (tunneled === undefined || !(LOOPBACK.check(tunneled) || NEVER.check(tunneled)));
  };
}

/** Returns the IPv4 address that an ISATAP address leads to, under whatever prefix; undefined for any other address. */
function isatapAddress(address: string): string | undefined {
  // A URL has one spelling for each address.
  const canonical = new URL(`http://[${address}]`).hostname.slice(1, -1);
  const [high, low] =
    ISATAP.exec(canonical)
      ?.slice(1)
      .map((group) => Number.parseInt(group, 16)) ?? [];
  return high === undefined || low === undefined ? undefined : [high >> 8, high & 255, low >> 8, low & 255].join('.');
}

const ISATAP = /:(?:0?:|200:)5efe:([\da-f]{1,4}):([\da-f]{1,4})$/;

const OWN_MACHINE = ['127.0.0.0/8', '::1/128'];
// IPv4 blocks also cover the IPv6 addresses that IPv4 ones are mapped to.
const LOOPBACK = blockList(OWN_MACHINE);

/** Unspecified, which leads to this machine; link-local; multicast; reserved and broadcast. */
const SPECIAL = ['0.0.0.0/8', '169.254.0.0/16', '224.0.0.0/4', '240.0.0.0/4', 'fe80::/10', 'fec0::/10', 'ff00::/8'];
/** IPv4 inside of IPv6 in forms that lead to no cluster: compatible and translated addresses, local NAT64, Teredo. */
const EMBEDDED = ['::/96', '::ffff:0:0:0/96', '64:ff9b:1::/48', '2001::/32'];
/** Metadata services of clouds outside of link-local blocks: Alibaba, Azure, Oracle; on IPv6 AWS, Google and Scaleway. */
export const METADATA = [
  '100.100.100.200/32',
  '168.63.129.16/32',
  '192.0.0.192/32',
  'fd00:ec2::/32',
  'fd20:ce::254/128',
  'fd00:42::42/128',
];

const NEVER = blockList([...SPECIAL, ...EMBEDDED, ...METADATA, ...[...OWN_MACHINE, ...SPECIAL, ...METADATA].flatMap(roundabout)]);

/** The IPv6 addresses that lead to a block of IPv4 through a gateway (NAT64) or a tunnel (6to4). */
function roundabout(block: string): readonly string[] {
  const [address = '', prefix] = block.split('/');
  if (isIP(address) !== 4) return [];
  const halves = Buffer.from(address.split('.').map(Number)).toString('hex').replace(/^.{4}/, '$&:');
  return [`64:ff9b::${halves}/${96 + Number(prefix)}`, `2002:${halves}::/${16 + Number(prefix)}`];
}

function blockList(blocks: readonly string[]): BlockList {
  const list = new BlockList();
  for (const block of blocks) {
    const [address = '', prefix] = block.split('/');
    list.addSubnet(address, Number(prefix), isIP(address) === 4 ? 'ipv4' : 'ipv6');
  }
  return list;
}
