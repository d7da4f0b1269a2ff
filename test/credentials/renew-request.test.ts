// Renewal of a credential on request, by an annotation on the registered Secret.

import { afterAll, afterEach, beforeAll, describe, expect, it } from '@jest/globals';
import { Clusters, Secrets } from '../../src/api/resources.ts';
import { CREDENTIALS } from '../tokens/token-world.ts';
import { CredentialWorld } from './credential-world.ts';

const MINUTE_MS = 60_000;
let world: CredentialWorld;

beforeAll(async () => {
  world = await CredentialWorld.start();
});
afterEach(async () => {
  expect(await world.leaks()).toEqual([]);
  await world.end();
});
afterAll(() => world.close());

async function request(value: string): Promise<void> {
  const annotations = { 'registry.purser.dev/renew-credential': value };
  await world.hub.admin.patch(Secrets, { namespace: CREDENTIALS, name: world.name }, { metadata: { annotations } });
}

describe('renewal of a credential on request', () => {
  it('renews the token immediately, once for each value of the annotation, and keeps the replaced token for the overlap', async () => {
    await world.begin({ overlap: '10m' });
    await world.run();
    const first = await world.nextToken();
    await world.wait(MINUTE_MS);
    await request('2026-11-16');
    const second = await world.nextToken(first);
    expect((await world.renewed())?.metadata.annotations?.['registry.purser.dev/renew-request']).toBe('2026-11-16');
    expect([world.target.accepts(first), world.target.accepts(second)]).toEqual([true, true]);
    const { credentialExpirationTime, credentialRenewalTime } = (await world.hub.admin.get(Clusters, { name: world.name })).status ?? {};
    expect([credentialExpirationTime, credentialRenewalTime]).toEqual([expect.any(String), expect.any(String)]);
    await world.wait(5 * MINUTE_MS);
    expect(await world.renewedToken()).toBe(second);
    await world.wait(6 * MINUTE_MS);
    expect([world.target.accepts(first), world.target.accepts(second)]).toEqual([false, true]);
  });
});
