import { afterEach, beforeEach, describe, expect, it } from '@jest/globals';
import type { KubeObject } from '../../../src/kubernetes/object.ts';
import { parseSelectors, Selection } from '../../../src/kubernetes/selection.ts';
import { parseListOptions } from '../../../src/kubernetes/wire/list-options.ts';
import { ApiWorld } from '../../../test/support/api-world.ts';
import type { Kind } from '../../kinds/kind.ts';
import { type WatchEvent, WatchQueue, watchObjects } from '../../verbs/watch.ts';

const configMap = (name: string, labels?: Record<string, string>): KubeObject => ({
  apiVersion: 'v1',
  kind: 'ConfigMap',
  metadata: { name, namespace: 'default', ...(labels && { labels }) },
});

describe('watchObjects', () => {
  let world: ApiWorld;
  let disconnect: AbortController;
  let idle: number;
  beforeEach(async () => {
    world = await ApiWorld.start();
    disconnect = new AbortController();
    idle = world.clock.pending;
  });
  afterEach(() => {
    disconnect.abort();
    // Every watch must cancel its timers when it ends.
    expect(world.clock.pending).toBe(idle);
  });

  const watch = async (query: string) => {
    const kind = world.api.registry.find('', 'v1', 'configmaps') as Kind;
    const options = parseListOptions(new URLSearchParams(query));
    const selection = new Selection(kind, parseSelectors(options.labelSelector, options.fieldSelector), 'default');
    const batches = await watchObjects(world.api, { kind, selection, options, signal: disconnect.signal });
    return batches[Symbol.asyncIterator]();
  };
  const shown = (event: WatchEvent) => (event.type === 'ERROR' ? event.status.reason : `${event.type} ${event.object.metadata.name ?? ''}`);
  const next = async (watching: AsyncIterator<readonly WatchEvent[]>) => {
    const { value, done } = await watching.next();
    return done === true ? 'the end' : value.map(shown);
  };

  const rewrite = async (times: number) => {
    for (let turn = 0; turn < times; turn++) world.api.store.put('configmaps', 'default/one', configMap('one'));
    await world.waitForWrites();
  };

  it('sends ADDED, MODIFIED and DELETED as objects enter, change in and leave the selection', async () => {
    const watching = await watch('labelSelector=team%3Da');
    await world.create(configMap('other'));
    const created = await world.create(configMap('one', { team: 'a' }));
    await world.update({ ...created, data: { x: '1' } });
    await world.update({ ...(world.find(created) as KubeObject), metadata: { ...configMap('one').metadata } });
    expect(await next(watching)).toEqual(['ADDED one', 'MODIFIED one', 'DELETED one']);
  });

  it('sends each change once, after its commit', async () => {
    void world.create(configMap('one'));
    const starting = watch('sendInitialEvents=true&resourceVersionMatch=NotOlderThan&allowWatchBookmarks=true');
    void world.create(configMap('two'));
    const watching = await starting;
    void world.create(configMap('three'));
    const names = (await next(watching)) as readonly string[];
    expect(world.api.store.get('configmaps', 'default/three')).toBeDefined();
    expect(names.filter((name) => /one|two|three/.test(name))).toEqual(['ADDED one', 'ADDED two']);
    expect(names.at(-1)).toBe('BOOKMARK ');
    expect(await next(watching)).toEqual(['ADDED three']);
  });

  it('resumes from an earlier revision', async () => {
    const { revision } = world.api.store;
    await world.create(configMap('one'));
    await world.delete(configMap('one'));
    expect(await next(await watch(`resourceVersion=${revision}`))).toEqual(['ADDED one', 'DELETED one']);
  });

  it('sends an ERROR event for an old revision and ends', async () => {
    await rewrite(20_001);
    const watching = await watch('resourceVersion=2');
    expect(await next(watching)).toEqual(['Expired']);
    expect(await next(watching)).toBe('the end');
  });

  it('sends a bookmark each minute after a change, and one before the end', async () => {
    const watching = await watch('allowWatchBookmarks=true&timeoutSeconds=150');
    await world.advance(60_000);
    await world.create({ ...configMap('secret'), kind: 'Secret' });
    await world.advance(60_000);
    expect(await next(watching)).toEqual(['BOOKMARK ']);
    await world.advance(27_999);
    const pending = next(watching);
    await world.advance(1);
    expect(await pending).toEqual(['BOOKMARK ']);
    await world.advance(2_000);
    expect(await next(watching)).toBe('the end');
  });

  it('closes the watch of a slow reader', async () => {
    const watching = await watch('');
    await rewrite(10_001);
    expect(await next(watching)).toBe('the end');
  });

  it('unsubscribes if the caller disconnects before reading', async () => {
    const watching = await watch('allowWatchBookmarks=true');
    expect(world.clock.pending).toBeGreaterThan(idle);
    disconnect.abort();
    expect(world.clock.pending).toBe(idle);
    await world.create(configMap('late'));
    expect(await next(watching)).toBe('the end');
  });

  it('ends immediately for an aborted request', async () => {
    disconnect.abort();
    expect(await next(await watch('allowWatchBookmarks=true'))).toBe('the end');
  });
});

describe('WatchQueue', () => {
  it('returns items in order', async () => {
    const queue = new WatchQueue<number>(10, [1, 2]);
    queue.push(3);
    expect(await queue.take()).toEqual([1, 2, 3]);
    const next = queue.take();
    queue.push(4);
    expect(await next).toEqual([4]);
  });

  it('closes when the number of items exceeds its capacity', async () => {
    const queue = new WatchQueue<number>(2, []);
    for (const item of [1, 2, 3, 4]) queue.push(item);
    expect(await queue.take()).toBeUndefined();
  });

  it('accepts initial items beyond the capacity', async () => {
    const patient = new WatchQueue<number>(2, [1, 2, 3]);
    expect(await patient.take()).toEqual([1, 2, 3]);
    const behind = new WatchQueue<number>(2, [1, 2, 3]);
    behind.push(4);
    expect(await behind.take()).toBeUndefined();
  });

  it('returns waiting items after close and accepts no more', async () => {
    const queue = new WatchQueue<number>(2, [1]);
    queue.close();
    queue.push(2);
    expect(await queue.take()).toEqual([1]);
    expect(await queue.take()).toBeUndefined();
  });

  it('resolves a waiting reader on close', async () => {
    const queue = new WatchQueue<number>(2, []);
    const taken = queue.take();
    queue.close();
    expect(await taken).toBeUndefined();
  });
});
