// The cache of parsed requests: a repeated request is parsed to the same result, and all inputs of the result are part of the key.

import { afterEach, beforeEach, describe, expect, it } from '@jest/globals';
import { FacadeWorld, TOKEN_PATH, TOKEN_REQUEST } from '../facade-world.ts';

let world: FacadeWorld;
beforeEach(async () => {
  world = await FacadeWorld.start();
});
afterEach(() => world.close());

const WITH_UNKNOWN_FIELD = { ...TOKEN_REQUEST, spec: { ...TOKEN_REQUEST.spec, expirationSecond: 600 } };

describe('repeated token request', () => {
  it('returns the warnings again for a repeated token request', async () => {
    const responses = [await world.post(WITH_UNKNOWN_FIELD), await world.post(WITH_UNKNOWN_FIELD)];
    expect(responses.map(({ headers }) => headers['warning'])).toEqual(Array(2).fill('299 - "unknown field \\"spec.expirationSecond\\""'));
  });

  it('rejects a repeated token request with fieldValidation=Strict each time', async () => {
    const strict = { path: `${TOKEN_PATH}?fieldValidation=Strict` };
    const responses = [
      await world.post(WITH_UNKNOWN_FIELD),
      await world.post(WITH_UNKNOWN_FIELD, strict),
      await world.post(WITH_UNKNOWN_FIELD, strict),
    ];
    expect(responses.map(({ status }) => status)).toEqual([201, 400, 400]);
  });

  it('issues no token for a dry run before or after an equal token request', async () => {
    for (const query of ['', '?dryRun=All', '']) await world.post(TOKEN_REQUEST, { path: `${TOKEN_PATH}${query}` });
    expect(world.tokenRequests).toHaveLength(2);
  });

  it('rejects a repeated body whose namespace differs from the namespace in another path', async () => {
    const body = { ...TOKEN_REQUEST, metadata: { namespace: 'deploy' } };
    const otherPath = { path: TOKEN_PATH.replace('/deploy/', '/other/') };
    const responses = [await world.post(body), await world.post(body, otherPath)];
    expect(responses.map(({ status }) => status)).toEqual([201, 400]);
  });
});

describe('token response', () => {
  it.each(['', '?fieldManager=ci', '?dryRun=All'])(
    'carries no managedFields with the query %j, not even those of the request',
    async (query) => {
      const request = { ...TOKEN_REQUEST, metadata: { labels: { a: 'b' }, managedFields: [{ manager: 'caller' }] } };
      const { status, body } = await world.post(request, { path: `${TOKEN_PATH}${query}` });
      expect(status).toBe(201);
      const { metadata } = JSON.parse(body) as { metadata: object };
      expect(metadata).toMatchObject({ labels: { a: 'b' } });
      expect(metadata).not.toHaveProperty('managedFields');
    },
  );
});
