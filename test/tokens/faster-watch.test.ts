// The watch tells of our own writes before the answers do, more often than not.

import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it } from '@jest/globals';
import type { Secret } from '../../src/api/resources.ts';
import type { FakeClock } from '../support/clock.ts';
import { base64 } from '../targets/registration.ts';
import { type Fault, refused, type ScriptedHub } from './scripted-hub.ts';
import { ScriptedWorld } from './scripted-world.ts';
import type { Looker } from './test-reconciler.ts';

let world: ScriptedWorld;
let clock: FakeClock;
let hub: ScriptedHub;
let looker: Looker;

beforeAll(async () => {
  world = await ScriptedWorld.start();
});
afterAll(() => world.close());
beforeEach(() => {
  world.renew();
  ({ clock, hub } = world);
  looker = world.looker();
  looker.woken.length = 0;
});
afterEach(() => looker.close());

function somebodyChangesTheServer(): void {
  const secret = hub.secrets.get('ci') as Secret;
  hub.put({ ...secret, data: { ...secret.data, server: base64('https://elsewhere') } });
}

describe('a Secret that the watch tells of before the answer does', () => {
  it('wakes nobody', async () => {
    hub.meanwhile = () => looker.sync();
    await looker.look();
    expect(looker.woken).toEqual([]);
    expect(hub.token.status?.conditions?.[0]).toMatchObject({ type: 'Ready', status: 'True' });
  });

  it('is looked at again soon when somebody else was as fast', async () => {
    hub.meanwhile = () => {
      hub.meanwhile = () => {};
      looker.sync();
      somebodyChangesTheServer();
      looker.sync();
    };
    expect(await looker.look()).toBe(clock.now() + 1_000);
    await looker.look();
    expect(hub.secrets.get('ci')?.data?.['server']).toBe(base64(world.server));
    looker.sync();
    expect(await looker.look()).toBeGreaterThan(clock.now() + 1_000);
  });

  it('wakes as ever once the write has failed', async () => {
    const isAsked: Fault = (request, reply) => hub.answer(request, reply);
    hub.faults.push(isAsked, (_, reply) => reply.json(500, refused(500, 'InternalError')));
    await looker.look();
    hub.put({ metadata: { name: 'ci', labels: { 'tokens.purser.dev/managed-by': 'purser' } }, type: 'Opaque' });
    looker.sync();
    expect(looker.woken).toEqual(['team-a/ci']);
  });
});
