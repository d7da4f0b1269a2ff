import { describe, expect, it } from '@jest/globals';
import { Subject, Subscription } from 'rxjs';
import { Visibility } from '../../../src/access/visibility.ts';
import type { ApiObject } from '../../../src/api/resources.ts';
import type { FilteredList, Followed } from '../../../src/facade/listwatch/filtered-list.ts';
import { createListWatch, type ListWatch } from '../../../src/facade/listwatch/list-watch.ts';
import type { StreamedReply } from '../../../src/facade/request.ts';
import type { Batch } from '../../../src/kube/store.ts';
import { customTable } from '../../../src/kubernetes/custom-table.ts';
import { FakeClock } from '../../support/clock.ts';
import { callerOf, requestOf, settle, WatchStream, writeReply } from './replica.ts';

interface Widget extends ApiObject {
  readonly spec: { readonly color: string; readonly password: string };
}

const VISIBLE = new Visibility(new Set(['team-a/one', 'team-b/one', 'team-b/two']));

/** A list of a namespaced kind with one public field. Callers see the objects in VISIBLE. */
const WIDGETS: FilteredList<Widget> = {
  plural: 'widgets',
  kind: {
    group: 'example.com',
    version: 'v1',
    kind: 'Widget',
    listKind: 'WidgetList',
    builtIn: false,
    schema: { type: 'object' },
    table: customTable([]),
    namespaced: true,
    selectableFields: {},
    fieldLabelErrors: 'named',
  },
  schema: { type: 'object', description: 'A widget.' },
  toPublic: ({ metadata, spec: { color } }) => ({ apiVersion: 'example.com/v1', kind: 'Widget', metadata, spec: { color } }),
  weightOf: () => 100,
  access: {
    visibleTo: async () => VISIBLE,
    visibleNow: () => VISIBLE,
    follow: () => () => {},
    run: () => new Subscription(),
  },
};

function widget(namespace: string, name: string, resourceVersion: string, color = 'red'): Widget {
  return { metadata: { namespace, name, resourceVersion }, spec: { color, password: 'hunter2' } };
}

/** Informer and endpoints of a fresh replica, with five widgets in three namespaces. */
function widgets() {
  const batches$ = new Subject<Batch<Widget>>();
  const stored = [
    widget('team-a', 'one', '3'),
    widget('team-a', 'two', '4'),
    widget('team-b', 'one', '5'),
    widget('team-b', 'two', '6'),
    widget('team-b-2', 'one', '7'),
  ];
  const objects = { store: { resourceVersion: '7', list: () => stored }, batches$ } as unknown as Followed<Widget>;
  const endpoints = createListWatch({ list: WIDGETS, objects, clock: new FakeClock(), random: () => 0 });
  endpoints.run();
  /** Applies changes of the hub at one revision. */
  const change = async (resourceVersion: string, ...changed: readonly Widget[]) => {
    const changes = changed.map((object) => ({
      type: 'updated' as const,
      key: `${object.metadata.namespace}/${object.metadata.name}`,
      object,
      previous: object,
    }));
    batches$.next({ type: 'applied', resourceVersion, changes } as unknown as Batch<Widget>);
    await settle();
  };
  return { endpoints, change };
}

interface WidgetList {
  readonly metadata: { readonly selfLink: string; readonly continue: string; readonly remainingItemCount?: number };
  readonly items: readonly Widget[];
}

async function listed(endpoints: ListWatch, query: string, params: Readonly<Record<string, string>> = {}): Promise<WidgetList> {
  const reply = await endpoints.list({ ...requestOf(query, callerOf('alice')), params });
  return JSON.parse(String((reply as { readonly body: Buffer }).body)) as WidgetList;
}

async function watched(endpoints: ListWatch, query: string, params: Readonly<Record<string, string>> = {}): Promise<WatchStream> {
  const reply = await endpoints.list({ ...requestOf(`watch=true&${query}`, callerOf('alice')), params });
  const stream = new WatchStream();
  void writeReply(reply as StreamedReply, stream);
  await settle();
  return stream;
}

function keysOf(objects: readonly Pick<Widget, 'metadata'>[]): readonly string[] {
  return objects.map(({ metadata: { namespace, name } }) => `${namespace}/${name}`);
}

/** Returns types and keys of the events since the last call. */
function eventsOf(stream: WatchStream): readonly string[] {
  return stream.take().map(({ type, object }) => `${type} ${keysOf([object as unknown as Widget])[0]}`);
}

describe('createListWatch', () => {
  it('lists the visible objects of any kind with their public fields', async () => {
    const { endpoints } = widgets();
    const list = await listed(endpoints, '');
    expect(list).toMatchObject({ apiVersion: 'example.com/v1', kind: 'WidgetList', metadata: { selfLink: '/auth/v1/widgets' } });
    expect(keysOf(list.items)).toEqual(['team-a/one', 'team-b/one', 'team-b/two']);
    expect(list.items[0]?.spec).toEqual({ color: 'red' });
  });

  it('sends the visible changes of any kind to watchers, without hidden fields', async () => {
    const { endpoints, change } = widgets();
    const stream = await watched(endpoints, 'sendInitialEvents=true&resourceVersionMatch=NotOlderThan');
    stream.take();
    await change('8', widget('team-a', 'one', '8', 'blue'), widget('team-a', 'two', '8', 'blue'));
    expect(eventsOf(stream)).toEqual(['MODIFIED team-a/one']);
    expect(stream.text).not.toContain('hunter2');
    stream.destroy();
  });
});

describe('createListWatch for a namespaced kind', () => {
  const inTeamB = { namespace: 'team-b' };

  it('serves the list of all namespaces, the list of one namespace, and one object', () => {
    expect(widgets().endpoints.routes.map(({ path }) => path)).toEqual([
      '/auth/v1/widgets',
      '/auth/v1/namespaces/:namespace/widgets',
      '/auth/v1/namespaces/:namespace/widgets/:name',
    ]);
  });

  it('lists the visible objects of one namespace', async () => {
    const { endpoints } = widgets();
    const list = await listed(endpoints, '', inTeamB);
    expect(keysOf(list.items)).toEqual(['team-b/one', 'team-b/two']);
    expect(list.metadata.selfLink).toBe('/auth/v1/namespaces/team-b/widgets');
    expect(keysOf((await listed(endpoints, '', { namespace: 'team-b-2' })).items)).toEqual([]);
  });

  it('continues a page within its namespace', async () => {
    const { endpoints } = widgets();
    const first = await listed(endpoints, 'limit=1', inTeamB);
    expect([keysOf(first.items), first.metadata.remainingItemCount]).toEqual([['team-b/one'], 1]);
    const token = `limit=1&continue=${first.metadata.continue}`;
    expect(keysOf((await listed(endpoints, token, inTeamB)).items)).toEqual(['team-b/two']);
    expect(keysOf((await listed(endpoints, token, { namespace: 'team-a' })).items)).toEqual([]);
  });

  it('returns a visible object, and 404 for a hidden one or one of another namespace', async () => {
    const { endpoints } = widgets();
    const get = (namespace: string, name: string) =>
      endpoints.get({ ...requestOf('', callerOf('alice')), params: { namespace, name } }) as Promise<{ readonly body: string }>;
    expect(JSON.parse((await get('team-b', 'two')).body)).toMatchObject({ metadata: { namespace: 'team-b', name: 'two' } });
    await expect(get('team-a', 'two')).rejects.toMatchObject({ code: 404, message: 'widgets.example.com "two" not found' });
    await expect(get('team-c', 'one')).rejects.toMatchObject({ code: 404 });
  });

  it('sends the initial events and the changes of one namespace to its watchers', async () => {
    const { endpoints, change } = widgets();
    const query = 'sendInitialEvents=true&resourceVersionMatch=NotOlderThan';
    const [all, teamA, teamB] = [
      await watched(endpoints, query),
      await watched(endpoints, query, { namespace: 'team-a' }),
      await watched(endpoints, query, inTeamB),
    ];
    expect([teamA, teamB].map(eventsOf)).toEqual([['ADDED team-a/one'], ['ADDED team-b/one', 'ADDED team-b/two']]);
    all.take();
    await change('8', widget('team-a', 'one', '8', 'blue'));
    await change('9', widget('team-b', 'two', '9', 'blue'));
    expect([all, teamA, teamB].map(eventsOf)).toEqual([
      ['MODIFIED team-a/one', 'MODIFIED team-b/two'],
      ['MODIFIED team-a/one'],
      ['MODIFIED team-b/two'],
    ]);
    for (const stream of [all, teamA, teamB]) stream.destroy();
  });
});
