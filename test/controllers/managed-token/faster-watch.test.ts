// The watch tells of our own writes before the answers do, more often than not.

import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it } from '@jest/globals';
import type { Secret } from '../../../src/api/resources.ts';
import { systemClock } from '../../../src/std/clock.ts';
import { base64 } from '../../issuers/registration.ts';
import { grant, startTarget } from '../../issuers/wire-target.ts';
import { startWireWorld, type WireWorld } from '../../kube/wire-world.ts';
import { aToken } from '../../support/builders.ts';
import { FakeClock } from '../../support/clock.ts';
import type { WireServer } from '../../support/wire-server.ts';
import { Looker } from './looker.ts';
import { type Fault, refused, ScriptedHub } from './scripted-hub.ts';

let clock: FakeClock;
let hub: ScriptedHub;
let world: WireWorld;
let target: WireServer;
let looker: Looker;

beforeAll(async () => {
  world = await startWireWorld((request, reply) => hub.handler(request, reply), systemClock as unknown as FakeClock);
  target = await startTarget((request, reply) =>
    grant(request, reply, { now: clock.now(), headers: { date: new Date(clock.now()).toUTCString() } }),
  );
});
afterAll(async () => {
  await world.close();
  await target.close();
});
beforeEach(() => {
  clock = new FakeClock(Date.now());
  hub = new ScriptedHub(
    aToken()
      .with({ audiences: ['api'] })
      .build(),
  );
  looker = new Looker({ clock, hub, client: world.client, server: target.url });
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
    expect(hub.secrets.get('ci')?.data?.['server']).toBe(base64(target.url));
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
