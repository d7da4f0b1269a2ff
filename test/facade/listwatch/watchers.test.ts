import { setImmediate as nextTurn } from 'node:timers/promises';
import { describe, expect, it } from '@jest/globals';
import { type Watcher, Watchers } from '../../../src/facade/listwatch/watcher.ts';

/** Adds watchers that record their number when they write. */
function addWatchers(watchers: Watchers, count: number): readonly number[] {
  const written: number[] = [];
  for (let index = 0; index < count; index++) watchers.add({ pump: () => written.push(index) } as unknown as Watcher);
  return written;
}

describe('Watchers', () => {
  it('writes to many watches in several turns of the event loop', async () => {
    let now = 0;
    const watchers = new Watchers({ monotonic: () => (now += 6) });
    const written = addWatchers(watchers, 5);
    watchers.wake();
    const counts = [];
    for (let turn = 0; turn < 4; turn++) {
      await nextTurn();
      counts.push(written.length);
    }
    expect(counts).toEqual([2, 4, 5, 5]);
  });

  it('writes to all watches again if the log advances before it has written to all of them', async () => {
    let now = 0;
    const watchers = new Watchers({ monotonic: () => (now += 20) });
    const written = addWatchers(watchers, 3);
    watchers.wake();
    await nextTurn();
    watchers.wake();
    for (let turn = 0; turn < 8; turn++) await nextTurn();
    expect(written).toEqual([0, 1, 2, 0, 1, 2]);
  });
});
