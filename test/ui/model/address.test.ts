import { describe, expect, it } from '@jest/globals';
import { assert, constantFrom, option, property, record, string } from 'fast-check';
import { type Address, formatAddress, parseAddress, START, VIEWS } from '../../../src/ui/model/address.ts';
import { ORDERS } from '../../../src/ui/model/filters.ts';
import { TOKEN_STATES } from '../../../src/ui/model/states.ts';
import { ZOOM_NAMES } from '../../../src/ui/model/timeline.ts';
import { escapeInvisible } from '../../../src/ui/model/visible-text.ts';

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

  it('escapes invisible characters in the key of an object', () => {
    expect(parseAddress(`#/tokens?token=${encodeURIComponent('a/\u202eb')}`).opened?.key).toBe('a/\\u{202e}b');
    expect(parseAddress(`#/clusters?cluster=${encodeURIComponent('\u200bb')}`).opened?.key).toBe('\\u{200b}b');
  });

  it('shortens a query that is too long', () => {
    expect(parseAddress(`#/tokens?q=${'x'.repeat(10_000)}`).query).toHaveLength(512);
  });
});

describe('formatAddress', () => {
  it('omits values of the start', () => {
    expect(formatAddress(START)).toBe('#/overview');
    expect(formatAddress({ ...START, view: 'clusters', opened: { kind: 'cluster', key: 'prod' } })).toBe('#/clusters?cluster=prod');
  });

  it('writes addresses that parseAddress reads back', () => {
    const text = string({ maxLength: 40, unit: 'grapheme' });
    const opened = option(
      record({ kind: constantFrom('token' as const, 'cluster' as const), key: text.filter((key) => key !== '').map(escapeInvisible) }),
      {
        nil: undefined,
      },
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
