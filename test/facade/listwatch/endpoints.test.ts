import { describe, expect, it } from '@jest/globals';
import { Subject, Subscription } from 'rxjs';
import { Visibility } from '../../../src/access/visibility.ts';
import type { ApiObject } from '../../../src/api/resources.ts';
import { createListWatch } from '../../../src/facade/listwatch/endpoints.ts';
import type { Followed, ListedKind } from '../../../src/facade/listwatch/kind.ts';
import type { Batch } from '../../../src/kube/store.ts';
import { customTable } from '../../../src/kubernetes/custom-table.ts';
import { FakeClock } from '../../support/clock.ts';
import { callerOf, requestOf, settled, WatchStream } from './replica.ts';

interface Widget extends ApiObject {
  readonly spec: { readonly color: string; readonly password: string };
}

const VISIBLE = new Visibility(new Set(['team-a/one']));

/** A namespaced kind with one public field, of which each caller sees one object. */
const WIDGETS: ListedKind<Widget> = {
  path: '/auth/v1/widgets',
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

describe('createListWatch', () => {
  const batches$ = new Subject<Batch<Widget>>();
  const stored = [widget('team-a', 'one', '3'), widget('team-a', 'two', '4'), widget('team-b', 'one', '5')];
  const objects = { store: { resourceVersion: '7', list: () => stored }, batches$ } as unknown as Followed<Widget>;
  const endpoints = createListWatch({ kind: WIDGETS, objects, clock: new FakeClock(), random: () => 0 });
  endpoints.run();
  const caller = callerOf('alice');

  it('lists the visible objects of any kind with their public fields', async () => {
    const reply = await endpoints.list(requestOf('', caller));
    expect(JSON.parse(String((reply as { readonly body: Buffer }).body))).toMatchObject({
      apiVersion: 'example.com/v1',
      kind: 'WidgetList',
      metadata: { selfLink: '/auth/v1/widgets' },
      items: [{ kind: 'Widget', metadata: { namespace: 'team-a', name: 'one' }, spec: { color: 'red' } }],
    });
    expect(endpoints.routes.map(({ path }) => path)).toEqual(['/auth/v1/widgets', '/auth/v1/widgets/:name']);
  });

  it('sends the visible changes of any kind to watchers, without hidden fields', async () => {
    const reply = await endpoints.list(requestOf('watch=true', caller));
    const stream = new WatchStream(() => {});
    void (reply as unknown as { write(response: WatchStream): Promise<void> }).write(stream);
    await settled();
    const changed = [widget('team-a', 'one', '8', 'blue'), widget('team-b', 'one', '8', 'blue')];
    const changes = changed.map((object) => ({
      type: 'updated' as const,
      key: `${object.metadata.namespace}/${object.metadata.name}`,
      object,
      previous: object,
    }));
    batches$.next({ type: 'applied', resourceVersion: '8', changes } as unknown as Batch<Widget>);
    await settled();
    const added = stream.take();
    expect(added.map(({ type, object }) => [type, object.metadata.name])).toEqual([
      ['ADDED', 'one'],
      ['MODIFIED', 'one'],
    ]);
    expect(stream.text).not.toContain('hunter2');
    stream.destroy();
  });
});
