// A leader that knows too little, because its informers lag or another one leads by now.

import { afterAll, beforeAll, beforeEach, describe, expect, it } from '@jest/globals';
import type { FakeClock } from '../support/clock.ts';
import type { ScriptedHub } from './scripted-hub.ts';
import { ScriptedWorld } from './scripted-world.ts';
import type { Looker } from './test-reconciler.ts';

let world: ScriptedWorld;
let clock: FakeClock;
let hub: ScriptedHub;

beforeAll(async () => {
  world = await ScriptedWorld.start();
});
afterAll(() => world.close());
beforeEach(() => {
  world.renew();
  ({ clock, hub } = world);
});

const leader = () => world.looker();
const stored = () => hub.secrets.get('ci');

/** Two leaders who both know of the same token, which is due for renewal. */
async function rivals(): Promise<readonly [Looker, Looker]> {
  const first = leader();
  await first.look();
  clock.advance(2_900_000);
  first.sync();
  return [first, leader()];
}

describe('a stale leader', () => {
  it('drops its token when the Secret already holds a newer one (F30)', async () => {
    const [first, second] = await rivals();
    await first.look();
    const renewed = stored();
    await second.look();

    expect([stored(), world.issued]).toEqual([renewed, 3]);
    expect(renewed?.metadata.annotations?.['tokens.purser.dev/rotations']).toBe('1');
    await Promise.all([first.close(), second.close()]);
  });

  it('writes its token all the same when somebody only put a label on the Secret', async () => {
    const [first, second] = await rivals();
    const before = stored();
    hub.put({ ...before, metadata: { ...before?.metadata, labels: { ...before?.metadata.labels, theirs: 'x' } } });
    await second.look();

    expect(world.issued).toBe(2);
    expect(stored()?.data?.['token']).not.toBe(before?.data?.['token']);
    expect(stored()?.metadata.labels).toMatchObject({ theirs: 'x' });
    await Promise.all([first.close(), second.close()]);
  });

  it('makes no second Secret where another leader has just made one', async () => {
    const [first, second] = [leader(), leader()];
    await first.look();
    const made = stored();
    await second.look();

    expect([stored(), world.issued]).toEqual([made, 2]);
    await Promise.all([first.close(), second.close()]);
  });

  it('does not write over a Secret of somebody else that came in between', async () => {
    const [first, second] = [leader(), leader()];
    const theirs = { metadata: { name: 'ci', uid: 'theirs' }, type: 'Opaque', data: { mine: 'eA==' } };
    hub.put(theirs);
    const before = stored();
    await first.look();

    expect([stored(), hub.trespasses]).toEqual([before, []]);
    expect(hub.token.status?.conditions?.[0]?.reason).toBe('SecretConflict');
    await Promise.all([first.close(), second.close()]);
  });
});
