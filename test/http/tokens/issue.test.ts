// A token through the façade.

import { afterEach, describe, expect, it } from '@jest/globals';
import { FacadeWorld } from '../facade-world.ts';

let world: FacadeWorld;
afterEach(() => world.close());

describe('the token endpoint', () => {
  it('answers with a token', async () => {
    world = await FacadeWorld.start();
    const { status, body } = await world.post();
    expect(status).toBe(201);
    expect(JSON.parse(body)).toMatchObject({ kind: 'TokenRequest', status: { token: expect.stringMatching(/^ey/) } });
  });
});
