import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it } from '@jest/globals';
import type { ManagedToken } from '../../src/api/managed-token.gen.ts';
import { AnchorFinalizer, Annotation } from '../../src/api/names.ts';
import { NamespaceBudgets } from '../../src/tokens/budgets.ts';
import { silentLog } from '../support/silent-log.ts';
import { ScriptedWorld } from './scripted-world.ts';
import type { TestReconciler } from './test-reconciler.ts';

const MINUTE = 60_000;

let world: ScriptedWorld;
let reconciler: TestReconciler;
let budgets: NamespaceBudgets;

beforeAll(async () => {
  world = await ScriptedWorld.start();
});
beforeEach(() => {
  world.reset();
  const { clock } = world;
  budgets = new NamespaceBudgets({ clock, log: silentLog, countInNamespace: () => 1 });
  reconciler = world.reconciler({ budgets });
});
afterEach(() => reconciler.close());
afterAll(() => world.close());

/** Spends more than the namespace has, then reconciles. Returns the time until the next reconcile in milliseconds. */
async function overspend(): Promise<number> {
  for (let spent = 0; spent < 1_000; spent++) budgets.spend('reviews', 'team-a');
  reconciler.sync();
  return ((await reconciler.reconcile()) ?? Infinity) - world.clock.now();
}

async function issue(): Promise<void> {
  await reconciler.reconcile();
  reconciler.sync();
  await reconciler.reconcile();
  expect(world.hub.secrets.get('ci')?.data?.['token']).toBeDefined();
  world.clock.advance(MINUTE);
  // The permission is not from RBAC, so it is reviewed again before it is trusted.
  await reconciler.reconcile();
  world.hub.served.length = 0;
}

function annotate(name: string, value: string): void {
  world.hub.change((token) => ({ ...token, metadata: { ...token.metadata, annotations: { [name]: value } } }));
}

/** Returns the ManagedToken with an anchor on a missing Cluster in its status. */
function withAnchor(token: ManagedToken): ManagedToken {
  const anchors = [{ cluster: 'gone', namespace: 'deploy', serviceAccount: 'deployer', clusterUID: '', credential: '' }];
  return { ...token, status: { ...token.status, anchors } };
}

/** Returns the ManagedToken as being deleted, kept by the finalizer for anchors, with an anchor on a missing Cluster. */
function remove(token: ManagedToken): ManagedToken {
  const deletionTimestamp = new Date(world.clock.now()).toISOString();
  return { ...withAnchor(token), metadata: { ...token.metadata, deletionTimestamp, finalizers: [AnchorFinalizer] } };
}

describe('reconcileWithinBudget in a namespace over its budget', () => {
  it('defers a rotation, and sends no request', async () => {
    await issue();
    annotate(Annotation.rotate, 'now');

    expect(await overspend()).toBeGreaterThan(MINUTE);
    expect([world.hub.served, world.issued]).toEqual([[], 1]);
  });

  it('defers the first issuance, even if the permission is uncertain', async () => {
    reconciler.forgetPermissions();

    expect(await overspend()).toBeGreaterThan(MINUTE);
    expect([world.hub.served, world.issued]).toEqual([[], 0]);
  });

  it('withdraws a token whose requester lost permission 16 s earlier', async () => {
    await issue();
    world.hub.isAllowed = false;
    reconciler.forgetPermissions();
    await overspend();
    world.clock.advance(16_000);
    await overspend();

    expect(world.hub.secrets.size).toBe(0);
  });

  it('reviews the permission for an issued token whose Secret was deleted', async () => {
    await issue();
    world.hub.isAllowed = false;
    world.hub.secrets.clear();
    reconciler.forgetPermissions();
    await overspend();

    expect(world.hub.served).toContain('POST subjectaccessreviews');
  });

  it('removes an expired token from the Secret', async () => {
    await issue();
    world.isDown = true;
    world.clock.advance(60 * MINUTE);
    await overspend();

    expect(world.hub.secrets.get('ci')?.data?.['token']).toBeUndefined();
  });

  it('records a request to revoke as handled', async () => {
    await issue();
    annotate(Annotation.revoke, 'leak');
    await overspend();

    expect(world.hub.token.status?.lastRevokeRequest).toBe('leak');
  });

  it('revokes a token, and issues the next one once the namespace is within its budget', async () => {
    await issue();
    world.hub.change(withAnchor);
    annotate(Annotation.revoke, 'leak');

    expect(await overspend()).toBeGreaterThan(MINUTE);
    expect([world.hub.token.status?.lastRevokeRequest, world.hub.secrets.size, world.issued]).toEqual(['leak', 0, 1]);
    world.clock.advance(10 * MINUTE);
    reconciler.sync();
    await reconciler.reconcile();
    expect(world.issued).toBe(2);
  });

  it('renews an expired token', async () => {
    await issue();
    world.clock.advance(60 * MINUTE);
    await overspend();

    expect(world.issued).toBe(2);
  });

  it('removes the finalizer of a deleted ManagedToken', async () => {
    await issue();
    world.hub.change(remove);
    await overspend();

    expect(world.hub.token.metadata.finalizers).toEqual([]);
  });

  it('reconciles a ManagedToken with an urgent removal at most once a second', async () => {
    await issue();
    world.hub.isAllowed = false;
    reconciler.forgetPermissions();
    await overspend();
    world.hub.served.length = 0;
    world.clock.advance(500);

    expect([await overspend(), world.hub.served]).toEqual([1_000, []]);
  });
});
