import { afterEach, beforeEach, describe, expect, it } from '@jest/globals';
import * as fc from 'fast-check';
import { type Subscription, take } from 'rxjs';
import { type ConfigMap, ConfigMaps } from '../../src/api/resources.ts';
import { createInformer, createReducedInformer, type Informer } from '../../src/kube/informer.ts';
import { isOverBudget, type NamespaceBudget, recordBytes } from '../../src/kube/namespace-bytes.ts';
import type { Change } from '../../src/kube/store.ts';
import { FakeClock } from '../support/clock.ts';
import { scaled } from '../support/scaled.ts';
import type { WireReply } from '../support/wire-server.ts';
import { eventually, turn } from './eventually.ts';
import { reset, respondWith, ScriptedCollection } from './scripted-collection.ts';
import { startWireWorld, type WireWorld } from './wire-world.ts';

let clock: FakeClock;
let collection: ScriptedCollection;
let world: WireWorld;
let subscription: Subscription | undefined;

beforeEach(async () => {
  clock = new FakeClock();
  collection = new ScriptedCollection();
  world = await startWireWorld((request, reply) => collection.handler(request, reply), clock);
});

afterEach(async () => {
  subscription?.unsubscribe();
  await world.close();
});

function inform(random = 0): Informer<ConfigMap> {
  return createInformer({ client: world.client, resource: ConfigMaps, selection: { namespace: 'ns' }, clock, random: () => random });
}

function follow(informer: Informer<ConfigMap>): string[] {
  const seen: string[] = [];
  subscription = informer.changes$.subscribe(({ type, key }) => seen.push(`${type} ${key}`));
  return seen;
}

describe('createInformer', () => {
  it('shares one list-watch among all subscribers, and stops it when the last one unsubscribes', async () => {
    collection.put('a', '1');
    const informer = inform();
    expect([world.server.requests.length, informer.synced]).toEqual([0, false]);
    const [first, second] = [informer.changes$.subscribe(), informer.changes$.subscribe()];
    await eventually(() => expect(informer.synced).toBe(true));
    expect(world.server.requests).toHaveLength(1);
    first.unsubscribe();
    expect(informer.synced).toBe(true);
    second.unsubscribe();
    expect(informer.synced).toBe(false);
    await eventually(() => expect(collection.watching).toBe(0));
    expect(clock.pending).toBe(0);
  });

  it('removes managedFields from stored objects', async () => {
    collection.put('a', '1', { managedFields: [{ manager: 'kubectl', operation: 'Update' }] });
    const informer = inform();
    follow(informer);
    await eventually(() => expect(informer.synced).toBe(true));
    expect(informer.store.get('ns/a')?.metadata).toMatchObject({ name: 'a' });
    expect(informer.store.get('ns/a')?.metadata).not.toHaveProperty('managedFields');
  });

  it.each([1, 2])('cleans up when the subscriber unsubscribes at change %d', async (changes) => {
    collection.put('a', '1');
    let seen = 0;
    const informer = inform();
    subscription = informer.changes$.pipe(take(changes)).subscribe(() => (seen += 1));
    await eventually(() => expect(seen).toBe(1));
    collection.put('b', '1');
    await eventually(() => expect([seen, collection.watching, clock.pending]).toEqual([changes, 0, 0]));
  });

  it('becomes synced after the changes of the first list', async () => {
    collection.put('a', '1');
    collection.put('b', '1');
    const informer = inform();
    const seen = follow(informer);
    informer.synced$.subscribe((synced) => seen.push(`synced ${synced}`));
    await eventually(() => expect(seen).toEqual(['synced false', 'added ns/a', 'added ns/b', 'synced true']));
  });

  it('becomes synced after an empty first list', async () => {
    const informer = inform();
    follow(informer);
    await eventually(() => expect(informer.synced).toBe(true));
  });

  it('emits changes that were made while the informer was stopped', async () => {
    collection.put('a', '1');
    const informer = inform();
    follow(informer);
    await eventually(() => expect(informer.synced).toBe(true));
    subscription?.unsubscribe();
    collection.remove('a');
    collection.put('b', '1');
    const seen = follow(informer);
    await eventually(() => expect(seen).toEqual(['deleted ns/a', 'added ns/b']));
  });

  it('reports problems, backs off and never ends', async () => {
    collection.faults.push(reset, reset, reset, reset, respondWith(500, {}), respondWith(503, {}));
    const informer = inform();
    const waits: number[] = [];
    informer.problems$.subscribe(({ retryMs }) => waits.push(retryMs));
    follow(informer);
    // A reset read is repeated once, so two resets are one failure.
    for (const [problems, waitMs] of [
      [1, 800],
      [2, 1_600],
      [3, 3_200],
      [4, 6_400],
    ] as const) {
      await eventually(() => expect(waits).toHaveLength(problems));
      expect(waits.at(-1)).toBe(waitMs);
      const before = world.server.requests.length;
      clock.advance(waitMs - 1);
      await turn();
      expect(world.server.requests).toHaveLength(before);
      clock.advance(1);
    }
    await eventually(() => expect(informer.synced).toBe(true));
  });

  it('resets the backoff after 15 s without a failure, not after a list', async () => {
    const informer = inform();
    const waits: number[] = [];
    informer.problems$.subscribe(({ retryMs }) => waits.push(retryMs));
    follow(informer);
    // Only a received change shows that the watch is open on both sides.
    const showOpen = async (value: string) => {
      collection.put('a', value);
      await eventually(() => expect(informer.store.get('ns/a')?.data).toEqual({ value }));
    };
    const failAgain = async () => {
      await showOpen(String(waits.length));
      const before = waits.length;
      collection.cut((watcher) => watcher.reset());
      await eventually(() => expect(waits).toHaveLength(before + 1));
      clock.advance(waits.at(-1) ?? 0);
    };
    await failAgain();
    await failAgain();
    await failAgain();
    await showOpen('calm');
    clock.advance(15_001);
    await failAgain();
    expect(waits).toEqual([800, 1_600, 3_200, 800]);
  });

  it.each([
    [20, 20_000],
    [900_000, 300_000],
  ])('converts a Retry-After of %d s to a wait of %d ms', async (seconds, waitMs) => {
    collection.faults.push(respondWith(429, 'later', { 'retry-after': String(seconds) }));
    const informer = inform(0.5);
    const waits: number[] = [];
    informer.problems$.subscribe(({ retryMs }) => waits.push(retryMs));
    follow(informer);
    await eventually(() => expect(waits).toEqual([waitMs]));
  });

  it.each(['soon', null, -1, { seconds: 1 }])('keeps the backoff for a Retry-After of %j', async (retryAfterSeconds) => {
    collection.faults.push(respondWith(503, { status: 'Failure', message: 'busy', details: { retryAfterSeconds }, code: 503 }));
    const informer = inform();
    const waits: number[] = [];
    informer.problems$.subscribe(({ retryMs }) => waits.push(retryMs));
    follow(informer);
    await eventually(() => expect(waits).toEqual([800]));
  });

  it('keeps the stored objects while the server is unreachable', async () => {
    collection.put('a', '1');
    const informer = inform();
    const seen = follow(informer);
    await eventually(() => expect(informer.synced).toBe(true));
    collection.faults.push(respondWith(503, {}), respondWith(503, {}));
    collection.cut((watcher) => watcher.reset());
    await eventually(() => expect(collection.faults).toEqual([]), clock);
    expect([informer.synced, informer.store.keys()]).toEqual([true, ['ns/a']]);
    await eventually(() => expect(collection.watching).toBe(1), clock);
    expect(seen).toEqual(['added ns/a']);
  });

  it('stores only the result of the transform', async () => {
    collection.put('a', 'secret');
    const options = { client: world.client, resource: ConfigMaps, clock, random: () => 0 };
    const informer = createReducedInformer(options, ({ metadata, data }) => ({ metadata, length: data?.['value']?.length }));
    subscription = informer.changes$.subscribe();
    await eventually(() => expect(informer.synced).toBe(true));
    collection.put('b', 'longer secret');
    await eventually(() => expect(informer.store.list().map(({ length }) => length)).toEqual([6, 13]));
    expect(JSON.stringify(informer.store.list())).not.toContain('secret');
  });

  it('requests the selected part of the collection', async () => {
    const selection = { namespace: 'ns', labelSelector: 'tier=prod', fieldSelector: 'metadata.name=a' };
    const informer = createInformer({ client: world.client, resource: ConfigMaps, selection, clock, random: () => 0 });
    follow(informer);
    await eventually(() => expect(informer.synced).toBe(true));
    const [request] = world.server.requests;
    expect(request?.path).toBe('/api/v1/namespaces/ns/configmaps');
    expect([request?.query.get('labelSelector'), request?.query.get('fieldSelector')]).toEqual(['tier=prod', 'metadata.name=a']);
  });
});

type Step =
  | { readonly type: 'put' | 'remove'; readonly name: string; readonly value: string }
  | { readonly type: 'cut'; readonly how: number }
  | { readonly type: 'outage'; readonly how: number; readonly names: readonly string[] }
  | { readonly type: 'compact' | 'bookmark' | 'fail' | 'watchList' };

const name = fc.constantFrom('a', 'b', 'c', 'd', 'e');
const step: fc.Arbitrary<Step> = fc.oneof(
  { weight: 6, arbitrary: fc.record({ type: fc.constant('put' as const), name, value: fc.string() }) },
  { weight: 3, arbitrary: fc.record({ type: fc.constant('remove' as const), name, value: fc.constant('') }) },
  { weight: 2, arbitrary: fc.record({ type: fc.constant('cut' as const), how: fc.nat(3) }) },
  { weight: 2, arbitrary: fc.record({ type: fc.constant('outage' as const), how: fc.nat(3), names: fc.array(name, { maxLength: 3 }) }) },
  { weight: 3, arbitrary: fc.record({ type: fc.constantFrom('compact' as const, 'bookmark', 'fail', 'watchList') }) },
);

/** Number of turns between two steps: none, some for a response, or enough for a failure and its recovery. */
const pause = fc.oneof(fc.constant(0), fc.nat(5), fc.integer({ min: 10, max: 60 }));

const CUTS: readonly ((watcher: WireReply) => void)[] = [
  (watcher) => watcher.reset(),
  (watcher) => watcher.end(),
  (watcher) => watcher.bytes('{"type":"ADDED","obj').end(),
  (watcher) => watcher.bytes('\u0000\n').end(),
];

function perform(action: Step): void {
  if (action.type === 'put') collection.put(action.name, action.value);
  else if (action.type === 'remove') collection.remove(action.name);
  else if (action.type === 'cut') collection.cut(CUTS[action.how] ?? (() => undefined));
  else if (action.type === 'outage') loseHistory(action.how, action.names);
  else if (action.type === 'compact') collection.compact();
  else if (action.type === 'bookmark') collection.bookmark();
  else if (action.type === 'fail') collection.faults.push(respondWith(500, {}));
  else if (action.type === 'watchList') collection.offersWatchList = !collection.offersWatchList;
}

/** Deletes objects without a watch, so that only a list reveals the deletions, and may re-create one of the objects. */
function loseHistory(how: number, names: readonly string[]): void {
  collection.cut(CUTS[how] ?? (() => undefined));
  for (const gone of names) collection.remove(gone);
  if (names.length === 3) collection.put(names[0] ?? '', 're-created');
  collection.compact();
}

/** Applies changes to a map, and fails if they contradict it. */
function replay(changes: readonly Change<ConfigMap>[]): Map<string, ConfigMap> {
  const state = new Map<string, ConfigMap>();
  for (const change of changes) {
    if (change.type === 'added') expect(state.has(change.key)).toBe(false);
    else expect(state.has(change.key)).toBe(true);
    if (change.type === 'updated') {
      expect(change.previous).toEqual(state.get(change.key));
      expect(change.object.metadata.uid).toBe(change.previous.metadata.uid);
    }
    if (change.type === 'deleted') state.delete(change.key);
    else state.set(change.key, change.object);
  }
  return state;
}

describe('createInformer with a randomly failing server', () => {
  it('converges to the state of the server, both in the store and in the replayed changes', async () => {
    await fc.assert(
      fc.asyncProperty(
        fc.array(fc.record({ action: step, turns: pause }), { maxLength: 60 }),
        fc.integer({ min: 1, max: 3 }),
        async (steps, pageLimit) => {
          collection = new ScriptedCollection();
          collection.pageLimit = pageLimit;
          const informer = inform();
          const changes: Change<ConfigMap>[] = [];
          const running = informer.changes$.subscribe((change) => changes.push(change));
          await eventually(() => expect(informer.synced).toBe(true), clock);
          for (const { action, turns } of steps) {
            perform(action);
            for (let n = 0; n < turns; n += 1) {
              await turn();
              clock.advance(100);
            }
          }
          const truth = () => [...collection.objects.values()].map(({ metadata, data }) => ({ metadata, data }));
          const held = () => informer.store.list().map(({ metadata, data }) => ({ metadata, data }));
          await eventually(() => expect(new Set(held())).toEqual(new Set(truth())), clock);
          await eventually(() => expect(informer.synced).toBe(true), clock);
          expect(new Set(replay(changes).values())).toEqual(new Set(informer.store.list()));
          running.unsubscribe();
        },
      ),
      { numRuns: scaled({ full: 150, quick: 40 }) },
    );
  });
});

describe('createReducedInformer with a budget for each namespace', () => {
  const BUDGET: NamespaceBudget<ConfigMap> = { bytes: 1_000, small: 0, toStub: ({ metadata }) => ({ metadata }) };
  const options = () => ({ client: world.client, resource: ConfigMaps, clock, random: () => 0, idleMs: 1_000_000 });

  /** Starts an informer whose objects have the sizes in their data, and records the changes with the objects that they keep whole. */
  function followBudget(): { readonly informer: Informer<ConfigMap>; readonly seen: string[] } {
    const informer = createReducedInformer<ConfigMap, ConfigMap>(
      options(),
      (object) => recordBytes({ ...object }, Number(object.data?.['value'])),
      BUDGET,
    );
    const seen: string[] = [];
    subscription = informer.changes$.subscribe(({ type, key, object }) =>
      seen.push(`${type} ${key}${type === 'deleted' ? '' : isOverBudget(object) ? ' as stub' : ' whole'}`),
    );
    return { informer, seen };
  }

  function lists(): number {
    return world.server.requests.filter(({ query }) => query.get('sendInitialEvents') === 'true').length;
  }

  /** Ends the watch and waits for the next request. */
  async function nextWatch(): Promise<void> {
    const before = world.server.requests.length;
    collection.cut((watcher) => watcher.end());
    await eventually(() => expect([world.server.requests.length, collection.watching]).toEqual([before + 1, 1]));
  }

  it('counts only the new object after a re-creation while the watch was disconnected', async () => {
    collection.put('a', '600', { uid: 'first' });
    const { seen } = followBudget();
    await eventually(() => expect(seen).toEqual(['added ns/a whole']));
    collection.remove('a');
    collection.put('a', '600', { uid: 'second' });
    collection.compact();
    collection.cut((watcher) => watcher.end());
    await eventually(() => expect(clock.pending).toBeGreaterThan(0));
    clock.advance(2_000);
    await eventually(() => expect(seen.slice(1)).toEqual(['deleted ns/a', 'added ns/a whole']));
  });

  it('does not count the objects of an interrupted list', async () => {
    collection.put('gone', '900');
    const gone = collection.objects.get('gone');
    collection.remove('gone');
    collection.put('a', '600');
    collection.faults.push((_, reply) => {
      reply.open().lines({ type: 'ADDED', object: gone });
      reply.reset();
    });
    const { seen } = followBudget();
    await eventually(() => {
      clock.advance(1_000);
      expect(seen).toEqual(['added ns/a whole']);
    });
  });

  it('does not count an object that was deleted during the initial events', async () => {
    collection.put('gone', '900');
    const gone = collection.objects.get('gone');
    collection.remove('gone');
    collection.put('a', '600');
    const end = { kind: 'ConfigMap', metadata: { resourceVersion: '103', annotations: { 'k8s.io/initial-events-end': 'true' } } };
    collection.faults.push(
      (_, reply) =>
        void reply
          .open()
          .lines(
            { type: 'ADDED', object: gone },
            { type: 'DELETED', object: gone },
            { type: 'ADDED', object: collection.objects.get('a') },
            { type: 'BOOKMARK', object: end },
          ),
    );
    const { seen } = followBudget();
    await eventually(() => expect(seen).toEqual(['added ns/a whole']));
  });

  it('restores an object with a new list at the next watch, after another object is deleted', async () => {
    collection.put('a', '600');
    collection.put('b', '700');
    const { informer, seen } = followBudget();
    await eventually(() => expect(seen).toEqual(['added ns/a whole', 'added ns/b as stub']));
    collection.remove('a');
    await eventually(() => expect(seen).toHaveLength(3));
    clock.advance(300_000);
    await nextWatch();
    await eventually(() => expect(seen.slice(2)).toEqual(['deleted ns/a', 'updated ns/b whole']));
    expect(informer.store.get('ns/b')?.data).toEqual({ value: '700' });
    expect(lists()).toBe(2);
  });

  it('resumes a watch without a list while no object can be restored, or less than 5 min after a list', async () => {
    collection.put('a', '600');
    collection.put('b', '700');
    const { seen } = followBudget();
    await eventually(() => expect(seen).toHaveLength(2));
    clock.advance(300_000);
    await nextWatch();
    expect(lists()).toBe(1);
    collection.remove('a');
    await eventually(() => expect(seen).toHaveLength(3));
    await nextWatch();
    expect(lists()).toBe(2);
    await eventually(() => expect(seen.at(-1)).toBe('updated ns/b whole'));
    // A tenant exceeds the budget, and frees it again.
    collection.put('a', '600');
    await eventually(() => expect(seen.slice(-2)).toEqual(['added ns/a whole', 'updated ns/b as stub']));
    collection.remove('a');
    await eventually(() => expect(seen.at(-1)).toBe('deleted ns/a'));
    clock.advance(299_000);
    await nextWatch();
    expect(lists()).toBe(2);
    clock.advance(1_000);
    await nextWatch();
    expect(lists()).toBe(3);
  });
});
