import { describe, expect, it } from '@jest/globals';
import { admit, type UiRequest } from '../../../src/cli/ui/guard.ts';

const OWN = { authority: '127.0.0.1:4000', secret: 'sesame' };
const admitted = (change: Partial<UiRequest>) =>
  admit({ method: 'GET', url: '/sesame/ui/', headers: { host: OWN.authority }, ...change }, OWN);
const headers = (more: UiRequest['headers']) => ({ headers: { host: OWN.authority, ...more } });
const PAGE = { 'sec-fetch-site': 'same-origin', 'sec-fetch-mode': 'cors', 'sec-fetch-dest': 'empty' };

describe('admit', () => {
  it('accepts requests of the page, and removes the secret from their path', () => {
    expect(admitted({ url: '/sesame/auth/v1/clusters?limit=500&watch=true', ...headers(PAGE) })).toEqual({
      path: '/auth/v1/clusters',
      query: { limit: '500', watch: 'true' },
    });
  });

  it.each([
    ['that the user types', { 'sec-fetch-site': 'none', 'sec-fetch-mode': 'navigate', 'sec-fetch-dest': 'document' }],
    ['from the private file', { 'sec-fetch-site': 'cross-site', 'sec-fetch-mode': 'navigate', 'sec-fetch-dest': 'document' }],
    ['of a program', {}],
  ])('accepts a request for the page %s', (_name, more) => {
    expect(admitted(headers(more))).toEqual({ path: '/ui/', query: {} });
  });

  it.each([
    ['another name for the address', { headers: { host: 'evil.example:4000' } }, 421],
    ['localhost, which another page could use', { headers: { host: 'localhost:4000' } }, 421],
    ['no Host', { headers: {} }, 421],
    ['several Hosts', { headers: { host: [OWN.authority, 'evil.example'] } }, 421],
    ['no secret', { url: '/ui/' }, 404],
    ['another secret', { url: '/sesam/ui/' }, 404],
    ['a longer secret', { url: '/sesame2/ui/' }, 404],
    ['the secret as a query', { url: '/?sesame/ui/' }, 404],
    ['a proxied target', { url: 'http://127.0.0.1:4000/sesame/ui/' }, 404],
    ['a change', { method: 'POST' }, 405],
    ['a preflight', { method: 'OPTIONS' }, 405],
    ['another origin', headers({ origin: 'http://evil.example' }), 403],
    ['a private origin', headers({ origin: 'null' }), 403],
    ['another port of this machine', headers({ origin: 'http://127.0.0.1:4001' }), 403],
    ['a request of another site', { url: '/sesame/auth/v1/clusters', ...headers({ ...PAGE, 'sec-fetch-site': 'cross-site' }) }, 403],
    [
      'a request of another port of this machine',
      { url: '/sesame/auth/v1/clusters', ...headers({ ...PAGE, 'sec-fetch-site': 'same-site' }) },
      403,
    ],
    ['a frame of another site', headers({ 'sec-fetch-site': 'cross-site', 'sec-fetch-mode': 'navigate', 'sec-fetch-dest': 'iframe' }), 403],
    [
      'data that another site opens',
      {
        url: '/sesame/auth/v1/clusters',
        ...headers({ 'sec-fetch-site': 'cross-site', 'sec-fetch-mode': 'navigate', 'sec-fetch-dest': 'document' }),
      },
      403,
    ],
  ])('rejects a request with %s', (_name, change, status) => {
    expect(admitted(change as Partial<UiRequest>)).toMatchObject({ status });
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
  ])('rejects the target %p without the secret as its first segment', (url) => {
    expect(admitted({ url })).toMatchObject({ status: 404 });
  });

  it.each([
    ['/sesame/ui/../auth/v1/clusters', '/ui/../auth/v1/clusters'],
    ['/sesame//auth/v1/clusters', '//auth/v1/clusters'],
    ['/sesame/\\auth/v1/clusters', '/\\auth/v1/clusters'],
    ['/sesame/%61uth/v1/clusters', '/%61uth/v1/clusters'],
    ['/sesame', '/'],
  ])('does not change the path of %p', (url, path) => {
    expect(admitted({ url })).toEqual({ path, query: {} });
  });

  it.each([['?limit=1%'], ['?limit=%ff&limit=1%']])('accepts the malformed query %p', (query) => {
    expect(admitted({ url: `/sesame/auth/v1/clusters${query}` })).toEqual({ path: '/auth/v1/clusters', query: { limit: '1%' } });
  });

  it('accepts a query with question marks', () => {
    expect(admitted({ url: '/sesame/auth/v1/clusters?continue=a?b' })).toEqual({ path: '/auth/v1/clusters', query: { continue: 'a?b' } });
  });
});
