import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { FakeClock } from '../support/clock.ts';
import { ScriptedWorld } from './scripted-world.ts';

let world: ScriptedWorld;

beforeAll(async () => {
  world = await ScriptedWorld.start();
});
afterAll(() => world.close());

describe('the deadline of a run', () => {
  it('ends a run after 60 s although a request has no answer, and reports it', async () => {
    const timers = new FakeClock();
    const looker = world.looker({ timers });
    const isAsked = new Promise<void>((resolve) => world.hub.faults.push(() => resolve()));
    const look = looker.look();
    await isAsked;
    timers.advance(60_000);
    const retryAt = await look;

    expect(retryAt).toBe(world.clock.now() + 5_000);
    expect(world.hub.token.status?.conditions?.[0]).toMatchObject({ type: 'Ready', status: 'False', reason: 'ClusterTimeout' });
    await looker.close();
  });
});
