import { describe, expect, it } from '@jest/globals';
import { EndpointChoice, serversFor } from '../../src/targets/endpoints.ts';

describe('serversFor', () => {
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
    expect(serversFor(endpoints, own)).toEqual(names.map((name) => `https://${name}`));
  });

  it('returns each address once, without those that are not allowed', () => {
    const given = [
      endpoint('0.0.0.0/0', 'a:443'),
      endpoint('10.0.0.0/8', 'https://a/'),
      endpoint('10.0.0.0/8', 'http://b'),
      endpoint('x/y', 'c'),
    ];
    expect(serversFor(given, '10.0.0.1')).toEqual(['https://a', 'https://c']);
  });
});

describe('EndpointChoice', () => {
  const MINUTE = 60_000;

  it('keeps the address that works, and returns to the preferred one after five minutes', () => {
    const choice = new EndpointChoice(['a', 'b', 'c']);
    expect(choice.order(0)).toEqual(['a', 'b', 'c']);
    choice.recordFailure('a', 0);
    choice.recordSuccess('b');
    expect(choice.order(MINUTE)).toEqual(['b', 'a', 'c']);
    choice.recordSuccess('b');
    expect(choice.order(5 * MINUTE)).toEqual(['a', 'b', 'c']);
  });

  it('prefers the working address for five minutes after the preferred one fails again', () => {
    const choice = new EndpointChoice(['a', 'b']);
    choice.recordFailure('a', 0);
    choice.recordFailure('a', 5 * MINUTE);
    choice.recordSuccess('b');
    expect(choice.order(6 * MINUTE)).toEqual(['b', 'a']);
    expect(choice.order(10 * MINUTE)).toEqual(['a', 'b']);
    choice.recordSuccess('a');
    expect(choice.order(11 * MINUTE)).toEqual(['a', 'b']);
  });

  it('switches back to the working address if the preferred one still fails', () => {
    const choice = new EndpointChoice(['a', 'b', 'c']);
    choice.recordFailure('a', 0);
    choice.recordFailure('b', 0);
    choice.recordSuccess('c');
    expect(choice.order(5 * MINUTE)).toEqual(['a', 'c', 'b']);
    choice.recordFailure('a', 5 * MINUTE);
    expect(choice.order(5 * MINUTE)).toEqual(['c', 'a', 'b']);
  });

  it('starts over with the first address after all addresses have failed', () => {
    const choice = new EndpointChoice(['a', 'b']);
    choice.recordFailure('a', 0);
    choice.recordFailure('b', 0);
    expect(choice.order(0)).toEqual(['a', 'b']);
    const single = new EndpointChoice(['a']);
    single.recordFailure('a', 0);
    expect(single.order(0)).toEqual(['a']);
  });
});
