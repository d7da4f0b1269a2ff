import { describe, expect, it } from '@jest/globals';
import { selectClusters, selectTokens } from '../../../src/ui/model/filters.ts';
import { aCluster, aToken, condition, HOUR, NOW } from './tokens.ts';

const TOKENS = [
  aToken({ namespace: 'team-b', name: 'api', cluster: 'prod-eu', expiresAt: NOW + HOUR }),
  aToken({ namespace: 'team-a', name: 'web', cluster: 'prod-us', expiresAt: NOW + 2 * HOUR }),
  aToken({ namespace: 'team-a', name: 'api', cluster: 'edge', ready: condition('Ready', 'False', 'Forbidden'), expiresAt: undefined }),
];

const select = (query: string, more: Partial<Parameters<typeof selectTokens>[1]> = {}) =>
  selectTokens(new Map(TOKENS.map((token) => [token.key, token])), { query, state: undefined, order: 'name', now: NOW, ...more }).map(
    ({ key }) => key,
  );

describe('selectTokens', () => {
  it.each([
    ['', ['team-a/api', 'team-a/web', 'team-b/api']],
    ['api', ['team-a/api', 'team-b/api']],
    ['API  team-b', ['team-b/api']],
    ['team-a/web', ['team-a/web']],
    ['prod', ['team-a/web', 'team-b/api']],
    ['cluster:edge', ['team-a/api']],
    ['namespace:team-a cluster:prod', ['team-a/web']],
    ['reason:forbidden', ['team-a/api']],
    ['unknown:field', []],
    ['constructor:x', []],
  ])('finds tokens for the query %p', (query, keys) => {
    expect(select(query)).toEqual(keys);
  });

  it('returns the same tokens with and without a previous result', () => {
    const all = { query: '', state: undefined, order: 'expiry', now: NOW } as const;
    const previous = [aToken({ name: 'removed' }), ...TOKENS.slice(0, 2).map((token) => ({ ...token, expiresAt: NOW }))];
    const tokens = new Map(TOKENS.map((token) => [token.key, token]));
    expect(selectTokens(tokens, all, previous)).toEqual(selectTokens(tokens, all));
  });

  it('selects tokens by their state', () => {
    expect(select('', { state: 'failing' })).toEqual(['team-a/api']);
  });

  it('orders tokens by expiry, and those without an expiry last', () => {
    expect(select('', { order: 'expiry' })).toEqual(['team-b/api', 'team-a/web', 'team-a/api']);
  });
});

describe('selectClusters', () => {
  const clusters = [aCluster('prod', [condition('Ready', 'False', 'Timeout')]), aCluster('edge')];

  it.each([
    ['', undefined, ['edge', 'prod']],
    ['timeout', undefined, ['prod']],
    ['cluster:ed', undefined, ['edge']],
    ['', 'failing', ['prod']],
    ['namespace:prod', undefined, []],
  ] as const)('finds clusters for the query %p and the state %p', (query, state, keys) => {
    expect(selectClusters(clusters, query, state).map(({ key }) => key)).toEqual(keys);
  });
});
