// Property test: a list at any revision, with the watch events after it applied, equals the latest list.

import { beforeAll, describe, expect, it } from '@jest/globals';
import * as fc from 'fast-check';
import { createAdmin, definition } from './admin.ts';
import { contractServer } from './server.ts';
import { type WatchEvent, watch } from './watch-stream.ts';

const server = contractServer();
const admin = createAdmin(server);
const MAPS = '/api/v1/namespaces/history/configmaps';
const WIDGETS = '/apis/history.test/v1/namespaces/history/widgets';

beforeAll(async () => {
  await admin.create('/api/v1/namespaces', { metadata: { name: 'history' } });
  const schema = { openAPIV3Schema: { type: 'object', 'x-kubernetes-preserve-unknown-fields': true } };
  await admin.define(definition('history.test', 'Widget', 'Namespaced', [{ name: 'v1', served: true, storage: true, schema }]), WIDGETS);
});

/** Change of one object. An object that does not exist is created with the label. */
interface Step {
  readonly name: string;
  readonly label: string | null;
  readonly change: 'touch' | 'finalize' | 'release' | 'delete';
}

const steps = fc.array(
  fc.record<Step>({
    name: fc.constantFrom('a', 'b', 'c', 'd'),
    label: fc.constantFrom('x', 'y', null),
    change: fc.constantFrom('touch', 'touch', 'touch', 'finalize', 'release', 'delete'),
  }),
  { minLength: 4, maxLength: 12 },
);

const selectors = fc.constantFrom(
  '',
  'labelSelector=l%3Dx',
  'labelSelector=l!%3Dx',
  'labelSelector=!l',
  'labelSelector=l+in+(x,y)&fieldSelector=metadata.name!%3Da',
  'fieldSelector=metadata.name%3Db',
);

type State = ReadonlyMap<string, string>;

async function applyStep({ name, label, change }: Step, path: string): Promise<void> {
  const object = `${path}/${name}`;
  const exists = (await admin.get(object)).status === 200;
  const type = path === MAPS ? {} : { apiVersion: 'history.test/v1', kind: 'Widget' };
  if (!exists) return void (await admin.create(path, { ...type, metadata: { name, labels: label === null ? {} : { l: label } } }));
  if (change === 'delete') return admin.delete(object);
  const finalizers = { finalize: ['history.test/hold'], release: null, touch: undefined }[change];
  const patch = { metadata: { labels: { l: label }, ...(finalizers !== undefined && { finalizers }) } };
  // The response is not checked: an object that is being deleted rejects new finalizers.
  await admin.send('PATCH', object, { 'content-type': 'application/merge-patch+json' }, patch);
}

async function stateAt(path: string, query: string): Promise<{ readonly revision: string; readonly state: State }> {
  const { metadata, items } = await admin.list(`${path}?${query}`);
  return { revision: metadata.resourceVersion, state: new Map(items.map((item) => [item.metadata.name, item.metadata.resourceVersion])) };
}

/** Returns the state after events; throws if an event contradicts the state. */
function applyEvents(state: State, events: readonly WatchEvent[]): State {
  const next = new Map(state);
  for (const { type, object } of events) {
    const { name = '', resourceVersion } = object.metadata;
    if (type === 'BOOKMARK') continue;
    if ((type === 'ADDED') === next.has(name))
      throw new Error(`event ${type} ${name} contradicts the state ${JSON.stringify([...next.keys()])}`);
    if (type === 'DELETED') next.delete(name);
    else next.set(name, resourceVersion);
  }
  return next;
}

/** Returns all events after a revision; the watch times out after a second. */
async function eventsSince(path: string, query: string): Promise<readonly WatchEvent[]> {
  const stream = await watch(server, `${path}?watch=1&timeoutSeconds=1&${query}`);
  return stream.all();
}

async function pages(path: string, query: string, revision: string): Promise<readonly (readonly [string, string])[]> {
  const found: (readonly [string, string])[] = [];
  for (let next = `resourceVersion=${revision}&resourceVersionMatch=Exact`; ; ) {
    const { metadata, items } = await admin.list(`${path}?${query}&limit=2&${next}`);
    found.push(...items.map((item) => [item.metadata.name, item.metadata.resourceVersion] as const));
    if ((metadata.continue ?? '') === '') return found;
    next = `continue=${metadata.continue}`;
  }
}

describe.each([
  ['configmaps', MAPS],
  ['widgets', WIDGETS],
])('history of %s', (_, path) => {
  it('reaches the latest list from the list at any revision and the watch events after it', async () => {
    const property = fc.asyncProperty(steps, selectors, async (history, selector) => {
      const revisions = [(await stateAt(path, '')).revision];
      for (const step of history) {
        await applyStep(step, path);
        revisions.push((await stateAt(path, '')).revision);
      }
      const end = await stateAt(path, selector);
      const fresh = eventsSince(path, `${selector}&allowWatchBookmarks=1`);
      const checks = [...new Set(revisions)].map(async (revision) => {
        const then = await stateAt(path, `${selector}&resourceVersion=${revision}&resourceVersionMatch=Exact`);
        expect(then.revision).toBe(revision);
        expect(await pages(path, selector, revision)).toEqual([...then.state]);
        const events = await eventsSince(path, `${selector}&resourceVersion=${revision}`);
        expect(sortByName(applyEvents(then.state, events))).toEqual(sortByName(end.state));
      });
      await Promise.all(checks);
      expect([...applyEvents(new Map(), await fresh)]).toEqual([...end.state]);
    });
    await fc.assert(property, { numRuns: 4 });
  });
});

function sortByName(state: State): readonly (readonly [string, string])[] {
  return [...state].sort(([a], [b]) => (a < b ? -1 : 1));
}
