// A list of a kind that only this file defines: routes, filtering, events, tables and documentation follow from its description. The tests
// serve the list both with an informer that always runs and on demand.

import { afterEach, describe, expect, it } from '@jest/globals';
import type { Subscription } from 'rxjs';
import type { ApiObject, Resource, Role, RoleBinding, Stored } from '../../src/api/resources.ts';
import { CLUSTER_LIST } from '../../src/facade/clusters/cluster-list.ts';
import { computeWatchLimits } from '../../src/facade/limits/concurrency.ts';
import { createLists, createListsOnDemand, declareOnDemand, LISTS_ON_DEMAND } from '../../src/facade/lists.ts';
import { createFilteredList } from '../../src/facade/listwatch/filtered-list.ts';
import { createOnDemandInformers } from '../../src/facade/listwatch/on-demand-informers.ts';
import { buildOpenApi } from '../../src/facade/openapi.ts';
import { describeObject, describeText } from '../../src/facade/openapi-schemas.ts';
import type { FacadeReply, FacadeRequest, StreamedReply } from '../../src/facade/request.ts';
import type { KubeClient } from '../../src/kube/client.ts';
import { BYTES_PER_NAMESPACE, keepWithin, MAX_SMALL_BYTES } from '../../src/kube/namespace-bytes.ts';
import type { WatchEvent } from '../../src/kube/watch-events.ts';
import { statusError } from '../../src/kubernetes/status.ts';
import { fieldsOf, textOf } from '../../src/kubernetes/untrusted.ts';
import { createLogger } from '../../src/telemetry/logger.ts';
import { turn } from '../kube/eventually.ts';
import { FakeClock } from '../support/clock.ts';
import { problemsOf, type Schemas } from '../support/openapi.ts';
import { Collection, callerOf, Follower, HandHub, requestOf, settle, WatchStream, writeReply } from './listwatch/replica.ts';

interface Widget extends ApiObject {
  readonly spec: { readonly color: string; readonly password: string };
}

const Widgets: Resource<Widget> = { group: 'example.com', version: 'v1', kind: 'Widget', plural: 'widgets', namespaced: true };

const WIDGETS = createFilteredList<Widget>({
  resource: Widgets,
  verbs: ['get'],
  publicFields: ({ spec: { color } }) => ({ spec: { color } }),
  schema: { description: 'A widget.', properties: { spec: describeObject('Spec.', { color: describeText('Color.') }) }, optional: [] },
  columns: [{ name: 'Color', type: 'string', jsonPath: '.spec.color' }],
  selectableFields: { 'spec.color': ({ spec }) => textOf(fieldsOf(spec)['color']) },
  weightOf: () => 100,
  exampleName: 'anvil',
});

/** The entry of the list in LISTS_ON_DEMAND. */
const ON_DEMAND = declareOnDemand({
  list: WIDGETS,
  createInformers: (options) =>
    createOnDemandInformers(
      {
        resource: Widgets,
        permission: WIDGETS.permission,
        reduce: (widget) => keepWithin(1_024, WIDGETS.toPublic(widget) as unknown as Stored<Widget>, toStub),
        budget: { bytes: BYTES_PER_NAMESPACE, small: MAX_SMALL_BYTES, toStub },
      },
      options,
    ),
  clusterRole: 'purser-facade-widgets',
});

function toStub(widget: Stored<Widget>): Stored<Widget> {
  return { ...widget, spec: { ...widget.spec, color: '' } };
}

const WATCH_LIST = 'sendInitialEvents=true&resourceVersionMatch=NotOlderThan';
const TABLE = 'application/json;as=Table;v=v1;g=meta.k8s.io';

/** A hub whose Widgets, Roles and RoleBindings informers can watch. It has no ManagedTokens. */
class WidgetHub extends HandHub {
  readonly widgets = new Collection<Widget>(this);
  readonly namespacedRoles = new Collection<Role>(this);
  readonly namespacedBindings = new Collection<RoleBinding>(this);
  isForbidden = false;

  async *watch({ plural }: Resource<ApiObject>, { signal }: { readonly signal: AbortSignal }): AsyncGenerator<WatchEvent<ApiObject>> {
    if (this.isForbidden) throw statusError('Forbidden', `${plural} is forbidden`, {});
    const followed = { widgets: this.widgets, roles: this.namespacedRoles, rolebindings: this.namespacedBindings };
    const { objects, events } = followed[plural as keyof typeof followed] ?? new Collection(this);
    let taken = events.length;
    for (const object of objects.values()) yield { type: 'ADDED', object };
    yield { type: 'BOOKMARK', resourceVersion: this.revision, endsInitialEvents: true };
    for (; !signal.aborted; await turn())
      for (; taken < events.length; taken++) {
        const event = events[taken];
        if (event?.type === 'applied') yield { type: 'MODIFIED', object: event.object };
      }
  }
}

const running: Subscription[] = [];
afterEach(() => {
  for (const each of running.splice(0)) each.unsubscribe();
});

/**
 * A replica with the cluster list and a list of widgets, which is in LISTS if there are no lists on demand. Alice may get the widgets `one`
 * and `three` in any namespace.
 */
class Replica {
  readonly hub = new WidgetHub();
  readonly #widgets = new Follower(this.hub, this.hub.widgets);
  readonly #roles = new Follower(this.hub, this.hub.roles);
  readonly lists;
  readonly remedies = new Set<string>();
  log = '';

  constructor({ watches = computeWatchLimits(undefined), onDemand = [] as typeof LISTS_ON_DEMAND } = {}) {
    const clusters = new Follower(this.hub, this.hub.clusters);
    const bindings = new Follower(this.hub, this.hub.bindings);
    const write = (line: string) => {
      this.log += line;
    };
    const tools = { clock: new FakeClock(), random: () => 0, log: createLogger({ level: 'warn', readable: false, write }) };
    const shared = { ...tools, roles: this.#roles, bindings, hub: this.hub, watchLimits: watches };
    const hub = this.hub as unknown as KubeClient;
    const onProblem = (_: unknown, remedy: string) => this.remedies.add(remedy);
    this.lists =
      onDemand.length === 0
        ? createLists({
            ...shared,
            lists: { clusters: CLUSTER_LIST, widgets: WIDGETS },
            informers: { clusters, widgets: this.#widgets },
          })
        : createLists({
            ...shared,
            lists: { clusters: CLUSTER_LIST },
            informers: { clusters },
            listsOnDemand: createListsOnDemand({ ...tools, hub, onProblem }, onDemand),
          });
    running.push(this.lists.run());
    this.hub.grant('alice', [], { kind: 'User', name: 'alice' });
    this.hub.roles.put('alice', { rules: [widgetRule(['one', 'three'])] });
    for (const [namespace, name] of OBJECTS) this.#put(namespace, name, 'red');
    for (const follower of [this.#roles, bindings, clusters, this.#widgets]) follower.list();
  }

  /** Changes the color of a widget. */
  async paint(namespace: string, name: string, color: string): Promise<void> {
    this.#put(namespace, name, color);
    this.#widgets.step();
    await settle();
  }

  /** Lets Alice get the widgets with these names only. */
  async allow(...names: readonly string[]): Promise<void> {
    this.hub.roles.put('alice', { rules: [widgetRule(names)] });
    this.#roles.step();
    await settle();
  }

  /** Lets a user get the widgets with these names in a namespace, by a Role. */
  async allowIn(namespace: string, user: string, ...names: readonly string[]): Promise<void> {
    this.hub.namespacedRoles.put(user, { metadata: { namespace }, rules: [widgetRule(names)] });
    const roleRef = { apiGroup: 'rbac.authorization.k8s.io', kind: 'Role', name: user };
    this.hub.namespacedBindings.put(user, { metadata: { namespace }, roleRef, subjects: [{ kind: 'User', name: user }] });
    await settle();
  }

  async request(
    path: string,
    query: string,
    { accept, user = 'alice', ...params }: Readonly<Record<string, string>> = {},
  ): Promise<FacadeReply> {
    const route = this.lists.routes.find((each) => each.path === path);
    const request: FacadeRequest = { ...requestOf(query, callerOf(user)), params };
    return route!.endpoint({ ...request, preferences: { ...request.preferences, accept } });
  }

  async list(query: string, params: Readonly<Record<string, string>> = {}): Promise<WidgetList> {
    return bodyOf(await this.request(params['namespace'] === undefined ? ALL : NAMESPACED, query, params)) as WidgetList;
  }

  async watch(query: string, params: Readonly<Record<string, string>> = {}): Promise<WatchStream> {
    const reply = await this.request(params['namespace'] === undefined ? ALL : NAMESPACED, `watch=true&${query}`, params);
    const stream = new WatchStream();
    void writeReply(reply as StreamedReply, stream);
    await settle();
    return stream;
  }

  #put(namespace: string, name: string, color: string): void {
    const metadata = { namespace, generation: 1, creationTimestamp: '2026-03-01T12:00:00Z', annotations: { secret: 'hunter2' } };
    this.hub.widgets.put(name, { metadata, spec: { color, password: 'hunter2' } });
  }
}

const ALL = '/auth/v1/widgets';
const NAMESPACED = '/auth/v1/namespaces/:namespace/widgets';
const OBJECTS = [
  ['team-a', 'one'],
  ['team-a', 'two'],
  ['team-b', 'one'],
  ['team-b', 'three'],
  ['team-b-2', 'two'],
] as const;

function widgetRule(resourceNames: readonly string[]) {
  return { apiGroups: ['example.com'], resources: ['widgets'], verbs: ['get'], resourceNames: [...resourceNames] };
}

interface WidgetList {
  readonly metadata: { readonly selfLink: string; readonly continue: string; readonly remainingItemCount?: number };
  readonly items: readonly Widget[];
}

function bodyOf(reply: FacadeReply): unknown {
  return JSON.parse(String((reply as { readonly body: Buffer }).body));
}

function keysOf(objects: readonly Pick<Widget, 'metadata'>[]): readonly string[] {
  return objects.map(({ metadata: { namespace, name } }) => `${namespace}/${name}`);
}

/** Returns the types and keys of the events since the last call. */
function eventsOf(stream: WatchStream): readonly string[] {
  return stream.take().map(({ type, object: changed }) => `${type} ${keysOf([changed as unknown as Widget])[0]}`);
}

describe.each([
  ['in LISTS', []],
  ['on demand', [ON_DEMAND]],
])('createLists with another list %s', (_, onDemand) => {
  it('serves the list of all namespaces, the list of one namespace, and one object', () => {
    expect(new Replica({ onDemand }).lists.routes.map(({ path }) => path)).toEqual([
      '/auth/v1/clusters',
      '/auth/v1/clusters/:name',
      ALL,
      NAMESPACED,
      `${NAMESPACED}/:name`,
    ]);
  });

  it('lists the objects that a ClusterRole allows by name in any namespace, with their public fields', async () => {
    const list = await new Replica({ onDemand }).list('');
    expect(list).toMatchObject({ apiVersion: 'example.com/v1', kind: 'WidgetList', metadata: { selfLink: ALL } });
    expect(keysOf(list.items)).toEqual(['team-a/one', 'team-b/one', 'team-b/three']);
    expect(list.items[0]?.spec).toEqual({ color: 'red' });
    expect(JSON.stringify(list)).not.toContain('hunter2');
  });

  it('ignores the names namespace/name, * and */name in a ClusterRole', async () => {
    const replica = new Replica({ onDemand });
    await replica.allow('team-a/two', '*', '*/two');
    expect(keysOf((await replica.list('')).items)).toEqual([]);
  });

  it('selects objects by a field of the kind, and rejects other fields', async () => {
    const replica = new Replica({ onDemand });
    await replica.paint('team-b', 'one', 'blue');
    expect(keysOf((await replica.list('fieldSelector=spec.color%3Dblue')).items)).toEqual(['team-b/one']);
    await expect(replica.list('fieldSelector=spec.password%3Dx')).rejects.toMatchObject({ code: 400 });
  });

  it('returns tables with the columns of the kind', async () => {
    expect(await new Replica({ onDemand }).list('limit=1', { accept: TABLE })).toMatchObject({
      columnDefinitions: [{ name: 'Name' }, { name: 'Color' }],
      rows: [{ cells: ['one', 'red'] }],
    });
  });

  it('lists the visible objects in one namespace', async () => {
    const replica = new Replica({ onDemand });
    const list = await replica.list('', IN_TEAM_B);
    expect(keysOf(list.items)).toEqual(['team-b/one', 'team-b/three']);
    expect(list.metadata.selfLink).toBe('/auth/v1/namespaces/team-b/widgets');
    expect(keysOf((await replica.list('', { namespace: 'team-b-2' })).items)).toEqual([]);
  });

  it('continues the list of one namespace with the next page', async () => {
    const replica = new Replica({ onDemand });
    const first = await replica.list('limit=1', IN_TEAM_B);
    expect([keysOf(first.items), first.metadata.remainingItemCount]).toEqual([['team-b/one'], 1]);
    const next = `limit=1&continue=${first.metadata.continue}`;
    expect(keysOf((await replica.list(next, IN_TEAM_B)).items)).toEqual(['team-b/three']);
    expect(keysOf((await replica.list(next, { namespace: 'team-a' })).items)).toEqual([]);
  });

  it('returns a visible object, and 404 for a hidden object or an object in another namespace', async () => {
    const replica = new Replica({ onDemand });
    const get = (namespace: string, name: string) => replica.request(`${NAMESPACED}/:name`, '', { namespace, name });
    expect(bodyOf(await get('team-b', 'three'))).toMatchObject({ metadata: { namespace: 'team-b', name: 'three' } });
    await expect(get('team-a', 'two')).rejects.toMatchObject({ code: 404, message: 'widgets.example.com "two" not found' });
    await expect(get('team-c', 'one')).rejects.toMatchObject({ code: 404 });
  });

  it('sends the visible changes to watchers, without hidden fields', async () => {
    const replica = new Replica({ onDemand });
    const stream = await replica.watch(WATCH_LIST);
    stream.take();
    await replica.paint('team-a', 'one', 'blue');
    await replica.paint('team-a', 'two', 'blue');
    expect(eventsOf(stream)).toEqual(['MODIFIED team-a/one']);
    expect(stream.text).not.toContain('hunter2');
    stream.destroy();
  });

  it('sends the initial events and the changes of one namespace to its watchers', async () => {
    const replica = new Replica({ onDemand });
    const [all, teamA, teamB] = [
      await replica.watch(WATCH_LIST),
      await replica.watch(WATCH_LIST, { namespace: 'team-a' }),
      await replica.watch(WATCH_LIST, IN_TEAM_B),
    ];
    expect([teamA, teamB].map(eventsOf)).toEqual([['ADDED team-a/one'], ['ADDED team-b/one', 'ADDED team-b/three']]);
    all.take();
    await replica.paint('team-a', 'one', 'blue');
    await replica.paint('team-b', 'three', 'blue');
    expect([all, teamA, teamB].map(eventsOf)).toEqual([
      ['MODIFIED team-a/one', 'MODIFIED team-b/three'],
      ['MODIFIED team-a/one'],
      ['MODIFIED team-b/three'],
    ]);
    for (const stream of [all, teamA, teamB]) stream.destroy();
  });

  it('sends DELETED and ADDED to watchers when a ClusterRole names other objects', async () => {
    const replica = new Replica({ onDemand });
    const stream = await replica.watch(WATCH_LIST);
    stream.take();
    await replica.allow('two', 'three');
    expect(eventsOf(stream)).toEqual(['DELETED team-a/one', 'DELETED team-b/one', 'ADDED team-a/two', 'ADDED team-b-2/two']);
    stream.destroy();
  });

  it('applies the limit on watches to all lists together', async () => {
    const replica = new Replica({ onDemand, watches: { perTenant: 1, total: 1, perConnection: 1, perStream: 1 } });
    const stream = await replica.watch('');
    await expect(replica.request('/auth/v1/clusters', 'watch=true')).rejects.toMatchObject({ code: 429 });
    expect(replica.lists.countWatches()).toBe(1);
    stream.destroy();
  });

  it('documents the operations and the schema of the kind', async () => {
    const replica = new Replica({ onDemand });
    const { paths, components } = buildOpenApi('orchestrator', replica.lists.listings);
    expect(Object.keys(paths)).toEqual(
      expect.arrayContaining(['/auth/v1/clusters', ALL, `${NAMESPACED.replace(':namespace', '{namespace}')}/{name}`]),
    );
    const schemas = components.schemas as Schemas;
    expect(problemsOf(await replica.list(''), { $ref: '#/components/schemas/WidgetList' }, schemas)).toEqual([]);
    expect(JSON.stringify(paths)).toContain('metadata.name=anvil');
  });
});

describe('createLists with a second list on demand', () => {
  const onDemand = [...LISTS_ON_DEMAND, ON_DEMAND];

  it('lists the objects that Roles allow in their namespaces, and only these', async () => {
    const replica = new Replica({ onDemand });
    await replica.allowIn('team-b', 'bob', 'one');
    expect(keysOf((await replica.list('', { user: 'bob' })).items)).toEqual(['team-b/one']);
    expect(bodyOf(await replica.request('/auth/v1/managedtokens', '', { user: 'bob' }))).toMatchObject({ items: [] });
    expect(keysOf((await replica.list('', { user: 'carol' })).items)).toEqual([]);
  });

  it('sends DELETED and ADDED to watchers when a Role names other objects', async () => {
    const replica = new Replica({ onDemand });
    await replica.allowIn('team-b', 'bob', 'one');
    const stream = await replica.watch(WATCH_LIST, { user: 'bob' });
    expect(eventsOf(stream)[0]).toBe('ADDED team-b/one');
    await replica.allowIn('team-b', 'bob', 'three', 'two');
    expect(eventsOf(stream)).toEqual(['DELETED team-b/one', 'ADDED team-b/three']);
    stream.destroy();
  });

  it('returns the remedy for a missing permission with the plural name and the ClusterRole of the list', async () => {
    const replica = new Replica({ onDemand });
    replica.hub.isForbidden = true;
    await expect(replica.list('')).rejects.toMatchObject({ code: 503, message: expect.stringContaining('watch widgets, roles') });
    expect([...replica.remedies]).toEqual([
      'let Purser list and watch widgets, roles and rolebindings, as the ClusterRole purser-facade-widgets in deploy/base/access.yaml does',
    ]);
  });

  it('logs the kind of the list for a namespace over its budget', async () => {
    const replica = new Replica({ onDemand });
    await replica.allowIn('team-b', 'bob', ...Array.from({ length: 129 }, (_, index) => `w-${index}`));
    await replica.list('');
    expect(JSON.parse(replica.log)).toMatchObject({
      namespace: 'team-b',
      resource: 'roles',
      msg: 'namespace exceeds its budget for the list of Widgets',
    });
  });
});

const IN_TEAM_B = { namespace: 'team-b' };
