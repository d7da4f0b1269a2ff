import { describe, expect, it } from '@jest/globals';
import { array, assert, boolean, constantFrom, nat, property, record, string } from 'fast-check';
import type { KubeObject } from '../../../src/kubernetes/object.ts';
import type { Journal, JournalEntry } from '../../storage/journal.ts';
import { ALL_RESOURCES, type Change, ObjectStore } from '../../storage/object-store.ts';

/** Creates an in-memory journal whose commits fail while `broken` is true. */
function memoryJournal(): Journal & { committed: JournalEntry[]; broken: boolean } {
  return {
    revision: 1,
    committed: [],
    broken: false,
    load: () => [],
    commit(_revision, entries) {
      if (this.broken) throw new Error('disk full');
      this.committed.push(...entries);
      return JSON.stringify(entries).length;
    },
    readValue: () => undefined,
    writeValue: (_name, value) => value,
    close: () => {},
  };
}

function createStore(journal: Journal, faults: unknown[] = []): ObjectStore {
  return new ObjectStore(journal, (error) => void faults.push(error));
}

const object = (name: string, value = ''): KubeObject => ({ apiVersion: 'v1', kind: 'ConfigMap', metadata: { name }, data: { value } });
const names = (objects: readonly KubeObject[] | undefined) => objects?.map(({ metadata }) => metadata.name);

describe('ObjectStore', () => {
  it('increments the revision for every write of any resource', () => {
    const store = createStore(memoryJournal());
    expect(store.put('configmaps', 'a/x', object('x')).metadata.resourceVersion).toBe('2');
    expect(store.put('secrets', 'a/x', object('x')).metadata.resourceVersion).toBe('3');
    expect(store.remove('configmaps', 'a/x')?.metadata.resourceVersion).toBe('4');
    expect(store.revision).toBe(4);
  });

  it('lists objects in the order of etcd keys, in one namespace or in all', () => {
    const store = createStore(memoryJournal());
    for (const key of ['b/x', 'a/y', 'a-b/z', 'a/x', 'ab/w']) store.put('configmaps', key, object(key));
    expect(names(store.list('configmaps'))).toEqual(['a-b/z', 'a/x', 'a/y', 'ab/w', 'b/x']);
    expect(names(store.list('configmaps', 'a'))).toEqual(['a/x', 'a/y']);
  });

  it('notifies listeners in order after the commit', async () => {
    const journal = memoryJournal();
    const store = createStore(journal);
    const seen: string[] = [];
    store.subscribe(ALL_RESOURCES, ({ type, key }) => seen.push(`${type} ${key} ${journal.committed.length}`));
    store.put('configmaps', 'a/x', object('x'));
    store.put('configmaps', 'a/y', object('y'));
    expect(seen).toEqual([]);
    await store.whenDurable();
    expect(seen).toEqual(['ADDED a/x 2', 'ADDED a/y 2']);
    expect(store.isDurable).toBe(true);
  });

  it('closes after the commit of all writes, including those of listeners', async () => {
    const journal = memoryJournal();
    let atClose = 0;
    const store = createStore({
      ...journal,
      close: () => (atClose = journal.committed.length),
      commit: (...args) => journal.commit(...args),
    });
    store.subscribe('configmaps', () => store.put('secrets', 'a/x', object('x')));
    store.put('configmaps', 'a/x', object('x'));
    await store.close();

    expect(atClose).toBe(2);
    expect(store.isDurable).toBe(true);
  });

  it('notifies all listeners even if one throws', async () => {
    const faults: unknown[] = [];
    const store = createStore(memoryJournal(), faults);
    const seen: string[] = [];
    const broken = new Error('broken');
    store.subscribe('configmaps', () => {
      throw broken;
    });
    store.subscribe('configmaps', ({ key }) => seen.push(key));
    store.subscribe(ALL_RESOURCES, ({ key }) => seen.push(key));
    store.put('configmaps', 'a/x', object('x'));
    store.put('configmaps', 'a/y', object('y'));
    await store.whenDurable();
    expect(seen).toEqual(['a/x', 'a/x', 'a/y', 'a/y']);
    expect(faults).toEqual([broken, broken]);
  });

  it('undoes the writes of a failed commit, serves reads, and accepts writes when the disk recovers', async () => {
    const journal = memoryJournal();
    const faults: unknown[] = [];
    const store = createStore(journal, faults);
    const seen: string[] = [];
    let undone = 0;
    store.subscribe(ALL_RESOURCES, ({ type, key, revision }) => seen.push(`${type} ${key} ${revision}`));
    store.onUndone(() => (undone += 1));
    store.put('configmaps', 'a/kept', object('kept', 'old'));
    await store.whenDurable();
    journal.broken = true;
    for (let n = 0; n < 2; n++) {
      store.put('configmaps', 'a/new', object('new'));
      store.put('configmaps', 'a/kept', object('kept', 'changed'));
      store.remove('configmaps', 'a/kept');
      await expect(store.whenDurable()).rejects.toThrow('disk full');
    }
    expect(store.list('configmaps')).toEqual([{ ...object('kept', 'old'), metadata: { name: 'kept', resourceVersion: '2' } }]);
    expect([store.revision, store.durableRevision, store.since('configmaps', 2), undone]).toEqual([2, 2, [], 2]);
    await store.whenDurable();
    journal.broken = false;
    store.put('configmaps', 'a/new', object('new'));
    await store.whenDurable();
    expect(seen).toEqual(['ADDED a/kept 2', 'ADDED a/new 3']);
    expect(journal.committed.map(({ key }) => key)).toEqual(['a/kept', 'a/new']);
    expect(faults).toEqual([new Error('disk full')]);
  });

  it('keeps a shorter history of large objects', async () => {
    const store = createStore(memoryJournal());
    const large = 'x'.repeat(8 * 1024 * 1024);
    const revisions: number[] = [];
    for (let n = 0; n < 16; n++) {
      revisions.push(store.revision);
      store.put('configmaps', 'a/x', object('x', large));
      await store.whenDurable();
    }
    const remembered = revisions.filter((revision) => store.since('configmaps', revision) !== undefined);
    expect(remembered.length).toBeGreaterThanOrEqual(4);
    expect(remembered.length).toBeLessThanOrEqual(8);
    expect(store.oldest).toBe(remembered[0]);
  });

  it('lists objects at any revision of the history', () => {
    const write = record({ key: constantFrom('a/x', 'a/y', 'b/x'), remove: boolean(), value: string() });
    assert(
      property(array(write, { maxLength: 30 }), (writes) => {
        const store = createStore(memoryJournal());
        const past = new Map([[store.revision, store.list('configmaps')]]);
        for (const { key, remove, value } of writes) {
          if (remove) store.remove('configmaps', key);
          else store.put('configmaps', key, object(key, value));
          past.set(store.revision, store.list('configmaps'));
        }
        for (const [revision, list] of past) expect(store.listAt('configmaps', revision)).toEqual(list);
      }),
    );
  });

  it('replays changes from any revision to the present', () => {
    const write = record({ key: constantFrom('x', 'y', 'z'), remove: boolean() });
    assert(
      property(array(write, { maxLength: 30 }), nat(30), (writes, from) => {
        const store = createStore(memoryJournal());
        const states: Map<string, KubeObject>[] = [new Map()];
        const current = new Map<string, KubeObject>();
        for (const { key, remove } of writes) {
          if (remove) store.remove('configmaps', key);
          else current.set(key, store.put('configmaps', key, object(key)));
          if (remove) current.delete(key);
          while (states.length < store.revision) states.push(new Map(current));
        }
        const start = Math.min(from, states.length - 1);
        const replayed = new Map(states[start]);
        for (const change of store.since('configmaps', start + 1) as readonly Change[]) {
          if (change.type === 'DELETED') replayed.delete(change.key);
          else replayed.set(change.key, change.object);
        }
        expect(replayed).toEqual(current);
      }),
    );
  });
});
