import { describe, expect, it } from '@jest/globals';
import { Item } from '../../../src/facade/listwatch/collection.ts';
import { History } from '../../../src/facade/listwatch/history.ts';
import { FakeClock } from '../../support/clock.ts';

/** Returns a version of an object of this size, in bytes. */
function itemOf(version: number, bytes: number): Item {
  return new Item({ apiVersion: 'v1', kind: 'Thing', metadata: { name: 'prod', uid: 'u', resourceVersion: String(version) } }, bytes);
}

describe('History', () => {
  it('drops old changes when their total size exceeds the maximum', () => {
    const history = new History({ clock: new FakeClock(), capacity: 1_000, maxWeight: 1_000_000 });
    history.load([itemOf(1, 100_000)], 1);
    for (let version = 2; version <= 100; version++) {
      const changes = [{ key: 'prod', item: itemOf(version, 100_000) }];
      history.apply({ type: 'applied', resourceVersion: String(version), changes } as never);
    }
    expect(history.end - history.start).toBeLessThan(11);
    expect([history.oldest > 80, history.positionAfter(99) !== undefined, history.positionAfter(50)]).toEqual([true, true, undefined]);
  });
});
