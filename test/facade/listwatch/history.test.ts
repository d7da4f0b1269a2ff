import { describe, expect, it } from '@jest/globals';
import * as fc from 'fast-check';
import { type Collection, Item } from '../../../src/facade/listwatch/collection.ts';
import { History } from '../../../src/facade/listwatch/history.ts';
import { FakeClock } from '../../support/clock.ts';

/** Returns a version of an object of this size, in bytes. */
function itemOf(version: number, bytes: number, name = 'prod'): Item {
  return new Item({ apiVersion: 'v1', kind: 'Thing', metadata: { name, uid: 'u', resourceVersion: String(version) } }, bytes);
}

/** Writes one version of an object, or deletes it. */
function write(history: History, version: number, key: string, isDeleted = false): void {
  const changes = [{ key, item: isDeleted ? undefined : itemOf(version, 0, key) }];
  history.apply({ type: 'applied', resourceVersion: String(version), changes });
}

function restore(history: History, revision: number): Collection {
  return history.at(history.findPositionAfter(revision) ?? Number.NaN);
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
    expect([history.oldest > 80, history.findPositionAfter(99) !== undefined, history.findPositionAfter(50)]).toEqual([
      true,
      true,
      undefined,
    ]);
  });

  it('drops changes that are older than five minutes, even if no more changes arrive', () => {
    const clock = new FakeClock();
    const history = new History({ clock, capacity: 1_000 });
    history.load([itemOf(1, 0)], 1);
    write(history, 2, 'prod');
    clock.advance(200_000);
    write(history, 3, 'prod');
    expect(history.findPositionAfter(1)).toBe(history.start);
    clock.advance(100_001);
    expect([history.findPositionAfter(1), history.findPositionAfter(2), history.oldest]).toEqual([undefined, history.start, 2]);
    clock.advance(200_000);
    expect([history.findPositionAfter(2), history.findPositionAfter(3), history.oldest]).toEqual([undefined, history.end, 3]);
    expect(restore(history, 3)).toBe(history.collection);
    write(history, 4, 'prod');
    clock.advance(376_000);
    write(history, 5, 'prod');
    expect([history.end - history.start, history.oldest]).toEqual([1, 4]);
  });

  it('restores all objects of every revision in the log', () => {
    const name = fc.integer({ min: 0, max: 400 }).map((number) => `c-${number}`);
    const change = fc.record({ name, isDeleted: fc.boolean() });
    fc.assert(
      fc.property(fc.uniqueArray(name, { maxLength: 300 }), fc.array(change, { maxLength: 300 }), (names, changes) => {
        const history = new History({ clock: new FakeClock(), capacity: 200 });
        history.load(
          names.map((each) => itemOf(1, 0, each)),
          1,
        );
        const past = [history.collection];
        for (const [index, each] of changes.entries()) {
          write(history, index + 2, each.name, each.isDeleted);
          past.push(history.collection);
        }
        for (let revision = history.oldest; revision <= history.revision; revision++) {
          expect([...restore(history, revision).from('')]).toEqual([...(past[revision - 1]?.from('') ?? [])]);
        }
      }),
      { numRuns: 20 },
    );
  });

  it('restores a revision once for several lists of that revision', () => {
    const history = new History({ clock: new FakeClock(), capacity: 1_000 });
    history.load([itemOf(1, 0)], 1);
    for (let version = 2; version <= 10; version++) write(history, version, 'prod');
    const restored = restore(history, 5);
    write(history, 11, 'prod');
    expect(restore(history, 5)).toBe(restored);
    expect(restore(history, 11)).toBe(history.collection);
  });

  it('keeps at most four restored revisions', () => {
    const history = new History({ clock: new FakeClock(), capacity: 1_000 });
    history.load([itemOf(1, 0)], 1);
    for (let version = 2; version <= 10; version++) write(history, version, 'prod');
    const [first, second] = [1, 2].map((revision) => restore(history, revision));
    for (const revision of [3, 4, 5]) restore(history, revision);
    expect([restore(history, 2) === second, restore(history, 1) === first]).toEqual([true, false]);
  });
});
