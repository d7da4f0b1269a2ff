import { beforeEach, describe, expect, it } from '@jest/globals';
import { merge, mergeMap, type Observable, type Subscription } from 'rxjs';
import { TestScheduler } from 'rxjs/testing';
import { Clusters, type ConfigMap, ConfigMaps, ManagedTokens, Secrets, type Stored } from '../../src/api/resources.ts';
import { createInformer } from '../../src/kube/informer.ts';
import type { Change } from '../../src/kube/store.ts';
import type { WatchEvent } from '../../src/kube/watch-events.ts';
import { dueNow, mapToKeys, owner, self, whenSynced } from '../../src/runtime/trigger.ts';
import { turn } from '../kube/eventually.ts';
import { FakeClock } from '../support/clock.ts';
import { stored } from '../support/stored.ts';
import { HandInformer } from './hand-informer.ts';

let version = 0;

function object(name: string, more: Partial<ConfigMap['metadata']> = {}): Stored<ConfigMap> {
  version += 1;
  return stored({ metadata: { name, namespace: 'ns', uid: `uid-${name}`, resourceVersion: String(version), ...more } });
}

function updated(current: Stored<ConfigMap>, previous: Stored<ConfigMap>): Change<ConfigMap> {
  return { type: 'updated', key: 'ns/x', object: current, previous };
}

describe('self', () => {
  it('returns the key of the changed object', () => {
    const scheduler = new TestScheduler((actual, expected) => expect(actual).toEqual(expected));
    scheduler.run(({ hot, expectObservable }) => {
      const changes: Readonly<Record<string, Change<ConfigMap>>> = {
        a: { type: 'added', key: 'ns/a', object: object('a') },
        d: { type: 'deleted', key: 'ns/b', object: object('b') },
      };
      expectObservable(hot('-a-d-a', changes).pipe(mergeMap(self))).toBe('-a-b-a', { a: 'ns/a', b: 'ns/b' });
    });
  });
});

describe('owner', () => {
  const token = { apiVersion: 'tokens.purser.dev/v1alpha1', kind: 'ManagedToken', name: 'ci', uid: '1' };
  const owned = (...ownerReferences: readonly (typeof token)[]) => object('s', { ownerReferences });

  it.each([
    ['an owner of the kind', [token], ['ns/ci']],
    ['all owners of the kind', [token, { ...token, name: 'cd' }], ['ns/ci', 'ns/cd']],
    ['an owner of another version', [{ ...token, apiVersion: 'tokens.purser.dev/v2' }], ['ns/ci']],
    ['no owner of another kind', [{ ...token, kind: 'Cluster' }], []],
    ['no owner of another group', [{ ...token, apiVersion: 'example.com/v1alpha1' }], []],
    ['no owner of the core group', [{ ...token, apiVersion: 'v1' }], []],
  ])('returns %s', (_case, references, keys) => {
    expect(owner(ManagedTokens)({ type: 'added', key: 'ns/s', object: owned(...references) })).toEqual(keys);
  });

  it('returns an owner of the core group', () => {
    const secret = { apiVersion: 'v1', kind: 'Secret', name: 'anchor', uid: '1' };
    expect(owner(Secrets)({ type: 'deleted', key: 'ns/s', object: owned(secret) })).toEqual(['ns/anchor']);
  });

  it('returns a cluster-scoped owner without a namespace', () => {
    const cluster = { apiVersion: 'registry.purser.dev/v1alpha1', kind: 'Cluster', name: 'prod', uid: '1' };
    expect(owner(Clusters)({ type: 'added', key: 'ns/s', object: owned(cluster) })).toEqual(['prod']);
  });

  it('returns previous and current owners once each', () => {
    const wake = owner(ManagedTokens);
    expect(wake(updated(owned(), owned(token)))).toEqual(['ns/ci']);
    expect(wake(updated(owned(token), owned(token)))).toEqual(['ns/ci']);
    expect(wake({ type: 'added', key: 'ns/s', object: object('s') })).toEqual([]);
  });
});

describe('mapToKeys', () => {
  it('returns the keys of the previous and the current object', () => {
    const wake = mapToKeys(({ metadata }: ConfigMap) => new Set([metadata.labels?.['cluster'] ?? 'none', 'all']));
    const [eu, us] = [object('x', { labels: { cluster: 'eu' } }), object('x', { labels: { cluster: 'us' } })];
    expect(wake(updated(us, eu))).toEqual(['us', 'all', 'eu']);
    expect(wake({ type: 'deleted', key: 'ns/x', object: eu })).toEqual(['eu', 'all']);
  });
});

describe('dueNow', () => {
  it('requests each key at the current time', () => {
    const clock = new FakeClock(1_000);
    const scheduler = new TestScheduler((actual, expected) => expect(actual).toEqual(expected));
    scheduler.run(({ cold, expectObservable }) => {
      expectObservable(cold('a-b|').pipe(dueNow(clock))).toBe('a-b|', { a: { key: 'a', dueAt: 1_000 }, b: { key: 'b', dueAt: 1_000 } });
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
    const live$ = merge(tokens.changes$.pipe(mergeMap(self)), secrets.changes$.pipe(mergeMap(mapToKeys(() => ['of-secret']))));
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
    tokens.list(object('a'));
    expect([tokens.runs, secrets.runs, seen]).toEqual([true, true, []]);
    secrets.list();
    subscription.unsubscribe();
    expect([tokens.runs, secrets.runs]).toEqual([false, false]);
  });

  it('emits every known key once after the sync, then live keys', () => {
    follow();
    tokens.list(object('a'), object('b'), object('c'));
    tokens.delete(object('c'));
    tokens.apply(object('d'));
    expect(seen).toEqual([]);
    secrets.list(object('s'));
    expect(seen).toEqual(['ns/a', 'ns/b', 'ns/d']);
    tokens.apply(object('a'));
    secrets.apply(object('t'));
    expect(seen.slice(3)).toEqual(['ns/a', 'of-secret']);
  });

  it('starts immediately if all informers are synced', () => {
    merge(tokens.changes$, secrets.changes$).subscribe();
    tokens.list(object('a'));
    secrets.list();
    follow();
    expect(seen).toEqual(['ns/a']);
  });

  it('loses no change made in the turn in which the last informer syncs', () => {
    follow();
    tokens.list(object('a'));
    secrets.list();
    tokens.apply(object('b'));
    tokens.delete(object('a'));
    expect(seen).toEqual(['ns/a', 'ns/b', 'ns/a']);
  });

  it('loses no change made while the known keys are emitted', () => {
    let isFirst = true;
    follow(() => {
      if (!isFirst) return;
      isFirst = false;
      tokens.apply(object('new'));
      secrets.apply(object('s'));
    });
    tokens.list(object('a'), object('b'));
    secrets.list();
    expect(seen).toEqual(['ns/a', 'ns/new', 'of-secret', 'ns/b']);
  });

  it('loses no change made by another subscriber of the sync', () => {
    secrets.synced$.subscribe((synced) => {
      if (synced) tokens.apply(object('new'));
    });
    follow();
    tokens.list(object('a'));
    secrets.list();
    expect(seen).toEqual(['ns/a', 'ns/new']);
  });

  it('follows real informers from their list on', async () => {
    let end: (() => void) | undefined;
    async function* watch(): AsyncGenerator<WatchEvent<ConfigMap>> {
      yield { type: 'ADDED', object: object('a') };
      yield { type: 'BOOKMARK', resourceVersion: '10', endsInitialEvents: true };
      yield { type: 'ADDED', object: object('b') };
      await new Promise<void>((resolve) => {
        end = resolve;
      });
    }
    const client = { watch, pages: watch } as unknown as Parameters<typeof createInformer<ConfigMap>>[0]['client'];
    const informer = createInformer({ client, resource: ConfigMaps, clock: new FakeClock(), random: () => 0 });
    const live$ = informer.changes$.pipe(mergeMap(self));
    const subscription = whenSynced([informer], () => informer.store.keys(), live$).subscribe((key) => seen.push(key));
    await turn();
    expect([seen, informer.synced]).toEqual([['ns/a', 'ns/b'], true]);
    subscription.unsubscribe();
    expect(informer.synced).toBe(false);
    end?.();
  });
});
