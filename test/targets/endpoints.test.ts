import { describe, expect, it } from '@jest/globals';
import { orderServers } from '../../src/targets/endpoints.ts';

describe('orderServers', () => {
  const endpoint = (clientCIDR: string, serverAddress: string) => ({ clientCIDR, serverAddress });
  const endpoints = [
    endpoint('0.0.0.0/0', 'public'),
    endpoint('10.0.0.0/8', 'inside'),
    endpoint('10.1.0.0/16', 'near'),
    endpoint('10.1.0.0/16', 'near-2'),
    endpoint('::/0', 'public-6'),
    endpoint('2001:db8::/32', 'inside-6'),
  ];

  it.each([
    ['the longest matching clientCIDR first', '10.1.2.3', ['near', 'near-2', 'inside', 'public', 'public-6', 'inside-6']],
    ['a shorter clientCIDR if no longer one matches', '10.2.0.1', ['inside', 'public', 'near', 'near-2', 'public-6', 'inside-6']],
    ['by clientCIDR for an IPv4 address mapped to IPv6', '::ffff:10.2.0.1', ['inside', 'public', 'near', 'near-2', 'public-6', 'inside-6']],
    ['IPv6 blocks first for an IPv6 address', '2001:db8::5', ['inside-6', 'public-6', 'public', 'inside', 'near', 'near-2']],
    [
      "clientCIDRs of length 0 first if Purser's address is unknown",
      undefined,
      ['public', 'public-6', 'inside', 'near', 'near-2', 'inside-6'],
    ],
    ['as registered if no clientCIDR matches', '', ['public', 'inside', 'near', 'near-2', 'public-6', 'inside-6']],
  ])('orders addresses: %s', (_, own, names) => {
    expect(orderServers(endpoints, own)).toEqual(names.map((name) => `https://${name}`));
  });

  it('returns each address once, without those that are not allowed', () => {
    const given = [
      endpoint('0.0.0.0/0', 'a:443'),
      endpoint('10.0.0.0/8', 'https://a/'),
      endpoint('10.0.0.0/8', 'http://b'),
      endpoint('x/y', 'c'),
    ];
    expect(orderServers(given, '10.0.0.1')).toEqual(['https://a', 'https://c']);
  });
});
