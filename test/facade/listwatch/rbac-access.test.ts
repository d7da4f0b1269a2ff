import { describe, expect, it, jest } from '@jest/globals';
import { RbacIndex } from '../../../src/access/rbac-index.ts';
import { Visibility } from '../../../src/access/visibility.ts';
import type { ApiObject } from '../../../src/api/resources.ts';
import { RbacAccess } from '../../../src/facade/listwatch/rbac-access.ts';
import { MANAGED_TOKEN_LIST } from '../../../src/facade/managed-tokens/managed-token-list.ts';
import { type Clock, systemClock } from '../../../src/std/clock.ts';
import { FakeClock } from '../../support/clock.ts';
import { silentLog } from '../../support/silent-log.ts';
import { SlowClock } from '../../support/slow-clock.ts';
import { callerOf, Follower } from './replica.ts';
import { type TokenGrant, TokenHub } from './token-replica.ts';

const { user } = callerOf('alice', 'team');

/** Permission of another user, by a ClusterRole: hides and shows nothing, but makes positive decisions of reviews invalid. */
const TO_BOB = { name: 'other', namespace: undefined, roleKind: 'ClusterRole', subject: { kind: 'User', name: 'bob' } } as const;

/** Access of Alice, who watches, to ManagedTokens that RoleBindings of the group `team` grant. */
class World {
  readonly hub = new TokenHub();
  readonly #bindings = new Follower(this.hub, this.hub.namespacedBindings);
  readonly #followers: readonly Pick<Follower<ApiObject>, 'isBehind' | 'step'>[];
  readonly access: RbacAccess;
  /** Visibilities of the watch, in order. */
  readonly shown: Visibility[] = [];
  readonly stop: () => void;

  constructor(clock: Clock) {
    const [roles, bindings] = [new Follower(this.hub, this.hub.roles), new Follower(this.hub, this.hub.bindings)];
    const inNamespaces = { roles: new Follower(this.hub, this.hub.namespacedRoles), bindings: this.#bindings };
    this.access = new RbacAccess(
      { roles, bindings, inNamespaces, hub: this.hub, clock, random: () => 0.5, log: silentLog },
      MANAGED_TOKEN_LIST.permission,
    );
    const running = this.access.run();
    this.grant('team-0');
    const followers = [roles, bindings, inNamespaces.roles, this.#bindings];
    for (const follower of followers) follower.list();
    this.#followers = followers;
    const { stop: unfollow } = this.access.follow(user, Visibility.nothing, (visibility) => this.shown.push(visibility));
    this.stop = () => {
      unfollow();
      running.unsubscribe();
    };
  }

  /** Binds the group in a namespace; the replica receives the change. */
  grant(namespace: string): void {
    this.hub.grantTokens({ name: 'all', namespace, roleKind: 'ClusterRole', names: 'all', subject: { kind: 'Group', name: 'team' } });
    this.#bindings.step();
  }

  /** Removes the rules of the role, then its bindings in these namespaces; the replica receives the changes. */
  withdraw(...namespaces: readonly string[]): void {
    this.change(({ roles }) => roles.put('all', { rules: [] }));
    this.change(({ namespacedBindings }) => {
      for (const namespace of namespaces) namespacedBindings.delete(`${namespace}/all`);
    });
  }

  /** Changes the hub; the replica receives the changes. */
  change(act: (hub: TokenHub) => void): void {
    act(this.hub);
    for (const follower of this.#followers) while (follower.isBehind) follower.step();
  }
}

/** Advances the clock, and waits for the reviews that become due. */
async function pass(clock: FakeClock, ms: number): Promise<void> {
  clock.advance(ms);
  for (let turn = 0; turn < 5; turn += 1) await new Promise(setImmediate);
}

/** Starts a pause of the updates with a change that does not concern Alice, 100 ms before her next review is due, at 27 s. */
async function startPauseBeforeReview(world: World, clock: SlowClock): Promise<void> {
  await pass(clock, 26_900);
  clock.stepMs = 20;
  world.change((hub) =>
    hub.grantTokens({ name: 'other', namespace: 'team-8', roleKind: 'Role', names: ['one'], subject: { kind: 'User', name: 'bob' } }),
  );
  clock.stepMs = 0;
}

describe('RbacAccess', () => {
  it('shows each change immediately while updates are short', () => {
    const world = new World(new FakeClock());
    for (const namespace of ['team-1', 'team-2']) world.grant(namespace);
    expect(world.shown.map(({ names }) => names.length)).toEqual([2, 3]);
  });

  it('shows all changes of the pause after a long update together when the pause ends', () => {
    const clock = new SlowClock();
    const world = new World(clock);
    clock.stepMs = 20;
    world.grant('team-1');
    clock.stepMs = 0;
    const { length } = world.shown;
    for (let index = 2; index < 1_000; index++) world.grant(`team-${index}`);
    expect(world.shown).toHaveLength(length);
    clock.advance(2_000);
    expect(world.shown.slice(length).map(({ names }) => names.length)).toEqual([1_000]);
  });

  it('applies the current permissions to the list and the watch of a caller during a pause', async () => {
    const clock = new SlowClock();
    const world = new World(clock);
    clock.stepMs = 20;
    world.grant('team-1');
    clock.stepMs = 0;
    world.grant('team-2');
    const visibility = await world.access.findVisibility(user);
    expect(visibility.names).toEqual(['team-0/', 'team-1/', 'team-2/']);
    expect(world.shown.at(-1)).toBe(visibility);
  });

  it('hides objects whose role lost its rules and then its binding during a pause', () => {
    const clock = new SlowClock();
    const world = new World(clock);
    clock.stepMs = 20;
    world.grant('team-1');
    clock.stepMs = 0;
    world.withdraw('team-0', 'team-1');
    clock.advance(2_000);
    expect(world.shown.at(-1)?.names).toEqual([]);
  });

  it.each<readonly [string, Omit<TokenGrant, 'name' | 'subject'>]>([
    ['all objects', { namespace: undefined, roleKind: 'ClusterRole', names: 'all' }],
    ['one more object', { namespace: 'team-9', roleKind: 'Role', names: ['one'] }],
  ])('hides the objects of a permission on %s that was withdrawn during the pause in which the caller was reviewed', async (_, grant) => {
    const clock = new SlowClock();
    const world = new World(clock);
    await startPauseBeforeReview(world, clock);
    const before = ['team-0/'];
    world.change((hub) => hub.grantTokens({ ...grant, name: 'more', subject: { kind: 'User', name: 'alice' } }));
    world.hub.listers.add('alice');
    await pass(clock, 100);
    expect(world.hub.reviews).toBe(1);
    world.change(({ bindings, namespacedBindings }) => {
      if (grant.namespace === undefined) bindings.delete('more');
      else namespacedBindings.delete('team-9/more');
    });
    world.hub.listers.delete('alice');
    // A positive decision is valid for ten seconds.
    await pass(clock, 10_000);
    expect(world.shown.at(-1)?.names).toEqual(before);
    expect((await world.access.findVisibility(user)).names).toEqual(before);
  });

  it('hides objects after a pause in which their permission was withdrawn and a review failed', async () => {
    const clock = new SlowClock();
    const world = new World(clock);
    await startPauseBeforeReview(world, clock);
    world.hub.isDown = true;
    world.change(({ namespacedBindings }) => namespacedBindings.delete('team-0/all'));
    await pass(clock, 100);
    expect([world.hub.reviews, world.shown]).toEqual([1, []]);
    await pass(clock, 2_000);
    expect(world.shown.at(-1)?.names).toEqual([]);
  });

  it('hides all objects after a pause in which a permission on all objects was granted, reviewed and replaced', async () => {
    const clock = new SlowClock();
    const world = new World(clock);
    await startPauseBeforeReview(world, clock);
    const subject = { kind: 'User', name: 'alice' };
    world.change((hub) => hub.grantTokens({ name: 'more', namespace: undefined, roleKind: 'ClusterRole', names: 'all', subject }));
    world.hub.listers.add('alice');
    await pass(clock, 100);
    expect(world.shown.at(-1)?.isEverything).toBe(true);
    world.change(({ bindings }) => bindings.delete('more'));
    world.change((hub) => hub.grantTokens({ name: 'one', namespace: 'team-9', roleKind: 'Role', names: ['one'], subject }));
    world.hub.listers.delete('alice');
    for (let second = 0; second < 10; second++) await pass(clock, 1_000);
    expect(world.shown.at(-1)?.names).toEqual(['team-0/', 'team-9/one']);
  });

  it('shows changes to a watch that begins when a change ends the last watch of the caller', () => {
    const clock = new SlowClock();
    const world = new World(clock);
    const { user: bob } = callerOf('bob', 'team');
    const following = world.access.follow(bob, Visibility.nothing, () => following.stop());
    clock.stepMs = 20;
    world.grant('team-1');
    clock.stepMs = 0;
    world.grant('team-2');
    const shown: Visibility[] = [];
    world.access.follow(bob, Visibility.nothing, (visibility) => shown.push(visibility));
    clock.advance(2_000);
    world.grant('team-3');
    expect(shown.at(-1)?.names).toContain('team-3/');
  });

  it('returns the decision of a later review to a caller whose own review took longer', async () => {
    const clock = new FakeClock();
    const world = new World(clock);
    const { user: carol } = callerOf('carol');
    world.hub.listers.add('carol');
    const release = world.hub.holdReview();
    const found = world.access.findVisibility(carol);
    world.hub.listers.delete('carol');
    clock.advance(1);
    world.change((hub) => hub.grantTokens({ ...TO_BOB, names: 'all' }));
    expect((await world.access.findVisibility(carol)).names).toEqual([]);
    release();
    expect((await found).names).toEqual([]);
  });

  it('shows each new decision on all objects to the open watches of the caller immediately', async () => {
    const clock = new FakeClock();
    const world = new World(clock);
    const shownEverything = () => world.shown.map(({ isEverything }) => isEverything);
    world.hub.listers.add('alice');
    await world.access.findVisibility(user);
    expect(shownEverything()).toEqual([true]);
    world.hub.listers.delete('alice');
    // Makes the cached decision invalid, but is too short for the next review of the watch.
    clock.advance(1);
    world.change((hub) => hub.grantTokens({ ...TO_BOB, names: 'all' }));
    await world.access.findVisibility(user);
    expect(shownEverything()).toEqual([true, false]);
  });

  it.each([6_000, 8_000, 9_500])(
    'hides all objects at most once, in lists as in watches, while each review takes %i ms',
    async (durationMs) => {
      const clock = new FakeClock();
      const world = new World(clock);
      world.hub.listers.add('alice');
      await world.access.findVisibility(user);
      world.hub.delayReview = () => new Promise((resolve) => void clock.wakeAfter(durationMs, resolve));
      for (let second = 0; second < 60; second++) await pass(clock, 1_000);
      expect(world.shown.filter(({ isEverything }) => !isEverything).length).toBeLessThanOrEqual(1);
      const listed = world.access.findVisibility(user);
      for (let second = 0; second < 10; second++) await pass(clock, 1_000);
      const watched = world.access.follow(user, await listed, () => {});
      expect(watched.visibility.fingerprint).toBe((await listed).fingerprint);
      watched.stop();
      world.hub.delayReview = undefined;
      for (let second = 0; second < 10; second++) await pass(clock, 1_000);
      expect(world.shown.at(-1)?.isEverything).toBe(true);
    },
  );

  it('repeats a failed review after one to two seconds, at a random time', async () => {
    const clock = new FakeClock();
    const world = new World(clock);
    world.hub.isDown = true;
    await pass(clock, 27_000);
    expect(world.hub.reviews).toBe(1);
    await pass(clock, 1_499);
    expect(world.hub.reviews).toBe(1);
    await pass(clock, 1);
    expect(world.hub.reviews).toBe(2);
  });

  it('updates more than one watch before a pause, even if the search for outdated watches takes long', () => {
    const clock = new FakeClock();
    const world = new World(clock);
    const shown: string[] = [];
    for (let at = 0; at < 50; at += 1)
      world.access.follow(callerOf(`user-${at}`, 'team').user, Visibility.nothing, () => shown.push(`user-${at}`));
    const hasChanged = Reflect.get(RbacIndex.prototype, 'hasChanged');
    const slow = jest.spyOn(RbacIndex.prototype, 'hasChanged').mockImplementation(function (this: RbacIndex, subject, since) {
      clock.advance(0.25);
      return hasChanged.call(this, subject, since);
    });
    world.grant('team-1');
    expect(shown.length).toBeGreaterThan(1);
    expect(shown.length).toBeLessThan(50);
    clock.advance(10_000);
    expect(shown).toHaveLength(50);
    slow.mockRestore();
  });

  it('updates many watches a few at a time', () => {
    const clock = new SlowClock();
    const world = new World(clock);
    const shown = Array.from({ length: 20 }, (_, at) => {
      const visibilities: Visibility[] = [];
      world.access.follow(callerOf(`user-${at}`, 'team').user, Visibility.nothing, (visibility) => visibilities.push(visibility));
      return visibilities;
    });
    clock.stepMs = 3;
    world.grant('team-1');
    clock.stepMs = 0;
    const updated = shown.filter(({ length }) => length > 0).length;
    expect(updated).toBeGreaterThan(0);
    expect(updated).toBeLessThan(10);
    clock.advance(2_000);
    expect(shown.map((each) => each.length)).toEqual(shown.map(() => 1));
  });

  it('sends no review for a caller whom another authorizer allows to list all objects when RoleBindings change', async () => {
    const clock = new FakeClock();
    const world = new World(clock);
    const { user: admin } = callerOf('admin', 'team');
    world.hub.listers.add('admin');
    // The ClusterRole of the world is new: the hub may still apply old rules.
    clock.advance(5_000);
    const shown: Visibility[] = [];
    world.access.follow(admin, await world.access.findVisibility(admin), (visibility) => shown.push(visibility));
    // The next review begins after four to five seconds.
    const { reviews } = world.hub;
    for (let at = 1; at < 80; at += 1) {
      world.grant(`team-${at}`);
      clock.advance(50);
      expect((await world.access.findVisibility(admin)).isEverything).toBe(true);
    }
    expect(world.hub.reviews).toBe(reviews);
    expect(shown).toEqual([]);
  });

  it('updates the watch of a group fewer than 2,000 times for 20,000 new RoleBindings, at last with all of them', async () => {
    const world = new World(systemClock);
    for (let index = 1; index < 20_000; index++) world.grant(`team-${index}`);
    expect(world.shown.length).toBeLessThan(2_000);
    while (world.shown.at(-1)?.names.length !== 20_000) await new Promise(setImmediate);
    world.stop();
  });
});
