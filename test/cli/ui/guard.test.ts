import { describe, expect, it } from '@jest/globals';
import { admit, type UiRequest } from '../../../src/cli/ui/guard.ts';

const OWN = { authority: '127.0.0.1:4000', secret: 'sesame' };
const admitRequest = (change: Partial<UiRequest>) =>
  admit({ method: 'GET', url: '/sesame/ui/', headers: { host: OWN.authority }, ...change }, OWN);
const headers = (more: UiRequest['headers']) => ({ headers: { host: OWN.authority, ...more } });
const PAGE = { 'sec-fetch-site': 'same-origin', 'sec-fetch-mode': 'cors', 'sec-fetch-dest': 'empty' };

describe('admit', () => {
  it('accepts requests from the page, and removes the secret from the path', () => {
    expect(admitRequest({ url: '/sesame/auth/v1/clusters?limit=500&watch=true', ...headers(PAGE) })).toEqual({
      path: '/auth/v1/clusters',
      query: { limit: '500', watch: 'true' },
    });
  });

  it.each([
    ['that the user opens', { 'sec-fetch-site': 'none', 'sec-fetch-mode': 'navigate', 'sec-fetch-dest': 'document' }],
    ['from the private file', { 'sec-fetch-site': 'cross-site', 'sec-fetch-mode': 'navigate', 'sec-fetch-dest': 'document' }],
    ['from a program', {}],
  ])('accepts a request for the page %s', (_name, more) => {
    expect(admitRequest(headers(more))).toEqual({ path: '/ui/', query: {} });
  });

  it.each([
    ['another name in the Host header', { headers: { host: 'evil.example:4000' } }, 421],
    ['localhost in the Host header', { headers: { host: 'localhost:4000' } }, 421],
    ['no Host header', { headers: {} }, 421],
    ['several Host headers', { headers: { host: [OWN.authority, 'evil.example'] } }, 421],
    ['no secret', { url: '/ui/' }, 404],
    ['another secret', { url: '/sesam/ui/' }, 404],
    ['a longer secret', { url: '/sesame2/ui/' }, 404],
    ['the secret in the query', { url: '/?sesame/ui/' }, 404],
    ['an absolute URL as its target', { url: 'http://127.0.0.1:4000/sesame/ui/' }, 404],
    ['the method POST', { method: 'POST' }, 405],
    ['the method OPTIONS', { method: 'OPTIONS' }, 405],
    ['the origin of another site', headers({ origin: 'http://evil.example' }), 403],
    ['the origin null', headers({ origin: 'null' }), 403],
    ['the origin of another port of this machine', headers({ origin: 'http://127.0.0.1:4001' }), 403],
    ['Sec-Fetch-Site: cross-site', { url: '/sesame/auth/v1/clusters', ...headers({ ...PAGE, 'sec-fetch-site': 'cross-site' }) }, 403],
    [
      'Sec-Fetch-Site: same-site, from another port of this machine',
      { url: '/sesame/auth/v1/clusters', ...headers({ ...PAGE, 'sec-fetch-site': 'same-site' }) },
      403,
    ],
    [
      'a navigation from another site into a frame',
      headers({ 'sec-fetch-site': 'cross-site', 'sec-fetch-mode': 'navigate', 'sec-fetch-dest': 'iframe' }),
      403,
    ],
    [
      'a navigation from another site to a list',
      {
        url: '/sesame/auth/v1/clusters',
        ...headers({ 'sec-fetch-site': 'cross-site', 'sec-fetch-mode': 'navigate', 'sec-fetch-dest': 'document' }),
      },
      403,
    ],
  ])('rejects a request (%s)', (_name, change, status) => {
    expect(admitRequest(change as Partial<UiRequest>)).toMatchObject({ status });
  });

  it.each([
    ['//'],
    ['//sesame/ui/'],
    ['//evil.example/sesame/hub/clusters'],
    ['/\\evil.example/sesame/hub/clusters'],
    ['/\\/sesame/ui/'],
    ['///'],
    ['//['],
    ['//127.0.0.1:99999/sesame/ui/'],
    ['/?/sesame/ui/'],
    ['/#/sesame/ui/'],
    ['/%73esame/ui/'],
    ['/ses\tame/ui/'],
    ['/x/../sesame/ui/'],
    ['/./sesame/ui/'],
    ['*'],
    [''],
  ])('rejects the request target %p without the secret as its first segment', (url) => {
    expect(admitRequest({ url })).toMatchObject({ status: 404 });
  });

  it.each([
    ['/sesame/ui/../auth/v1/clusters', '/ui/../auth/v1/clusters'],
    ['/sesame//auth/v1/clusters', '//auth/v1/clusters'],
    ['/sesame/\\auth/v1/clusters', '/\\auth/v1/clusters'],
    ['/sesame/%61uth/v1/clusters', '/%61uth/v1/clusters'],
    ['/sesame', '/'],
  ])('does not change the path of %p', (url, path) => {
    expect(admitRequest({ url })).toEqual({ path, query: {} });
  });

  it.each([['?limit=1%'], ['?limit=%ff&limit=1%']])('accepts the malformed query %p', (query) => {
    expect(admitRequest({ url: `/sesame/auth/v1/clusters${query}` })).toEqual({ path: '/auth/v1/clusters', query: { limit: '1%' } });
  });

  it('accepts a query with question marks', () => {
    expect(admitRequest({ url: '/sesame/auth/v1/clusters?continue=a?b' })).toEqual({
      path: '/auth/v1/clusters',
      query: { continue: 'a?b' },
    });
  });
});
