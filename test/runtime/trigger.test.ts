import { beforeEach, describe, expect, it } from '@jest/globals';
import { filter, merge, mergeMap, type Observable, type Subscription } from 'rxjs';
import { TestScheduler } from 'rxjs/testing';
import { type ApiObject, Clusters, type ConfigMap, ConfigMaps, ManagedTokens, Secrets, type Stored } from '../../src/api/resources.ts';
import { createInformer } from '../../src/kube/informer.ts';
import type { Change } from '../../src/kube/store.ts';
import type { WatchEvent } from '../../src/kube/watch-events.ts';
import {
  annotationsChanged,
  anyOf,
  conditionTurnedTrue,
  fieldChanged,
  generationChanged,
  labelsChanged,
  mapToKeys,
  mapToOwnerKeys,
  type Predicate,
  requestNow,
  statusChangedByOthers,
  toSelfKeys,
  whenSynced,
} from '../../src/runtime/trigger.ts';
import { turn } from '../kube/eventually.ts';
import { FakeClock } from '../support/clock.ts';
import { stored } from '../support/stored.ts';
import { HandInformer } from './hand-informer.ts';

let version = 0;

function configMap(name: string, more: Partial<ConfigMap['metadata']> = {}): Stored<ConfigMap> {
  version += 1;
  return stored({ metadata: { name, namespace: 'ns', uid: `uid-${name}`, resourceVersion: String(version), ...more } });
}

function updated(current: Stored<ConfigMap>, previous: Stored<ConfigMap>): Change<ConfigMap> {
  return { type: 'updated', key: 'ns/x', object: current, previous };
}

describe('toSelfKeys', () => {
  it('returns the key of the changed object', () => {
    const scheduler = new TestScheduler((actual, expected) => expect(actual).toEqual(expected));
    scheduler.run(({ hot, expectObservable }) => {
      const changes: Readonly<Record<string, Change<ConfigMap>>> = {
        a: { type: 'added', key: 'ns/a', object: configMap('a') },
        d: { type: 'deleted', key: 'ns/b', object: configMap('b') },
      };
      expectObservable(hot('-a-d-a', changes).pipe(mergeMap(toSelfKeys))).toBe('-a-b-a', { a: 'ns/a', b: 'ns/b' });
    });
  });
});

describe('mapToOwnerKeys', () => {
  const token = { apiVersion: 'tokens.purser.dev/v1alpha1', kind: 'ManagedToken', name: 'ci', uid: '1' };
  const owned = (...ownerReferences: readonly (typeof token)[]) => configMap('s', { ownerReferences });

  it.each([
    ['an owner of the kind', [token], ['ns/ci']],
    ['all owners of the kind', [token, { ...token, name: 'cd' }], ['ns/ci', 'ns/cd']],
    ['an owner of another version', [{ ...token, apiVersion: 'tokens.purser.dev/v2' }], ['ns/ci']],
    ['no owner of another kind', [{ ...token, kind: 'Cluster' }], []],
    ['no owner of another group', [{ ...token, apiVersion: 'example.com/v1alpha1' }], []],
    ['no owner of the core group', [{ ...token, apiVersion: 'v1' }], []],
  ])('returns %s', (_case, references, keys) => {
    expect(mapToOwnerKeys(ManagedTokens)({ type: 'added', key: 'ns/s', object: owned(...references) })).toEqual(keys);
  });

  it('returns an owner of the core group', () => {
    const secret = { apiVersion: 'v1', kind: 'Secret', name: 'anchor', uid: '1' };
    expect(mapToOwnerKeys(Secrets)({ type: 'deleted', key: 'ns/s', object: owned(secret) })).toEqual(['ns/anchor']);
  });

  it('returns a cluster-scoped owner without a namespace', () => {
    const cluster = { apiVersion: 'registry.purser.dev/v1alpha1', kind: 'Cluster', name: 'prod', uid: '1' };
    expect(mapToOwnerKeys(Clusters)({ type: 'added', key: 'ns/s', object: owned(cluster) })).toEqual(['prod']);
  });

  it('returns previous and current owners once each', () => {
    const wake = mapToOwnerKeys(ManagedTokens);
    expect(wake(updated(owned(), owned(token)))).toEqual(['ns/ci']);
    expect(wake(updated(owned(token), owned(token)))).toEqual(['ns/ci']);
    expect(wake({ type: 'added', key: 'ns/s', object: configMap('s') })).toEqual([]);
  });
});

describe('mapToKeys', () => {
  it('returns the keys of the previous and the current object', () => {
    const wake = mapToKeys(({ metadata }: ConfigMap) => new Set([metadata.labels?.['cluster'] ?? 'none', 'all']));
    const [eu, us] = [configMap('x', { labels: { cluster: 'eu' } }), configMap('x', { labels: { cluster: 'us' } })];
    expect(wake(updated(us, eu))).toEqual(['us', 'all', 'eu']);
    expect(wake({ type: 'deleted', key: 'ns/x', object: eu })).toEqual(['eu', 'all']);
  });
});

describe('requestNow', () => {
  it('requests each key at the current time', () => {
    const clock = new FakeClock(1_000);
    const scheduler = new TestScheduler((actual, expected) => expect(actual).toEqual(expected));
    scheduler.run(({ cold, expectObservable }) => {
      expectObservable(cold('a-b|').pipe(requestNow(clock))).toBe('a-b|', { a: { key: 'a', dueAt: 1_000 }, b: { key: 'b', dueAt: 1_000 } });
    });
  });
});

describe('whenSynced', () => {
  let tokens: HandInformer<ConfigMap>;
  let secrets: HandInformer<ConfigMap>;
  let seen: string[];

  beforeEach(() => {
    tokens = new HandInformer();
    secrets = new HandInformer();
    seen = [];
  });

  function keys(): Observable<string> {
    const live$ = merge(tokens.changes$.pipe(mergeMap(toSelfKeys)), secrets.changes$.pipe(mergeMap(mapToKeys(() => ['of-secret']))));
    return whenSynced([tokens, secrets], () => tokens.store.keys(), live$);
  }

  function follow(onKey: (key: string) => void = () => {}): Subscription {
    return keys().subscribe((key) => {
      seen.push(key);
      onKey(key);
    });
  }

  it('runs the informers while it is subscribed', () => {
    const subscription = follow();
    expect([tokens.runs, secrets.runs]).toEqual([true, true]);
    tokens.list(configMap('a'));
    expect([tokens.runs, secrets.runs, seen]).toEqual([true, true, []]);
    secrets.list();
    subscription.unsubscribe();
    expect([tokens.runs, secrets.runs]).toEqual([false, false]);
  });

  it('emits every known key once after the sync, then live keys', () => {
    follow();
    tokens.list(configMap('a'), configMap('b'), configMap('c'));
    tokens.delete(configMap('c'));
    tokens.apply(configMap('d'));
    expect(seen).toEqual([]);
    secrets.list(configMap('s'));
    expect(seen).toEqual(['ns/a', 'ns/b', 'ns/d']);
    tokens.apply(configMap('a'));
    secrets.apply(configMap('t'));
    expect(seen.slice(3)).toEqual(['ns/a', 'of-secret']);
  });

  it('starts immediately if all informers are synced', () => {
    merge(tokens.changes$, secrets.changes$).subscribe();
    tokens.list(configMap('a'));
    secrets.list();
    follow();
    expect(seen).toEqual(['ns/a']);
  });

  it('loses no change made in the turn in which the last informer syncs', () => {
    follow();
    tokens.list(configMap('a'));
    secrets.list();
    tokens.apply(configMap('b'));
    tokens.delete(configMap('a'));
    expect(seen).toEqual(['ns/a', 'ns/b', 'ns/a']);
  });

  it('loses no change made while the known keys are emitted', () => {
    let isFirst = true;
    follow(() => {
      if (!isFirst) return;
      isFirst = false;
      tokens.apply(configMap('new'));
      secrets.apply(configMap('s'));
    });
    tokens.list(configMap('a'), configMap('b'));
    secrets.list();
    expect(seen).toEqual(['ns/a', 'ns/new', 'of-secret', 'ns/b']);
  });

  it('loses no change made by another subscriber of the sync', () => {
    secrets.synced$.subscribe((synced) => {
      if (synced) tokens.apply(configMap('new'));
    });
    follow();
    tokens.list(configMap('a'));
    secrets.list();
    expect(seen).toEqual(['ns/a', 'ns/new']);
  });

  it('emits the keys of the first list and of later changes of real informers', async () => {
    let end: (() => void) | undefined;
    async function* watch(): AsyncGenerator<WatchEvent<ConfigMap>> {
      yield { type: 'ADDED', object: configMap('a') };
      yield { type: 'BOOKMARK', resourceVersion: '10', endsInitialEvents: true };
      yield { type: 'ADDED', object: configMap('b') };
      await new Promise<void>((resolve) => {
        end = resolve;
      });
    }
    const client = { watch, pages: watch } as unknown as Parameters<typeof createInformer<ConfigMap>>[0]['client'];
    const informer = createInformer({ client, resource: ConfigMaps, clock: new FakeClock(), random: () => 0 });
    const live$ = informer.changes$.pipe(mergeMap(toSelfKeys));
    const subscription = whenSynced([informer], () => informer.store.keys(), live$).subscribe((key) => seen.push(key));
    await turn();
    expect([seen, informer.synced]).toEqual([['ns/a', 'ns/b'], true]);
    subscription.unsubscribe();
    expect(informer.synced).toBe(false);
    end?.();
  });
});

interface Thing extends ApiObject {
  readonly status?: { readonly conditions?: readonly { readonly type: string; readonly status: string }[]; readonly phase?: string };
}

function thing(metadata: Thing['metadata'], status?: Thing['status']): Stored<Thing> {
  return stored({ metadata, ...(status && { status }) });
}

function update(previous: Stored<Thing>, object: Stored<Thing>): Change<Thing> {
  return { type: 'updated', key: 'ns/x', object, previous };
}

const added: Change<Thing> = { type: 'added', key: 'ns/x', object: thing({}) };
const deleted: Change<Thing> = { type: 'deleted', key: 'ns/x', object: thing({}) };

describe('predicates', () => {
  it.each<[string, Predicate<Thing>]>([
    ['generationChanged', generationChanged],
    ['annotationsChanged', annotationsChanged('tokens.purser.dev/')],
    ['labelsChanged', labelsChanged],
    ['fieldChanged', fieldChanged<Thing>(({ status }) => status?.phase)],
    ['statusChangedByOthers', statusChangedByOthers(() => undefined)],
  ])('matches added and deleted objects: %s', (_name, predicate) => {
    expect([added, deleted].map(predicate)).toEqual([true, true]);
  });

  it('filters a stream of changes', () => {
    const scheduler = new TestScheduler((actual, expected) => expect(actual).toEqual(expected));
    scheduler.run(({ hot, expectObservable }) => {
      const changes = {
        a: added,
        s: update(thing({ generation: 1 }), thing({ generation: 1 }, { phase: 'new' })),
        g: update(thing({ generation: 1 }), thing({ generation: 2 })),
      };
      expectObservable(hot('a-s-g-s|', changes).pipe(filter(generationChanged))).toBe('a---g--|', changes);
    });
  });
});

describe('annotationsChanged', () => {
  const rotate = 'tokens.purser.dev/rotate';

  it.each([
    ['an annotation with the prefix is added', undefined, { [rotate]: '1' }, true],
    ['an annotation with the prefix changes', { [rotate]: '1', note: 'x' }, { [rotate]: '2', note: 'x' }, true],
    ['an annotation with the prefix is removed', { [rotate]: '1' }, undefined, true],
    ['only an annotation without the prefix changes', { [rotate]: '1', note: 'x' }, { note: 'y', [rotate]: '1' }, false],
    ['only an annotation that contains the prefix elsewhere is added', {}, { 'x.tokens.purser.dev/rotate': '1' }, false],
  ])('returns whether annotationsChanged matches an update in which %s', (_case, before, after, holds) => {
    const [previous, object] = [before, after].map((annotations) => thing(annotations ? { annotations } : {}));
    expect(annotationsChanged('tokens.purser.dev/')(update(previous ?? thing({}), object ?? thing({})))).toBe(holds);
  });
});

describe('labelsChanged and fieldChanged', () => {
  const phaseChanged = fieldChanged<Thing>(({ status }) => status?.phase);

  it.each([
    ['a changed label', thing({ labels: { a: '1' } }), thing({ labels: { a: '2' } }), [true, false]],
    ['a removed label', thing({ labels: { a: '1' } }), thing({}), [true, false]],
    ['labels in another order', thing({ labels: { a: '1', b: '2' } }), thing({ labels: { b: '2', a: '1' } }), [false, false]],
    ['a changed field', thing({}, { phase: 'a' }), thing({}, { phase: 'b' }), [false, true]],
    ['a change of another field', thing({ generation: 1 }, { phase: 'a' }), thing({ generation: 2 }, { phase: 'a' }), [false, false]],
  ])('returns whether labelsChanged and fieldChanged match an update with %s', (_, previous, object, expected) => {
    expect([labelsChanged, phaseChanged].map((predicate) => predicate(update(previous, object)))).toEqual(expected);
  });
});

describe('statusChangedByOthers', () => {
  const ours = { phase: 'Ready', conditions: [{ type: 'Ready', status: 'True' }] };
  const sameInAnotherOrder = { conditions: [{ status: 'True', type: 'Ready' }], phase: 'Ready' };
  const theirs = { ...ours, phase: 'Hacked' };

  it.each([
    ['equals the written one', undefined, sameInAnotherOrder, false],
    ['is edited by another client', ours, theirs, true],
    ['is removed by another client', ours, undefined, true],
    ['is unchanged but foreign', theirs, theirs, false],
    ['is restored to the written one', theirs, ours, false],
  ])('returns whether another client wrote a status that %s', (_case, before, after, holds) => {
    const predicate = statusChangedByOthers<Thing>((key) => (key === 'ns/x' ? ours : undefined));
    expect(predicate(update(thing({}, before), thing({}, after)))).toBe(holds);
  });

  it('matches any new status before the first write', () => {
    expect(statusChangedByOthers<Thing>(() => undefined)(update(thing({}), thing({}, ours)))).toBe(true);
  });
});

describe('conditionTurnedTrue', () => {
  const withReady = (status: string) =>
    thing(
      {},
      {
        conditions: [
          { type: 'Reachable', status: 'True' },
          { type: 'Ready', status },
        ],
      },
    );
  const predicate = conditionTurnedTrue<Thing>('Ready');

  it.each([
    ['became True', update(withReady('False'), withReady('True')), true],
    ['was unknown before', update(withReady('Unknown'), withReady('True')), true],
    ['was absent before', update(thing({}), withReady('True')), true],
    ['is True on a new object', { type: 'added', key: 'x', object: withReady('True') } as const, true],
    ['stayed True', update(withReady('True'), withReady('True')), false],
    ['became False', update(withReady('True'), withReady('False')), false],
    ['is absent', update(thing({}), thing({})), false],
    ['is not True on a new object', added, false],
    ['was True on a deleted object', { type: 'deleted', key: 'x', object: withReady('True') } as const, false],
  ])('returns whether conditionTurnedTrue matches a condition that %s', (_case, change, holds) => {
    expect(predicate(change)).toBe(holds);
  });
});

describe('anyOf', () => {
  it('matches if one of the predicates matches', () => {
    const change = update(thing({ generation: 1, annotations: { a: '1' } }), thing({ generation: 1, annotations: { a: '2' } }));
    const both = anyOf(generationChanged, annotationsChanged('a'));
    expect([both(change), anyOf(generationChanged)(change), anyOf()(change)]).toEqual([true, false, false]);
  });
});
