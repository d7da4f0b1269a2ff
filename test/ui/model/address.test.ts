import { describe, expect, it } from '@jest/globals';
import { assert, constantFrom, option, property, record, string } from 'fast-check';
import { type Address, formatAddress, type OpenedObject, parseAddress, START, VIEWS } from '../../../src/ui/model/address.ts';
import { ORDERS } from '../../../src/ui/model/filters.ts';
import { TOKEN_STATES } from '../../../src/ui/model/states.ts';
import { ZOOM_NAMES } from '../../../src/ui/model/timeline.ts';

describe('parseAddress', () => {
  it.each([[''], ['#'], ['#/'], ['#/nowhere'], ['#/overview'], ['#/overview?state=failing&zoom=9z&order=x']])(
    'starts at the overview for %p',
    (hash) => {
      expect(parseAddress(hash)).toEqual(START);
    },
  );

  it('reads view, filters, zoom, order and details', () => {
    expect(parseAddress('#/tokens?q=a+b&state=failing&zoom=1y&order=expiry&token=team-a/ci')).toEqual({
      view: 'tokens',
      query: 'a b',
      tokenState: 'failing',
      clusterState: undefined,
      zoom: '1y',
      order: 'expiry',
      opened: { kind: 'token', key: 'team-a/ci' },
    });
  });

  it.each([
    ['token', 'a/Your session has expired'],
    ['token', 'no-namespace'],
    ['token', 'a/b/c'],
    ['token', 'a.b/c'],
    ['token', `a/\u202eb`],
    ['token', `a/${'x'.repeat(254)}`],
    ['token', `${'x'.repeat(64)}/a`],
    ['token', ''],
    ['cluster', 'a/b'],
    ['cluster', 'Log in again'],
    ['cluster', 'x'.repeat(254)],
  ] as const)('keeps no part of a key that cannot be the name of a %s: %p', (kind, key) => {
    expect(parseAddress(`#/tokens?${kind}=${encodeURIComponent(key)}`).opened).toEqual({ kind, key: '' });
  });

  it.each([
    ['token', `${'x'.repeat(63)}/a.b-${'x'.repeat(249)}`],
    ['cluster', 'prod.eu-1'],
  ] as const)('reads the key of a %s: %p', (kind, key) => {
    expect(parseAddress(`#/tokens?${kind}=${key}`).opened).toEqual({ kind, key });
  });

  it('shortens a query that is too long', () => {
    expect(parseAddress(`#/tokens?q=${'x'.repeat(10_000)}`).query).toHaveLength(512);
  });
});

describe('formatAddress', () => {
  it('omits initial values', () => {
    expect(formatAddress(START)).toBe('#/overview');
    expect(formatAddress({ ...START, view: 'clusters', opened: { kind: 'cluster', key: 'prod' } })).toBe('#/clusters?cluster=prod');
  });

  it('writes addresses that parseAddress reads back', () => {
    const text = string({ maxLength: 40, unit: 'grapheme' });
    const opened = option(
      constantFrom<OpenedObject>({ kind: 'token', key: '' }, { kind: 'token', key: 'team-a/ci' }, { kind: 'cluster', key: 'prod.eu-1' }),
      { nil: undefined },
    );
    const view = constantFrom(...VIEWS);
    const rest = { query: text, zoom: constantFrom(...ZOOM_NAMES), order: constantFrom(...ORDERS), opened };
    const state = constantFrom(undefined, ...TOKEN_STATES);
    assert(
      property(record({ view, tokenState: state, ...rest }), (fields) => {
        const address: Address = { ...START, ...fields, tokenState: fields.view === 'tokens' ? fields.tokenState : undefined };
        expect(parseAddress(formatAddress(address))).toEqual(address);
      }),
    );
  });
});
