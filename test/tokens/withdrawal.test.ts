import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it } from '@jest/globals';
import type { Secret } from '../../src/api/resources.ts';
import { ScriptedWorld } from './scripted-world.ts';
import type { TestReconciler } from './test-reconciler.ts';

let world: ScriptedWorld;
/** The Secret with the token that Purser issued. */
let secret: Secret;

beforeAll(async () => {
  world = await ScriptedWorld.start();
});
beforeEach(() => world.reset());
afterAll(() => world.close());

async function issue(reconciler: TestReconciler): Promise<void> {
  await reconciler.reconcile();
  reconciler.sync();
  await reconciler.reconcile();
  secret = world.hub.secrets.get('ci') as Secret;
  expect(world.hub.token.status?.tokenDigest).toBeDefined();
}

/** Withdraws the permission, reconciles once, and returns the namespace in which the removal limits count the token. */
async function refuse(reconciler: TestReconciler): Promise<string | undefined> {
  world.hub.isAllowed = false;
  reconciler.forgetPermissions();
  reconciler.sync();
  await reconciler.reconcile();
  return reconciler.countedIn;
}

/** Restarts the controller, which then knows only the hub. */
async function restart(reconciler: TestReconciler): Promise<TestReconciler> {
  await reconciler.close();
  return world.reconciler();
}

describe('RemovalLimits after a restart or a forged Secret', () => {
  it('counts a token that Purser issued', async () => {
    const reconciler = world.reconciler();
    await issue(reconciler);
    expect(await refuse(reconciler)).toBe('team-a');
    await reconciler.close();
  });

  it('counts a token that Purser issued before a restart', async () => {
    const first = world.reconciler();
    await issue(first);
    const reconciler = await restart(first);
    expect(await refuse(reconciler)).toBe('team-a');
    await reconciler.close();
  });

  it('counts a token that Purser issued although the write of the status was lost', async () => {
    const reconciler = world.reconciler();
    await issue(reconciler);
    world.hub.change(({ apiVersion, kind, metadata, spec }) => ({ apiVersion, kind, metadata, spec }));
    expect(await refuse(reconciler)).toBe('team-a');
    await reconciler.close();
  });

  it.each([
    ['before', false],
    ['after', true],
  ])('recognizes that the tenant named another requester %s a restart', async (_, isRestarted) => {
    let reconciler = world.reconciler();
    await issue(reconciler);
    expect([await refuse(reconciler), reconciler.isSelfCaused]).toEqual(['team-a', false]);
    world.hub.isAllowed = true;
    reconciler.forgetPermissions();
    await reconciler.reconcile();
    world.hub.change((token) => ({ ...token, spec: { ...token.spec, requesterServiceAccountName: 'other' } }));
    expect([await refuse(reconciler), reconciler.isSelfCaused]).toEqual(['team-a', true]);
    if (isRestarted) {
      reconciler = await restart(reconciler);
      expect([await refuse(reconciler), reconciler.isSelfCaused]).toEqual(['team-a', true]);
    }
    await reconciler.close();
  });

  it('deletes the Secret although a tenant changes it constantly', async () => {
    const reconciler = world.reconciler();
    await issue(reconciler);
    await refuse(reconciler);
    world.clock.advance(16_000);
    // The informer lags behind the changes.
    world.hub.put(world.hub.secrets.get('ci') as Secret);
    await reconciler.reconcile();
    expect(world.hub.secrets.size).toBe(0);
    await reconciler.close();
  });

  it('ignores a Secret that a tenant forged with labels, annotations, owner and a token of the right claims', async () => {
    const first = world.reconciler();
    await issue(first);
    // Another ManagedToken of the same spec, for which nothing was issued.
    world.reset();
    world.hub.put(secret);
    const reconciler = await restart(first);
    expect([await refuse(reconciler), world.hub.secrets.size]).toEqual([undefined, 1]);
    expect(world.hub.token.status?.tokenDigest).toBeUndefined();
    await reconciler.close();
  });

  it('ignores a forged Secret in place of the token that Purser issued', async () => {
    const first = world.reconciler();
    await issue(first);
    world.hub.change((token) => ({ ...token, status: { ...token.status, tokenDigest: 'sha256:another' } }));
    const reconciler = await restart(first);
    expect(await refuse(reconciler)).toBeUndefined();
    await reconciler.close();
  });

  it('ignores a forged Secret that needed no change', async () => {
    const first = world.reconciler();
    await issue(first);
    world.reset();
    world.hub.put(secret);
    const reconciler = await restart(first);
    reconciler.sync();
    await reconciler.reconcile();
    expect([world.issued, world.hub.token.status?.tokenDigest]).toEqual([0, undefined]);
    expect(await refuse(reconciler)).toBeUndefined();
    await reconciler.close();
  });
});

describe('token controller with a new binding that the authorizer of the hub has not seen', () => {
  it('repeats the review with a growing delay, and issues the token once it is allowed', async () => {
    world.hub.isAllowed = false;
    const reconciler = world.reconciler();
    const delayMs = async () => ((await reconciler.reconcile()) ?? Infinity) - world.clock.now();
    expect(await delayMs()).toBe(300_000);
    reconciler.grantPermission();
    expect(reconciler.triggered).not.toEqual([]);
    expect([await delayMs(), await delayMs(), await delayMs()]).toEqual([1_000, 2_000, 4_000]);
    world.hub.isAllowed = true;
    await reconciler.reconcile();
    expect(world.hub.secrets.has('ci')).toBe(true);
    await reconciler.close();
  });
});

describe('token controller with a deleted binding that the authorizer of the hub still applies', () => {
  let reconciler: TestReconciler;
  beforeEach(async () => {
    reconciler = world.reconciler();
    reconciler.grantPermission();
    await issue(reconciler);
    reconciler.sync();
    reconciler.withdrawPermission();
    world.hub.served.length = 0;
  });
  afterEach(() => reconciler.close());

  /** Reconciles when the last reconcile requested it, and returns the delay in seconds. */
  async function nextDelay(): Promise<number> {
    const delayMs = ((await reconciler.reconcile()) ?? Infinity) - world.clock.now();
    world.clock.advance(delayMs);
    return delayMs / 1_000;
  }
  const reviews = () => world.hub.served.filter((request) => request === 'POST subjectaccessreviews').length;

  it('repeats the review a second later, and removes the Secret 15 s after the first refusal', async () => {
    expect([await nextDelay(), reviews()]).toEqual([1, 1]);
    world.hub.isAllowed = false;
    expect([await nextDelay(), await nextDelay()]).toEqual([5, 10]);
    await reconciler.reconcile();

    expect(world.hub.secrets.size).toBe(0);
  });

  it('removes the Secret although a review between two refusals allows the token', async () => {
    world.hub.isAllowed = false;
    expect(await nextDelay()).toBe(5);
    world.hub.isAllowed = true;
    expect(await nextDelay()).toBe(1);
    world.hub.isAllowed = false;
    expect([await nextDelay(), await nextDelay()]).toEqual([5, 10]);
    await reconciler.reconcile();

    expect(world.hub.secrets.size).toBe(0);
  });

  it('accepts after 31 s and six reviews a permission that RBAC does not grant', async () => {
    const delays = [await nextDelay(), await nextDelay(), await nextDelay(), await nextDelay(), await nextDelay()];
    expect(delays).toEqual([1, 2, 4, 8, 16]);
    expect([(await nextDelay()) > 60, reviews(), world.hub.secrets.size]).toEqual([true, 6, 1]);
  });

  it('repeats the review of a token that was not reconciled between a restart and the deletion', async () => {
    reconciler = await restart(reconciler);
    reconciler.grantPermission();
    reconciler.withdrawPermission();
    expect(await nextDelay()).toBe(1);
  });

  it('sends no review for a reconcile before the next review is due', async () => {
    await nextDelay();
    await reconciler.reconcile();
    await reconciler.reconcile();
    expect(reviews()).toBe(2);
  });
});
