import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it } from '@jest/globals';
import { Annotation } from '../../src/api/names.ts';
import type { Secret } from '../../src/api/resources.ts';
import { RecordKey } from '../../src/tokens/record-key.ts';
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

describe('withdrawSecrets', () => {
  const held = () => world.hub.secrets.get('ci') as Secret;
  const hasToken = () => Object.hasOwn(held().data ?? {}, 'token');

  /** Adds a finalizer to the Secret of an issued token, withdraws the permission, and waits until the removal is due. */
  async function withdraw(reconciler: TestReconciler, change = (issued: Secret) => issued): Promise<void> {
    await issue(reconciler);
    world.hub.put(change({ ...secret, metadata: { ...secret.metadata, finalizers: ['example.com/hold'] } }));
    await refuse(reconciler);
    world.clock.advance(16_000);
    world.hub.served.splice(0);
  }

  it('removes the token, and keys that may hold the token, from a Secret that a finalizer keeps, and keeps other keys', async () => {
    const reconciler = world.reconciler();
    await withdraw(reconciler, (issued) => ({ ...issued, data: { ...issued.data, other: 'b3RoZXI=' } }));
    await reconciler.reconcile();
    expect(Object.keys(held().data ?? {}).sort()).toEqual(['ca.crt', 'namespace', 'server']);
    expect(hasToken()).toBe(false);
    expect(held().metadata).toMatchObject({ deletionTimestamp: expect.any(String), finalizers: ['example.com/hold'] });
    expect(world.hub.served.filter((request) => request.endsWith(' secrets'))).toEqual(['DELETE secrets', 'PUT secrets']);
    await reconciler.close();
  });

  it('sends no more requests for a Secret that is being deleted and holds no token', async () => {
    const reconciler = world.reconciler();
    await withdraw(reconciler);
    await reconciler.reconcile();
    world.hub.served.splice(0);
    for (let time = 0; time < 3; time++) {
      reconciler.sync();
      reconciler.forgetPermissions();
      await reconciler.reconcile();
      world.clock.advance(16_000);
    }
    expect(world.hub.served.filter((request) => request.endsWith(' secrets'))).toEqual([]);
    await reconciler.close();
  });

  it('removes the token from a Secret that another client changes after the deletion', async () => {
    const reconciler = world.reconciler();
    await withdraw(reconciler);
    let changes = 2;
    world.hub.meanwhile = () => {
      if (changes-- > 0) world.hub.put(held());
    };
    await reconciler.reconcile();
    expect(hasToken()).toBe(false);
    await reconciler.close();
  });

  it('reports an immutable Secret that a finalizer keeps as not removed, and retries', async () => {
    const reconciler = world.reconciler();
    await withdraw(reconciler, (issued) => ({ ...issued, immutable: true }));
    await reconciler.reconcile();
    const conditions = () => world.hub.token.status?.conditions?.map(({ status, reason, message }) => `${status} ${reason} ${message}`);
    expect(conditions()?.join()).toContain('finalizers keep the Secret, and its token cannot be removed. Remove the finalizers.');
    expect(world.hub.token.status?.secretRef).toBeDefined();
    world.hub.secrets.delete('ci');
    reconciler.sync();
    world.clock.advance(60_000);
    await reconciler.reconcile();
    expect(conditions()?.join()).toContain('False Forbidden');
    await reconciler.close();
  });

  it('removes the token after a restart between the deletion and the removal of the token', async () => {
    const first = world.reconciler();
    await withdraw(first);
    world.hub.meanwhile = () => {
      world.hub.isReadOnly = true;
    };
    await first.reconcile();
    expect(hasToken()).toBe(true);
    world.hub.meanwhile = () => {};
    world.hub.isReadOnly = false;
    const second = await restart(first);
    await refuse(second);
    world.clock.advance(16_000);
    await second.reconcile();
    expect(hasToken()).toBe(false);
    await second.close();
  });
});

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

  it('counts a token that Purser issued even if the status was not written', async () => {
    const reconciler = world.reconciler();
    await issue(reconciler);
    world.hub.change(({ apiVersion, kind, metadata, spec }) => ({ apiVersion, kind, metadata, spec }));
    expect(await refuse(reconciler)).toBe('team-a');
    await reconciler.close();
  });

  it.each([
    ['before', false],
    ['after', true],
  ])('detects that the tenant named another requester %s a restart', async (_, isRestarted) => {
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

  it('deletes the Secret even if a tenant changes it constantly', async () => {
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

  it('ignores a Secret that a tenant forged with labels, annotations, owner and a token with the right claims', async () => {
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

  it("ignores a token whose record names a later expiry than the issued token's", async () => {
    const reconciler = world.reconciler();
    await issue(reconciler);
    const { annotations } = secret.metadata;
    const later = new Date(world.clock.now() + 7_200_000).toISOString().replace(/\.\d+/, '');
    world.hub.put({ ...secret, metadata: { ...secret.metadata, annotations: { ...annotations, [Annotation.expiresAt]: later } } });
    expect(await refuse(reconciler)).toBeUndefined();
    await reconciler.close();
  });

  it('ignores tokens that a lost record key signed, and writes nothing, until the next issuance', async () => {
    const first = world.reconciler();
    await issue(first);
    await first.close();
    const recordKey = new RecordKey(Buffer.alloc(32, 2));
    const second = world.reconciler({ recordKey });
    const { status } = world.hub.token;
    world.hub.served.splice(0);
    await second.reconcile();
    expect([world.issued, world.hub.served, world.hub.token.status]).toEqual([1, ['POST subjectaccessreviews'], status]);
    expect(await refuse(second)).toBeUndefined();
    world.hub.isAllowed = true;
    world.hub.change((token) => ({ ...token, metadata: { ...token.metadata, annotations: { [Annotation.rotate]: 'now' } } }));
    world.clock.advance(15_000);
    second.forgetPermissions();
    second.sync();
    await second.reconcile();
    expect(world.issued).toBe(2);
    await second.close();
    const third = world.reconciler({ recordKey });
    expect(await refuse(third)).toBe('team-a');
    await third.close();
  });

  it('counts a token again after the record key is restored', async () => {
    const first = world.reconciler();
    await issue(first);
    await first.close();
    const second = world.reconciler({ recordKey: new RecordKey(Buffer.alloc(32, 2)) });
    await second.reconcile();
    const third = await restart(second);
    expect(await refuse(third)).toBe('team-a');
    await third.close();
  });

  it('ignores a forged Secret that Purser did not have to change', async () => {
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

  /** Reconciles, advances the clock to the requested time of the next reconcile, and returns the delay in seconds. */
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

  it('removes the Secret even if a review between two refusals allows the token', async () => {
    world.hub.isAllowed = false;
    expect(await nextDelay()).toBe(5);
    world.hub.isAllowed = true;
    expect(await nextDelay()).toBe(1);
    world.hub.isAllowed = false;
    expect([await nextDelay(), await nextDelay()]).toEqual([5, 10]);
    await reconciler.reconcile();

    expect(world.hub.secrets.size).toBe(0);
  });

  it('trusts a permission that no indexed RBAC rule grants after 31 s and six reviews', async () => {
    const delays = [await nextDelay(), await nextDelay(), await nextDelay(), await nextDelay(), await nextDelay()];
    expect(delays).toEqual([1, 2, 4, 8, 16]);
    expect([(await nextDelay()) > 60, reviews(), world.hub.secrets.size]).toEqual([true, 6, 1]);
  });

  it('repeats the review of a token that was not reconciled between a restart and the deletion of the binding', async () => {
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

describe('reconcileToken for a Cluster that joins another set during the review', () => {
  it('issues no token if a review for the other set denies it', async () => {
    const reconciler = world.reconciler();
    const { hub } = world;
    hub.faults.push((request, reply) => {
      hub.serve(request, reply);
      hub.clusterSet = 'dev';
      hub.isAllowed = false;
      reconciler.labelCluster('dev');
    });
    await reconciler.reconcile();
    expect(hub.served.filter((request) => request.endsWith('subjectaccessreviews'))).toHaveLength(1 + 6);
    expect([world.issued, hub.secrets.size]).toEqual([0, 0]);
    expect(hub.token.status?.conditions?.[0]?.reason).toBe('Forbidden');
    await reconciler.close();
  });

  it('issues the token if a review for the other set allows it', async () => {
    const reconciler = world.reconciler();
    const { hub } = world;
    hub.faults.push((request, reply) => {
      hub.serve(request, reply);
      hub.clusterSet = 'dev';
      reconciler.labelCluster('dev');
    });
    await reconciler.reconcile();
    expect(hub.served.filter((request) => request.endsWith('subjectaccessreviews'))).toHaveLength(2);
    expect([world.issued, hub.secrets.size]).toEqual([1, 1]);
    await reconciler.close();
  });
});
