import { afterEach, beforeEach, describe, expect, it } from '@jest/globals';
import { type ConfigMap, ConfigMaps, type Stored } from '../../src/api/resources.ts';
import { type Cursor, createCursor, type ListWatchEvent, listWatch } from '../../src/kube/list-watch.ts';
import { FakeClock } from '../support/clock.ts';
import { eventually } from './eventually.ts';
import { freeze, respondWith, ScriptedCollection } from './scripted-collection.ts';
import { startWireWorld, type WireWorld } from './wire-world.ts';

let clock: FakeClock;
let collection: ScriptedCollection;
let world: WireWorld;
let stop: AbortController;

beforeEach(async () => {
  clock = new FakeClock();
  collection = new ScriptedCollection();
  world = await startWireWorld((request, reply) => collection.handler(request, reply), clock);
  stop = new AbortController();
});

afterEach(async () => {
  stop.abort();
  await world.close();
});

/** One run of listWatch: events so far, and its end. */
interface Round {
  readonly events: string[];
  readonly ended: Promise<unknown>;
}

function follow(cursor: Cursor, random = 0): Round {
  const events: string[] = [];
  const options = {
    client: world.client,
    resource: ConfigMaps,
    transform: (object: Stored<ConfigMap>) => object,
    clock,
    random: () => random,
  };
  const run = async (): Promise<unknown> => {
    try {
      for await (const event of listWatch(options, cursor, stop.signal)) events.push(formatEvent(event));
      return undefined;
    } catch (error) {
      return error;
    }
  };
  return { events, ended: run() };
}

function formatEvent(event: ListWatchEvent<ConfigMap>): string {
  if (event.type === 'bookmark') return `bookmark ${event.resourceVersion}`;
  const objects = event.type === 'listed' ? event.objects : [event.object];
  return `${event.type} ${objects.map(({ metadata }) => metadata.name).join(',')} ${event.resourceVersion}`;
}

function queries(): string[] {
  return world.server.requests.map(({ query }) => query.toString());
}

async function expectEvents(round: Round, ...events: readonly string[]): Promise<void> {
  await eventually(() => expect(round.events).toEqual(events));
}

async function waitForWatches(count = 1): Promise<void> {
  await eventually(() => expect(collection.watching).toBe(count));
}

describe('listWatch', () => {
  it('lists and watches on one connection with WatchList', async () => {
    collection.put('a', '1');
    const round = follow(createCursor());
    await expectEvents(round, 'listed a 101');
    collection.put('b', '1');
    collection.remove('a');
    collection.bookmark();
    await expectEvents(round, 'listed a 101', 'applied b 102', 'deleted a 103', 'bookmark 103');
    expect(queries()).toEqual([
      'watch=true&allowWatchBookmarks=true&timeoutSeconds=300&sendInitialEvents=true&resourceVersionMatch=NotOlderThan',
    ]);
  });

  it('lists in pages if the server rejects WatchList', async () => {
    collection.offersWatchList = false;
    for (const name of ['a', 'b', 'c']) collection.put(name, '1');
    collection.pageLimit = 2;
    const cursor = createCursor();
    const round = follow(cursor);
    await expectEvents(round, 'listed a,b,c 103');
    await waitForWatches();
    collection.put('a', '2');
    await expectEvents(round, 'listed a,b,c 103', 'applied a 104');
    expect(cursor).toMatchObject({ resourceVersion: '104', pages: 'always' });
    expect(queries().slice(1, 3)).toEqual(['limit=500', 'limit=500&continue=%5B103%2C2%5D']);
  });

  it('lists in pages once after a WatchList whose initial events do not complete', async () => {
    collection.put('a', '1');
    collection.faults.push((_, reply) => void reply.open().lines({ type: 'ADDED', object: collection.objects.get('a') }));
    const cursor = createCursor();
    const round = follow(cursor);
    await eventually(() => expect(world.server.requests).toHaveLength(1));
    await eventually(() => expect(clock.pending).toBe(2));
    clock.advance(20_000);
    expect(await round.ended).toMatchObject({ code: 'ETIMEDOUT' });
    const next = follow(cursor);
    await expectEvents(next, 'listed a 101');
    expect(queries()[1]).toBe('limit=500');
    await waitForWatches();
    collection.put('a', '2');
    collection.compact();
    collection.faults.push(respondWith(410, 'gone'));
    collection.cut((watcher) => watcher.reset());
    await next.ended;
    await follow(cursor).ended;
    await expectEvents(follow(cursor), 'listed a 102');
    expect(queries().at(-1)).toContain('sendInitialEvents=true');
  });

  it('waits 80 s for a bookmark after the list', async () => {
    collection.put('a', '1');
    const round = follow(createCursor());
    await expectEvents(round, 'listed a 101');
    clock.advance(80_000);
    collection.bookmark();
    await expectEvents(round, 'listed a 101', 'bookmark 101');
  });

  it('omits objects deleted during the initial events', async () => {
    const object = { metadata: { name: 'a', namespace: 'ns', uid: 'u', resourceVersion: '101' } };
    const end = { metadata: { resourceVersion: '102', annotations: { 'k8s.io/initial-events-end': 'true' } } };
    collection.faults.push((_, reply) => {
      reply.open().lines({ type: 'ADDED', object }, { type: 'DELETED', object }, { type: 'BOOKMARK', object: end });
    });
    await expectEvents(follow(createCursor()), 'listed  102');
  });

  it('requests WatchList again after a reset connection', async () => {
    collection.faults.push((_, reply) => reply.open().bytes('{').reset());
    const cursor = createCursor();
    await follow(cursor).ended;
    expect(cursor.pages).toBe('never');
  });

  it('resumes after the last event when the server ends a watch', async () => {
    collection.put('a', '1');
    const round = follow(createCursor());
    await expectEvents(round, 'listed a 101');
    clock.advance(60_000);
    collection.cut((watcher) => watcher.end());
    collection.put('b', '1');
    await expectEvents(round, 'listed a 101', 'applied b 102');
    expect(queries()[1]).toBe('watch=true&allowWatchBookmarks=true&timeoutSeconds=300&resourceVersion=101');
  });

  it.each([
    ['a reset connection', (watcher: { reset(): void }) => watcher.reset(), 'TransportError'],
    [
      'an end within an event',
      (watcher: { bytes(text: string): { end(): void } }) => watcher.bytes('{"type":"ADD').end(),
      'BrokenWatchError',
    ],
    ['a line that is not JSON', (watcher: { bytes(text: string): unknown }) => watcher.bytes('<html>\n'), 'BrokenWatchError'],
    [
      'an unknown event type',
      (watcher: { lines(value: unknown): unknown }) => watcher.lines({ type: 'NEW', object: {} }),
      'BrokenWatchError',
    ],
    [
      'an object without a name',
      (watcher: { lines(value: unknown): unknown }) => watcher.lines({ type: 'ADDED', object: { metadata: { resourceVersion: '9' } } }),
      'BrokenWatchError',
    ],
    ['the line null', (watcher: { bytes(text: string): unknown }) => watcher.bytes('null\n'), 'BrokenWatchError'],
  ])('resumes after the last event without a list when a watch breaks with %s', async (_, cut, name) => {
    const cursor = createCursor();
    const round = follow(cursor);
    await expectEvents(round, 'listed  100');
    collection.put('a', '1');
    await expectEvents(round, 'listed  100', 'applied a 101');
    collection.cut(cut);
    expect(await round.ended).toMatchObject({ name });
    collection.put('b', '1');
    const next = follow(cursor);
    await expectEvents(next, 'applied b 102');
    expect(queries().at(-1)).toContain('resourceVersion=101');
  });

  it('never quotes a malformed line, which may contain a Secret', async () => {
    const round = follow(createCursor());
    await waitForWatches();
    collection.cut((watcher) => watcher.bytes('{"data":"c2VjcmV0"\n'));
    expect(String(await round.ended)).not.toContain('c2VjcmV0');
  });

  it('resumes a watch after the last bookmark', async () => {
    const cursor = createCursor();
    const round = follow(cursor);
    await expectEvents(round, 'listed  100');
    collection.put('a', '1');
    collection.bookmark();
    collection.compact();
    await expectEvents(round, 'listed  100', 'applied a 101', 'bookmark 101');
    collection.cut((watcher) => watcher.reset());
    await round.ended;
    collection.put('b', '1');
    await expectEvents(follow(cursor), 'applied b 102');
  });

  it.each([
    ['in the stream', undefined],
    ['as the response', respondWith(410, { kind: 'Status', status: 'Failure', reason: 'Expired', message: 'too old', code: 410 })],
    ['without a Status', respondWith(410, 'gone')],
  ])('lists again after a 410 %s', async (_, fault) => {
    const cursor = createCursor();
    const round = follow(cursor);
    await expectEvents(round, 'listed  100');
    collection.cut((watcher) => watcher.reset());
    await round.ended;
    collection.put('a', '1');
    collection.put('b', '1');
    collection.compact();
    if (fault) collection.faults.push(fault);
    expect(await follow(cursor).ended).toMatchObject({ name: 'StatusError', code: 410 });
    expect(cursor.resourceVersion).toBeUndefined();
    await expectEvents(follow(cursor), 'listed a,b 102');
  });

  it('treats a watch that ends within a second without events as a failure', async () => {
    const cursor = createCursor();
    const round = follow(cursor);
    await expectEvents(round, 'listed  100');
    collection.faults.push((_, reply) => reply.open().end());
    collection.cut((watcher) => watcher.end());
    expect(await round.ended).toMatchObject({ name: 'BrokenWatchError' });
    expect(cursor.resourceVersion).toBe('100');
  });

  it('resumes after the last event when a watch is silent for 90 s', async () => {
    const cursor = createCursor();
    const round = follow(cursor);
    await expectEvents(round, 'listed  100');
    clock.advance(89_000);
    collection.bookmark();
    await expectEvents(round, 'listed  100', 'bookmark 100');
    clock.advance(89_000);
    expect(collection.watching).toBe(1);
    clock.advance(1_000);
    expect(await round.ended).toMatchObject({ code: 'ETIMEDOUT' });
    collection.put('a', '1');
    await expectEvents(follow(cursor), 'applied a 101');
  });

  it('fails if the server accepts a watch and never responds', async () => {
    collection.faults.push(freeze);
    const round = follow(createCursor());
    await eventually(() => expect(world.server.requests).toHaveLength(1));
    clock.advance(30_000);
    expect(await round.ended).toMatchObject({ code: 'ETIMEDOUT' });
  });

  it.each([
    [0, 300],
    [0.5, 450],
    [0.999999, 599],
  ])('spreads the timeouts of watches: random value %d requests %d s', async (random, seconds) => {
    follow(createCursor(), random);
    await waitForWatches();
    expect(queries()[0]).toContain(`timeoutSeconds=${seconds}&`);
  });

  it('closes the watch and clears timers on abort', async () => {
    const round = follow(createCursor());
    await waitForWatches();
    stop.abort();
    expect(await round.ended).toMatchObject({ name: 'AbortError' });
    await waitForWatches(0);
    expect(clock.pending).toBe(0);
  });
});
