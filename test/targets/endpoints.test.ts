import { describe, expect, it } from '@jest/globals';
import { EndpointChoice, serversFor } from '../../src/targets/endpoints.ts';

describe('the addresses of a cluster', () => {
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
    ['the longest block that holds ours first', '10.1.2.3', ['near', 'near-2', 'inside', 'public', 'public-6', 'inside-6']],
    ['a shorter block if no longer one holds it', '10.2.0.1', ['inside', 'public', 'near', 'near-2', 'public-6', 'inside-6']],
    ['the same for an address mapped to IPv6', '::ffff:10.2.0.1', ['inside', 'public', 'near', 'near-2', 'public-6', 'inside-6']],
    ['IPv6 apart from IPv4', '2001:db8::5', ['inside-6', 'public-6', 'public', 'inside', 'near', 'near-2']],
    ['blocks for everybody if ours is not known', undefined, ['public', 'public-6', 'inside', 'near', 'near-2', 'inside-6']],
    ['as registered if none holds it', '', ['public', 'inside', 'near', 'near-2', 'public-6', 'inside-6']],
  ])('come in order: %s', (_, own, names) => {
    expect(serversFor(endpoints, own)).toEqual(names.map((name) => `https://${name}`));
  });

  it('are each used once, without those that are not allowed', () => {
    const given = [
      endpoint('0.0.0.0/0', 'a:443'),
      endpoint('10.0.0.0/8', 'https://a/'),
      endpoint('10.0.0.0/8', 'http://b'),
      endpoint('x/y', 'c'),
    ];
    expect(serversFor(given, '10.0.0.1')).toEqual(['https://a', 'https://c']);
  });
});

describe('endpoint choice', () => {
  const MINUTE = 60_000;

  it('stays with the address that works, and comes back to the preferred one after a while', () => {
    const choice = new EndpointChoice(['a', 'b', 'c']);
    expect(choice.order(0)).toEqual(['a', 'b', 'c']);
    choice.failed('a', 0);
    choice.worked('b');
    expect(choice.order(MINUTE)).toEqual(['b', 'a', 'c']);
    choice.worked('b');
    expect(choice.order(5 * MINUTE)).toEqual(['a', 'b', 'c']);
  });

  it('leaves the preferred address again if it still fails', () => {
    const choice = new EndpointChoice(['a', 'b']);
    choice.failed('a', 0);
    choice.failed('a', 5 * MINUTE);
    choice.worked('b');
    expect(choice.order(6 * MINUTE)).toEqual(['b', 'a']);
    expect(choice.order(10 * MINUTE)).toEqual(['a', 'b']);
    choice.worked('a');
    expect(choice.order(11 * MINUTE)).toEqual(['a', 'b']);
  });

  it('goes back to the one that worked if the preferred one still fails, past those that failed before', () => {
    const choice = new EndpointChoice(['a', 'b', 'c']);
    choice.failed('a', 0);
    choice.failed('b', 0);
    choice.worked('c');
    expect(choice.order(5 * MINUTE)).toEqual(['a', 'c', 'b']);
    choice.failed('a', 5 * MINUTE);
    expect(choice.order(5 * MINUTE)).toEqual(['c', 'a', 'b']);
  });

  it('goes round when all of them fail', () => {
    const choice = new EndpointChoice(['a', 'b']);
    choice.failed('a', 0);
    choice.failed('b', 0);
    expect(choice.order(0)).toEqual(['a', 'b']);
    const single = new EndpointChoice(['a']);
    single.failed('a', 0);
    expect(single.order(0)).toEqual(['a']);
  });
});
