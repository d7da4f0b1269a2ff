// Token requests that the façade accepts.

import { afterEach, describe, expect, it } from '@jest/globals';
import { labelsKey } from '../../support/exposition.ts';
import { errorStatus, withIdentity } from '../../targets/wire-target.ts';
import { FacadeWorld, TOKEN_PATH, TOKEN_REQUEST } from '../facade-world.ts';

let world: FacadeWorld;
afterEach(() => world.close());

interface Invalid {
  readonly details: { readonly causes: readonly object[] };
}

describe('token endpoint', () => {
  it('returns a token to a caller with permission', async () => {
    world = await FacadeWorld.start();
    const { status, body } = await world.post();
    expect(status).toBe(201);
    expect(JSON.parse(body)).toMatchObject({ kind: 'TokenRequest', status: { token: expect.stringMatching(/^ey/) } });
  });

  it('sends Cache-Control: no-store with a token', async () => {
    world = await FacadeWorld.start();
    expect((await world.post()).headers['cache-control']).toBe('no-cache, no-store, private');
    expect((await world.post({})).headers['cache-control']).toBe('no-cache, private');
  });

  it('records issued tokens with their duration, and rejected requests, in metrics', async () => {
    world = await FacadeWorld.start();
    await world.post();
    await world.post();
    await world.post({});
    const scraped = await world.scrape();
    const durations = scraped.get('purser_token_issue_duration_seconds')?.samples;
    expect(durations?.get(labelsKey({ __name__: 'purser_token_issue_duration_seconds_count' }))).toBe(2);
    const issuances = scraped.get('purser_token_issuances_total')?.samples;
    expect(issuances).toEqual(
      new Map([
        [labelsKey({ target_cluster: 'prod-eu', result: 'success', reason: 'Requested' }), 2],
        [labelsKey({ target_cluster: 'prod-eu', result: 'failure', reason: 'Invalid' }), 1],
      ]),
    );
  });

  it('shortens a lifetime above the installation’s maximum, with a warning', async () => {
    world = await FacadeWorld.start({ settings: { maxExpirationSeconds: 900 } });
    const { status, headers, body } = await world.post({ ...TOKEN_REQUEST, spec: { audiences: ['api'], expirationSeconds: 7200 } });
    expect({ status, warning: headers['warning'] }).toEqual({
      status: 201,
      warning: '299 - "requested expiration of 7200 seconds shortened to 900 seconds"',
    });
    expect(JSON.parse(body)).toMatchObject({ spec: { expirationSeconds: 900 } });
    expect(
      (await world.post({ ...TOKEN_REQUEST, spec: { audiences: ['api'], expirationSeconds: 900 } })).headers['warning'],
    ).toBeUndefined();
  });

  it('shortens a lifetime for a Pod by one more second if Kubernetes would extend it to a year', async () => {
    world = await FacadeWorld.start({ settings: { maxExpirationSeconds: 3607 } });
    const boundObjectRef = { apiVersion: 'v1', kind: 'Pod', name: 'pod' };
    const { headers } = await world.post({ ...TOKEN_REQUEST, spec: { audiences: ['api'], expirationSeconds: 7200, boundObjectRef } });
    expect(headers['warning']).toBe('299 - "requested expiration of 7200 seconds shortened to 3606 seconds"');
    expect(world.tokenRequests).toMatchObject([{ body: expect.stringContaining('"expirationSeconds":3606') }]);
  });

  it('leaves a lifetime of more than 2^32 seconds for the target to reject', async () => {
    world = await FacadeWorld.start({ settings: { maxExpirationSeconds: 900 } });
    const { headers } = await world.post({ ...TOKEN_REQUEST, spec: { audiences: ['api'], expirationSeconds: 2 ** 32 + 1 } });
    expect(headers['warning']).toBeUndefined();
    expect(world.tokenRequests).toMatchObject([{ body: expect.stringContaining(`"expirationSeconds":${2 ** 32 + 1}`) }]);
  });

  it('rejects audiences that the installation does not allow', async () => {
    world = await FacadeWorld.start({ settings: { allowedAudiences: ['api', 'vault'] } });
    const { status, body } = await world.post({ ...TOKEN_REQUEST, spec: { audiences: ['api', 'other'] } });
    expect({ status, body: JSON.parse(body) as unknown }).toMatchObject({
      status: 422,
      body: { message: expect.stringContaining('spec.audiences: Unsupported value: "other": supported values: "api", "vault"') },
    });
    expect(world.tokenRequests).toEqual([]);
    expect((await world.post()).status).toBe(201);
  });

  it('lists each rejected audience once, and at most ten', async () => {
    world = await FacadeWorld.start({ settings: { allowedAudiences: ['api', 'vault'] } });
    const repeated = await world.post({ ...TOKEN_REQUEST, spec: { audiences: Array(500).fill('other') } });
    const many = await world.post({ ...TOKEN_REQUEST, spec: { audiences: Array.from({ length: 500 }, (_, index) => `other-${index}`) } });
    expect([repeated, many].map(({ body }) => (JSON.parse(body) as Invalid).details.causes.length)).toEqual([1, 10]);
  });

  it('forwards a request with 1,000 audiences to the target', async () => {
    world = await FacadeWorld.start({ target: (_request, reply) => reply.json(422, errorStatus(422, 'too many', { reason: 'Invalid' })) });
    const audiences = Array.from({ length: 1_000 }, (_, index) => index.toString(36));
    expect((await world.post({ ...TOKEN_REQUEST, spec: { audiences } })).status).toBe(422);
    expect(world.tokenRequests).toHaveLength(1);
  });

  it.each([
    ['', ['serviceaccounts']],
    ['Secret', ['serviceaccounts', 'secrets']],
    ['Pod', ['serviceaccounts', 'pods']],
  ])('warns in a dry run about objects that Purser may not read: bound to "%s"', async (kind, plurals) => {
    const forbidden = errorStatus(403, 'User "purser" cannot get resource "things" in API group ""', { reason: 'Forbidden' });
    world = await FacadeWorld.start({ target: (_request, reply) => reply.json(403, forbidden) });
    const bound = kind === '' ? {} : { boundObjectRef: { apiVersion: 'v1', kind, name: 'anchor', uid: 'u' } };
    const spec = { ...TOKEN_REQUEST.spec, ...bound };
    const { status, headers, body } = await world.post({ ...TOKEN_REQUEST, spec }, { path: `${TOKEN_PATH}?dryRun=All` });
    expect(status).toBe(201);
    expect(headers['warning']).toBe(
      plurals.map((plural) => `299 - "existence not checked: Purser has no permission to read ${plural} on the cluster"`).join(', '),
    );
    expect(JSON.parse(body)).toMatchObject({ status: { token: '', expirationTimestamp: null } });
    expect(world.tokenRequests).toEqual([]);
  });

  it('rejects a dry run for missing objects, without warnings if it can check all of them', async () => {
    world = await FacadeWorld.start();
    const path = `${TOKEN_PATH}?dryRun=All`;
    expect((await world.post(TOKEN_REQUEST, { path })).headers['warning']).toBeUndefined();
    const missing = errorStatus(404, 'serviceaccounts "deployer" not found', { reason: 'NotFound', details: { kind: 'serviceaccounts' } });
    world.target.handle(withIdentity((_request, reply) => reply.json(404, missing)));
    expect(await world.post(TOKEN_REQUEST, { path })).toMatchObject({
      status: 404,
      body: expect.stringContaining('serviceaccounts \\"deployer\\" not found'),
    });
    expect(world.tokenRequests).toEqual([]);
  });
});
