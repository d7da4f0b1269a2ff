// A leader with outdated informers, or one that another leader has replaced.

import { afterAll, beforeAll, beforeEach, describe, expect, it } from '@jest/globals';
import type { FakeClock } from '../support/clock.ts';
import type { ScriptedHub } from './scripted-hub.ts';
import { ScriptedWorld } from './scripted-world.ts';
import type { TestReconciler } from './test-reconciler.ts';

let world: ScriptedWorld;
let clock: FakeClock;
let hub: ScriptedHub;

beforeAll(async () => {
  world = await ScriptedWorld.start();
});
afterAll(() => world.close());
beforeEach(() => {
  world.reset();
  ({ clock, hub } = world);
});

const leader = () => world.reconciler();
const stored = () => hub.secrets.get('ci');

/** Returns two leaders that know the same token, which is due for renewal. */
async function rivals(): Promise<readonly [TestReconciler, TestReconciler]> {
  const first = leader();
  await first.reconcile();
  clock.advance(2_900_000);
  first.sync();
  return [first, leader()];
}

describe('reconcileToken of a stale leader', () => {
  it('drops the issued token when the Secret already holds a newer one', async () => {
    const [first, second] = await rivals();
    await first.reconcile();
    const renewed = stored();
    await second.reconcile();

    expect([stored(), world.issued]).toEqual([renewed, 3]);
    expect(renewed?.metadata.annotations?.['tokens.purser.dev/rotations']).toBe('1');
    await Promise.all([first.close(), second.close()]);
  });

  it('writes the issued token when another client only labeled the Secret', async () => {
    const [first, second] = await rivals();
    const before = stored();
    hub.put({ ...before, metadata: { namespace: 'team-a', ...before?.metadata, labels: { ...before?.metadata.labels, theirs: 'x' } } });
    await second.reconcile();

    expect(world.issued).toBe(2);
    expect(stored()?.data?.['token']).not.toBe(before?.data?.['token']);
    expect(stored()?.metadata.labels).toMatchObject({ theirs: 'x' });
    await Promise.all([first.close(), second.close()]);
  });

  it('keeps the Secret that another leader has just created', async () => {
    const [first, second] = [leader(), leader()];
    await first.reconcile();
    const made = stored();
    await second.reconcile();

    expect([stored(), world.issued]).toEqual([made, 2]);
    await Promise.all([first.close(), second.close()]);
  });

  it('does not overwrite a foreign Secret that another client created in the meantime', async () => {
    const [first, second] = [leader(), leader()];
    const theirs = { metadata: { namespace: 'team-a', name: 'ci', uid: 'theirs' }, type: 'Opaque', data: { mine: 'eA==' } };
    hub.put(theirs);
    const before = stored();
    await first.reconcile();

    expect([stored(), hub.trespasses]).toEqual([before, []]);
    expect(hub.token.status?.conditions?.[0]?.reason).toBe('SecretConflict');
    await Promise.all([first.close(), second.close()]);
  });
});
