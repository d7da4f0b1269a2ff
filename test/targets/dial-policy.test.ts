import { describe, expect, it } from '@jest/globals';
import { createDialPolicy } from '../../src/targets/dial-policy.ts';

const mayDial = createDialPolicy({ allowLoopback: false });
const mayDialLocally = createDialPolicy({ allowLoopback: true });

describe('createDialPolicy', () => {
  it.each([
    ['the metadata address of clouds', '169.254.169.254'],
    ['the metadata address of clouds, mapped to IPv6', '::ffff:169.254.169.254'],
    ['the metadata address of clouds, mapped to IPv6 in hexadecimal', '::ffff:a9fe:a9fe'],
    ['the metadata address of clouds, through NAT64', '64:ff9b::a9fe:a9fe'],
    ['the metadata address of clouds, through 6to4', '2002:a9fe:a9fe::1'],
    ['the metadata address of EC2 on IPv6', 'fd00:ec2::254'],
    ['the metadata address of Scaleway on IPv6', 'fd00:42::42'],
    ['the metadata address of Google on IPv6', 'fd20:ce::254'],
    ['the metadata address of another cloud', '100.100.100.200'],
    ['the metadata address of another cloud, through NAT64', '64:ff9b::6464:64c8'],
    ['the host of Azure', '168.63.129.16'],
    ['the host of Azure, through NAT64', '64:ff9b::168.63.129.16'],
    ['the host of Azure, through 6to4', '2002:a83f:8110::1'],
    ['the host of Azure, translated', '::ffff:0:168.63.129.16'],
    ['the metadata address of Oracle, through 6to4', '2002:c000:c0:1::1'],
    ['loopback through NAT64', '64:ff9b::7fff:1'],
    ['loopback through 6to4', '2002:7f00:1::'],
    ['the unspecified address through NAT64', '64:ff9b::'],
    ['broadcast through 6to4', '2002:ffff:ffff::'],
    ['the unspecified address', '0.0.0.0'],
    ['the unspecified address of IPv6', '::'],
    ['an address of the network 0.0.0.0/8', '0.1.2.3'],
    ['loopback as a deprecated IPv4-compatible address', '::127.0.0.1'],
    ['the metadata address of clouds, through local NAT64', '64:ff9b:1::a9fe:a9fe'],
    ['any address through local NAT64', '64:ff9b:1:2::a00:1'],
    ['Teredo', '2001:0:4136:e378:8000:63bf:5601:5601'],
    ['Teredo, shortened', '2001::1'],
    ['the metadata address of clouds, through ISATAP', '2001:db8::5efe:a9fe:a9fe'],
    ['the metadata address of clouds, through ISATAP under a prefix without zeros', '2001:db8:1:2:0:5efe:169.254.169.254'],
    ['the metadata address of clouds, through ISATAP with the bit of global addresses', '2001:db8:1:2:200:5efe:a9fe:a9fe'],
    ['loopback through ISATAP', 'fd12:3456::200:5efe:7f00:1'],
    ['an IPv4-compatible address', '::10.0.0.1'],
    ['link-local IPv6', 'fe80::1'],
    ['link-local IPv6 with a zone', 'fe80::1%eth0'],
    ['multicast', '224.0.0.1'],
    ['multicast IPv6', 'ff02::1'],
    ['broadcast', '255.255.255.255'],
    ['text that is not an address', 'localhost'],
    ['nothing', ''],
  ])('never allows %s', (_, address) => {
    expect([mayDial(address), mayDialLocally(address)]).toEqual([false, false]);
  });

  it.each(['127.0.0.1', '127.255.0.1', '::1', '::ffff:127.0.0.1', '0:0:0:0:0:0:0:1'])('allows %s only with allowLoopback', (address) => {
    expect([mayDial(address), mayDialLocally(address)]).toEqual([false, true]);
  });

  it.each([
    '10.0.0.1',
    '192.168.1.1',
    '172.16.0.1',
    '100.64.0.1',
    '203.0.113.7',
    '2001:db8::1',
    'fd12:3456::1',
    '64:ff9b::a00:1',
    '2002:a00:1::1',
    '2001:db8::5efe:a00:1',
    '2001:4860:4860::8888',
  ])('allows %s', (address) => {
    expect(mayDial(address)).toBe(true);
  });
});
