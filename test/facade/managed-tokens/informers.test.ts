// The part of Roles and RoleBindings that the list of ManagedTokens keeps, and its budget for each namespace.

import { afterEach, describe, expect, it } from '@jest/globals';
import { merge, type Subscription } from 'rxjs';
import type { ApiObject, Role, RoleBinding, Stored } from '../../../src/api/resources.ts';
import { createManagedTokenInformers } from '../../../src/facade/managed-tokens/informers.ts';
import type { KubeClient } from '../../../src/kube/client.ts';
import { recordedBytes } from '../../../src/kube/namespace-bytes.ts';
import type { WatchEvent } from '../../../src/kube/watch-events.ts';
import { expired } from '../../../src/kubernetes/status.ts';
import { eventually } from '../../kube/eventually.ts';
import { FakeClock } from '../../support/clock.ts';

type Plural = 'roles' | 'rolebindings';
type Objects = Readonly<Partial<Record<Plural, readonly Stored<ApiObject>[]>>>;

/** A hub with Roles and RoleBindings, whose watches a test controls. */
class RbacHub {
  /** Objects of the next list. */
  objects: Objects;
  readonly #pending: { readonly plural: Plural; readonly event: WatchEvent<ApiObject> }[] = [];
  #isExpired = false;

  constructor(objects: Objects) {
    this.objects = objects;
  }

  emit(plural: Plural, type: 'MODIFIED' | 'DELETED', object: Stored<ApiObject>): void {
    this.#pending.push({ plural, event: { type, object } });
  }

  /** Ends the watches, so that the informers list again. */
  expire(objects: Objects): void {
    this.objects = objects;
    this.#isExpired = true;
  }

  async *watch(
    { plural }: { readonly plural: Plural },
    { signal }: { readonly signal: AbortSignal },
  ): AsyncGenerator<WatchEvent<ApiObject>> {
    for (const object of this.objects[plural] ?? []) yield { type: 'ADDED', object };
    yield { type: 'BOOKMARK', resourceVersion: '100', endsInitialEvents: true };
    while (!signal.aborted) {
      const index = this.#pending.findIndex((each) => each.plural === plural);
      if (index !== -1) yield this.#pending.splice(index, 1)[0]!.event;
      else if (this.#isExpired && plural === 'roles') {
        this.#isExpired = false;
        throw expired('too old');
      } else await new Promise((resolve) => setImmediate(resolve));
    }
  }
}

function role(name: string, names: number | 'all', { uid = `uid-${name}`, resourceVersion = '1' } = {}): Stored<Role> {
  const resourceNames = names === 'all' ? [] : Array.from({ length: names }, (_, index) => `t-${index}`);
  return {
    metadata: { name, namespace: 'team-a', uid, resourceVersion },
    rules: [{ verbs: ['get'], apiGroups: ['tokens.purser.dev'], resources: ['managedtokens'], resourceNames }],
  };
}

function binding(name: string, roleName: string, users = ['alice'], resourceVersion = '1'): Stored<RoleBinding> {
  return {
    metadata: { name, namespace: 'team-a', uid: `uid-${name.slice(-8)}`, resourceVersion },
    roleRef: { apiGroup: 'rbac.authorization.k8s.io', kind: 'Role', name: roleName },
    subjects: users.map((user) => ({ kind: 'User', name: user })),
  };
}

const clock = new FakeClock();
let running: Subscription | undefined;
afterEach(() => running?.unsubscribe());

async function follow(objects: Objects) {
  const hub = new RbacHub(objects);
  const over: string[] = [];
  const { roles, bindings } = createManagedTokenInformers({
    client: hub as unknown as KubeClient,
    clock,
    random: () => 0,
    onOverBudget: (namespace, plural) => over.push(`${namespace} ${plural}`),
  });
  running = merge(roles.batches$, bindings.batches$).subscribe();
  await eventually(() => expect([roles.synced, bindings.synced]).toEqual([true, true]));
  /** Returns the number of names that each Role grants. */
  const granted = () =>
    Object.fromEntries(
      roles.store.list().map(({ metadata, rules }) => [metadata.name, rules?.[0]?.resourceNames?.length ?? rules?.length]),
    );
  return { hub, roles: roles.store, bindings: bindings.store, granted, over };
}

const LONG = 'x'.repeat(254);
const DIGEST = /^%sha256:[0-9a-f]{64}$/;

describe('createManagedTokenInformers with overlong names', () => {
  it('keeps a name of 253 characters', async () => {
    const name = LONG.slice(1);
    const { roles, bindings } = await follow({ roles: [role(name, 1)], rolebindings: [binding(name, name)] });
    expect(roles.get(`team-a/${name}`)?.rules).toHaveLength(1);
    expect(bindings.get(`team-a/${name}`)).toMatchObject({ roleRef: { name }, subjects: [{ name: 'alice' }] });
  });

  it('keeps the digest of an overlong name, without rules and subjects', async () => {
    const { roles, bindings } = await follow({ roles: [role(LONG, 'all')], rolebindings: [binding(LONG, 'some')] });
    const [kept, bound] = [roles.list()[0], bindings.list()[0]];
    expect(kept).toMatchObject({ metadata: { name: expect.stringMatching(DIGEST), uid: `uid-${LONG}` }, rules: [] });
    expect(bound).toMatchObject({ metadata: { name: expect.stringMatching(DIGEST) }, roleRef: { name: 'some' }, subjects: [] });
  });

  it('drops an overlong role name and the subjects of its RoleBinding', async () => {
    const { bindings } = await follow({ rolebindings: [binding('long', LONG)] });
    expect(bindings.get('team-a/long')).toMatchObject({ roleRef: { kind: 'Role', name: '' }, subjects: [] });
  });

  it('keeps less than 1 kB of a RoleBinding with names of 500 kB', async () => {
    const long = 'x'.repeat(500_000);
    const { bindings } = await follow({ rolebindings: [0, 1, 2].map((index) => binding(`${long}${index}`, `${long}${index}`)) });
    expect(bindings.size).toBe(3);
    expect(JSON.stringify(bindings.list()).length).toBeLessThan(3_000);
    expect(bindings.keys().join().length).toBeLessThan(300);
  });

  it('uses the same key for updates and deletions of an object', async () => {
    const { hub, roles, bindings } = await follow({ roles: [role(LONG, 'all')], rolebindings: [binding(LONG, 'some')] });
    const keys = [...roles.keys(), ...bindings.keys()];
    hub.emit('roles', 'MODIFIED', role(LONG, 'all', { resourceVersion: '7' }));
    hub.emit('rolebindings', 'MODIFIED', binding(LONG, 'some', ['bob'], '8'));
    await eventually(() =>
      expect([...roles.list(), ...bindings.list()].map(({ metadata }) => metadata.resourceVersion)).toEqual(['7', '8']),
    );
    expect([...roles.keys(), ...bindings.keys()]).toEqual(keys);
    hub.emit('roles', 'DELETED', role(LONG, 'all'));
    hub.emit('rolebindings', 'DELETED', binding(LONG, 'some'));
    await eventually(() => expect([roles.size, bindings.size]).toEqual([0, 0]));
  });

  it('removes an object that a new list does not contain', async () => {
    const { hub, roles } = await follow({ roles: [role(LONG, 'all'), role(`${LONG}y`, 'all')] });
    const keys = roles.keys();
    hub.expire({ roles: [role(`${LONG}y`, 'all')] });
    await eventually(() => expect(roles.keys()).toEqual(keys.slice(1)), clock, 1_000);
  });
});

describe('createManagedTokenInformers with a budget for each namespace', () => {
  it('keeps at most 128 names that Roles grant, those of the smallest Roles, in any order of the list', async () => {
    const roles = [role('large', 100), role('a', 27), role('all', 'all'), role('b', 28)];
    for (const list of [roles, roles.toReversed()]) {
      const { granted, over } = await follow({ roles: list });
      // A rule without names grants all of them.
      expect(granted()).toMatchObject({ a: 27, b: 28, large: 0, all: 1 });
      expect(over).toEqual(['team-a roles']);
      running?.unsubscribe();
    }
  });

  it('grants the names of a Role with 128 names, and no name of a Role with 129', async () => {
    expect((await follow({ roles: [role('most', 128)] })).granted()).toEqual({ most: 128 });
    running?.unsubscribe();
    expect((await follow({ roles: [role('more', 129), role('a', 128)] })).granted()).toEqual({ more: 0, a: 128 });
  });

  it('keeps a Role that was re-created while the watch was disconnected', async () => {
    const { hub, roles, granted } = await follow({ roles: [role('r', 100)] });
    hub.expire({ roles: [role('r', 100, { uid: 'another', resourceVersion: '5' })] });
    await eventually(() => expect(roles.get('team-a/r')?.metadata.uid).toBe('another'), clock, 1_000);
    expect(granted()).toEqual({ r: 100 });
  });

  it('grants the names of a Role again after a new list with fewer Roles', async () => {
    const { hub, granted } = await follow({ roles: [role('a', 100), role('b', 101)] });
    expect(granted()).toEqual({ a: 100, b: 0 });
    hub.expire({ roles: [role('b', 101)] });
    await eventually(() => expect(granted()).toEqual({ b: 101 }), clock, 1_000);
  });

  it('grants nothing through the largest Role once another Role exceeds the budget of the namespace', async () => {
    const { hub, granted } = await follow({ roles: [role('a', 100)] });
    hub.emit('roles', 'MODIFIED', role('b', 50));
    await eventually(() => expect(granted()).toEqual({ a: 0, b: 50 }));
  });

  it('counts the size of RoleBindings with the names of their roles and subjects', async () => {
    const { bindings } = await follow({ rolebindings: [binding('b', 'some', ['alice', 'bob'])] });
    expect(recordedBytes(bindings.get('team-a/b')!)).toBe(256 + 'some'.length + 2 * 256 + 'alicebob'.length);
  });

  it('keeps the subjects of RoleBindings up to 16 MiB', async () => {
    const users = Array.from({ length: 20_000 }, () => 'a');
    const names = ['b-0', 'b-1', 'b-2', 'b-3'];
    const { bindings, over } = await follow({ rolebindings: names.map((name) => binding(name, 'some', users)) });
    expect(names.map((name) => bindings.get(`team-a/${name}`)?.subjects?.length)).toEqual([20_000, 20_000, 20_000, 0]);
    expect(over).toEqual(['team-a rolebindings']);
  });
});
