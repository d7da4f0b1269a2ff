// Paths, methods and queries.

import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { assert, asyncProperty, string } from 'fast-check';
import { scaled } from '../../support/scaled.ts';
import { bytesOf, FacadeWorld, TOKEN_PATH, TOKEN_REQUEST } from '../facade-world.ts';
import { failureOf, statusOf } from '../raw-connection.ts';

let world: FacadeWorld;
beforeAll(async () => {
  world = await FacadeWorld.start();
});
afterAll(() => world.close());

const path = (cluster: string, namespace = 'deploy', name = 'deployer') =>
  `/orchestrator/${cluster}/api/v1/namespaces/${namespace}/serviceaccounts/${name}/token`;

describe('invalid path', () => {
  it.each([
    ['dots', path('..')],
    ['a dot', path('.')],
    ['escaped dots', path('%2e%2e')],
    ['an escaped dot', path('%2E')],
    ['an escaped slash', path('a%2fb')],
    ['an escaped backslash', path('a%5cb')],
    ['a backslash', path('a\\b')],
    ['an escaped slash in the name', path('prod-eu', 'deploy', 'default%2ftoken')],
    ['an escaped question mark', path('prod-eu', 'deploy', 'x%3fdryRun=All')],
    ['an escaped number sign', path('prod-eu', 'deploy', 'x%23')],
    ['a semicolon', path('prod-eu', 'deploy', 'x;y=1')],
    ['escaped twice', path('%252e%252e')],
    ['a second host', '//evil.example/api/v1/namespaces/n/serviceaccounts/s/token'],
    ['a second host after the first segment', '/orchestrator//evil.example/api/v1/namespaces/n/serviceaccounts/s/token'],
    ['a full-width letter', path('prod-eu', encodeURIComponent('ｋube-system'))],
    ['a Cyrillic letter', path('prod-eu', 'deploy', encodeURIComponent('\u0430ccount'))],
    ['upper case', path('Prod-EU')],
    ['upper case in the namespace', path('prod-eu', 'Deploy')],
    ['a namespace of 64 characters', path('prod-eu', 'n'.repeat(64))],
    ['a name of 254 characters', path('prod-eu', 'deploy', 'n'.repeat(254))],
    ['an empty cluster name', '/orchestrator//api/v1/namespaces/deploy/serviceaccounts/deployer/token'],
    ['no namespace', path('prod-eu', '')],
    ['a slash at the end', `${TOKEN_PATH}/`],
    ['another segment at the end', `${TOKEN_PATH}/x`],
    ['an escaped space at the end', `${TOKEN_PATH}%20`],
    ['a Secret', '/orchestrator/prod-eu/api/v1/namespaces/deploy/secrets/s'],
    ['another group', '/orchestrator/prod-eu/apis/apps/v1/deployments'],
    ['a command in a Pod', '/orchestrator/prod-eu/api/v1/namespaces/deploy/pods/p/exec'],
    ['another first segment', TOKEN_PATH.replace('orchestrator', 'kubernetes')],
    ['upper case in the first segment', TOKEN_PATH.replace('orchestrator', 'Orchestrator')],
  ])('returns 404 for an invalid path without a request to the target: %s', async (_case, target) => {
    const { length } = world.target.requests;
    const response = await world.raw(bytesOf({ target }));
    expect(failureOf(response)).toMatchObject({ kind: 'Status', reason: 'NotFound', details: {}, code: 404 });
    expect(world.target.requests).toHaveLength(length);
  });

  it.each([
    ['NUL', path('a%00')],
    ['line breaks', path('prod-eu', 'deploy', 'x%0d%0aX:%20y')],
    ['an incomplete escape', path('%E0%A4%A')],
    ['invalid UTF-8', path('%ff')],
    ['another host', 'http://evil.example/orchestrator'],
    ['another host and the path of the endpoint', `https://evil.example${TOKEN_PATH}`],
    ['a fragment', `${TOKEN_PATH}#x`],
    ['non-ASCII bytes', `${TOKEN_PATH}?fieldManager=\u00c3\u00a9`],
  ])('returns 400 for an invalid path without a review: %s', async (_case, target) => {
    const before = [world.hub.requests.length, world.target.requests.length];
    const response = await world.raw(bytesOf({ target }));
    expect(failureOf(response)).toMatchObject({ kind: 'Status', reason: 'BadRequest', code: 400 });
    expect([world.hub.requests.length, world.target.requests.length]).toEqual(before);
  });
});

describe('method', () => {
  it.each(['GET', 'PUT', 'PATCH', 'DELETE', 'OPTIONS', 'TRACE', 'PROPFIND', 'CONNECT', 'HEAD'])(
    'returns 405 for a method other than POST: %s',
    async (method) => {
      const bytes = bytesOf({ method, more: ['X-Secret: do-not-echo'], body: '' });
      const response = await world.raw(bytes, {
        isEnough: method === 'HEAD' ? (text) => text.endsWith('\r\n\r\n') : (text) => text.includes('}'),
      });
      expect(statusOf(response)).toBe(405);
      expect(response.text).toMatch(/\r\nallow: POST\r\n/i);
      expect(response.text).not.toContain('do-not-echo');
    },
  );
});

describe('query', () => {
  it.each([
    ['dryRun=All', 201],
    ['dryRun=All&dryRun=All', 201],
    ['dryRun=x', 422],
    ['dryRun=All&dryRun=x', 422],
    ['unknown=1&%5B%5D=2', 201],
    ['fieldManager=purser&pretty=false', 201],
    [`fieldManager=${'m'.repeat(127)}`, 201],
    [`fieldManager=${'m'.repeat(128)}`, 422],
    [`fieldManager=${encodeURIComponent('ü'.repeat(64))}`, 201],
    [`fieldManager=${encodeURIComponent('ü'.repeat(65))}`, 422],
    ['timeout=abc', 400],
  ])('checks the query parameter %s, and does not forward it to the target', async (query, status) => {
    const { length } = world.tokenRequests;
    expect(statusOf(await world.raw(bytesOf({ target: `${TOKEN_PATH}?${query}` })))).toBe(status);
    const sent = world.tokenRequests.slice(length);
    expect(sent).toHaveLength(status === 201 && !query.includes('dryRun') ? 1 : 0);
    expect(sent.map(({ query: passed }) => passed.size)).toEqual(sent.map(() => 0));
  });
});

describe('name in the path', () => {
  it.each(['constructor', 'tostring', 'hasownproperty'])('accepts a property name of JavaScript: %s', async (name) => {
    const response = await world.raw(bytesOf({ target: path(name, 'constructor', name) }));
    expect(failureOf(response)).toMatchObject({ code: 404, message: `clusters.registry.purser.dev "${name}" not found` });
  });

  it('passes a name of the path to the target unchanged, or rejects it', async () => {
    const anyName = asyncProperty(string({ unit: 'binary-ascii', minLength: 1, maxLength: 20 }), async (text) => {
      const { length } = world.tokenRequests;
      const { status } = await world.request('POST', path('prod-eu', 'deploy', encodeURIComponent(text)), {
        headers: { authorization: 'Bearer good-token', 'content-type': 'application/json' },
        body: JSON.stringify(TOKEN_REQUEST),
      });
      const isName = /^[a-z0-9]([-a-z0-9]*[a-z0-9])?(\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*$/.test(text);
      // The token of the stub is for another service account, except by chance.
      expect(isName ? [201, 503] : [400, 404]).toContain(status);
      expect(world.tokenRequests.slice(length).map(({ path: to }) => to)).toEqual(
        isName ? [`/api/v1/namespaces/deploy/serviceaccounts/${text}/token`] : [],
      );
    });
    await assert(anyName, { numRuns: scaled({ full: 200, quick: 40 }) });
  });
});
