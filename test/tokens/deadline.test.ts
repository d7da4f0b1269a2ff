import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { FakeClock } from '../support/clock.ts';
import { ScriptedWorld } from './scripted-world.ts';

let world: ScriptedWorld;

beforeAll(async () => {
  world = await ScriptedWorld.start();
});
afterAll(() => world.close());

describe('reconcileToken', () => {
  it('ends a run after 60 s without a response, and reports ClusterTimeout', async () => {
    const timers = new FakeClock();
    const reconciler = world.reconciler({ timers });
    const received = new Promise<void>((resolve) => world.hub.faults.push(() => resolve()));
    const reconcile = reconciler.reconcile();
    await received;
    timers.advance(60_000);
    const retryAt = await reconcile;

    expect(retryAt).toBe(world.clock.now() + 5_000);
    expect(world.hub.token.status?.conditions?.[0]).toMatchObject({ type: 'Ready', status: 'False', reason: 'ClusterTimeout' });
    await reconciler.close();
  });
});
