// Another client reverts every write, or the target is down for long: Purser backs off in both cases.

import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it } from '@jest/globals';
import type { Secret } from '../../src/api/resources.ts';
import type { FakeClock } from '../support/clock.ts';
import { base64 } from '../targets/registration.ts';
import type { ScriptedHub } from './scripted-hub.ts';
import { ScriptedWorld } from './scripted-world.ts';
import type { TestReconciler } from './test-reconciler.ts';

const MINUTE = 60_000;

let world: ScriptedWorld;
let clock: FakeClock;
let hub: ScriptedHub;
let reconciler: TestReconciler;

beforeAll(async () => {
  world = await ScriptedWorld.start();
});
afterAll(() => world.close());
beforeEach(() => {
  world.reset();
  ({ clock, hub } = world);
  reconciler = world.reconciler();
});
afterEach(() => reconciler.close());

const writes = () => hub.served.filter((call) => /^(POST|PUT|DELETE) secrets/.test(call)).length;
const reviews = () => hub.served.filter((call) => call.endsWith('subjectaccessreviews')).length;
const conditions = () => (hub.token.status?.conditions ?? []).map(({ type, status, reason }) => `${type}=${status}/${reason}`).join(' ');

/** Reconciles continuously, as if every change triggered a reconcile immediately. */
async function reconcileFor(ms: number, undo: () => void = () => {}): Promise<void> {
  for (let passed = 0; passed < ms; passed += 500) {
    undo();
    reconciler.sync();
    await reconciler.reconcile();
    reconciler.sync();
    clock.advance(500);
  }
}

async function issueFirstToken(): Promise<Secret> {
  await reconciler.reconcile();
  reconciler.sync();
  clock.advance(10_000);
  hub.served.length = 0;
  world.issued = 0;
  return hub.secrets.get('ci') as Secret;
}

const withData = (secret: Secret, data: Secret['data']): Secret => ({ ...secret, data: { ...secret.data, ...data } });

describe('reconcileToken and a client that reverts its writes', () => {
  it.each([
    ['a webhook that changes a key', (secret: Secret) => withData(secret, { server: base64('https://elsewhere') })],
    ['a webhook that adds a key', (secret: Secret) => withData(secret, { extra: base64('x') })],
    ['a webhook that changes the token', (secret: Secret) => withData(secret, { token: base64('theirs') })],
  ])('backs off against %s, and reports SecretWriteFailed', async (_, webhook) => {
    await issueFirstToken();
    hub.webhook = webhook;
    hub.put(webhook(hub.secrets.get('ci') as Secret));
    await reconcileFor(5 * MINUTE);

    expect(conditions()).toMatch(/=(True|False)\/SecretWriteFailed/);
    expect(writes()).toBeGreaterThan(4);
    expect(writes()).toBeLessThanOrEqual(10);
    expect(world.issued).toBeLessThanOrEqual(10);
    hub.webhook = (secret) => secret;
    await reconcileFor(6 * MINUTE);
    expect(conditions()).toBe('Ready=True/Issued RotationFailing=False/Issued');
  });

  it.each([
    ['changes a key back', (secret: Secret) => withData(secret, { server: base64('https://elsewhere') })],
    ['writes another token', (secret: Secret) => withData(secret, { token: base64('theirs') })],
  ])('backs off against a controller that %s', async (_, undone) => {
    const theirs = undone(await issueFirstToken());
    await reconcileFor(5 * MINUTE, () => hub.put(theirs));

    expect(conditions()).toMatch(/=(True|False)\/SecretWriteFailed/);
    expect(writes()).toBeLessThanOrEqual(10);
    await reconcileFor(6 * MINUTE);
    expect(conditions()).toBe('Ready=True/Issued RotationFailing=False/Issued');
  });

  it('backs off from renewals while a controller restores an old token', async () => {
    const old = await issueFirstToken();
    clock.advance(49 * MINUTE);
    await reconcileFor(5 * MINUTE, () => hub.put(old));

    expect(conditions()).toBe('Ready=True/Issued RotationFailing=True/SecretWriteFailed');
    expect([world.issued <= 10, writes() <= 10]).toEqual([true, true]);
  });

  it('backs off from removing an expired token that another controller restores', async () => {
    const old = await issueFirstToken();
    world.isDown = true;
    clock.advance(70 * MINUTE);
    await reconcileFor(5 * MINUTE, () => hub.put(old));

    expect(writes()).toBeLessThanOrEqual(10);
  });

  it('repairs the Secret immediately for every new spec', async () => {
    await issueFirstToken();
    for (let edit = 0; edit < 12; edit++) {
      const secret = { outputs: ['Token'] as const, labels: { edit: String(edit) } };
      hub.change((token) => ({ ...token, spec: { ...token.spec, secret } }));
      await reconcileFor(500);
      expect(hub.secrets.get('ci')?.metadata.labels?.['edit']).toBe(String(edit));
    }
    expect(world.issued).toBe(0);
  });
});

describe('reconcileToken while it backs off', () => {
  /** Reconciles only at the requested times; returns the times of issuances, in seconds from now. */
  async function reconcileOnSchedule(ms: number, each: (passedMs: number) => void = () => {}): Promise<readonly number[]> {
    const at: number[] = [];
    const start = clock.now();
    let dueAt = start;
    for (let passed = 0; passed < ms; passed += 1_000) {
      each(passed);
      const before = world.issued;
      reconciler.sync();
      if (clock.now() >= dueAt) dueAt = (await reconciler.reconcile()) ?? Infinity;
      if (world.issued > before) at.push((clock.now() - start) / 1_000);
      clock.advance(1_000);
    }
    return at;
  }

  const isExpired = () => clock.now() >= Date.parse(hub.secrets.get('ci')?.metadata.annotations?.['tokens.purser.dev/expires-at'] ?? '');

  it("retries within a fifth of the old token's remaining validity if a new token could not be written", async () => {
    await issueFirstToken();
    clock.advance(45 * MINUTE);
    hub.isReadOnly = true;
    const attempts = await reconcileOnSchedule(14 * MINUTE);
    hub.isReadOnly = false;
    const [renewed] = await reconcileOnSchedule(MINUTE);

    expect(attempts.length).toBeGreaterThan(5);
    expect(renewed).toBeLessThan(15);
    expect(isExpired()).toBe(false);
  });

  it('does not defer the renewal after a reverted repair', async () => {
    const secret = { outputs: ['Token'], labels: { team: 'a' } } as const;
    hub.change((token) => ({ ...token, spec: { ...token.spec, expirationSeconds: 600, secret } }));
    reconciler.sync();
    hub.webhook = (written) => {
      const labels = Object.entries(written.metadata.labels ?? {}).filter(([name]) => name !== 'team');
      return { ...written, metadata: { ...written.metadata, labels: Object.fromEntries(labels) } };
    };
    await issueFirstToken();
    const expired: number[] = [];
    await reconcileOnSchedule(60 * MINUTE, (passed) => {
      if (isExpired()) expired.push(passed);
    });

    expect(conditions()).toBe('Ready=True/Issued RotationFailing=True/SecretWriteFailed');
    expect([expired, world.issued > 2]).toEqual([[], true]);
  });

  it('removes an expired token from the Secret', async () => {
    await issueFirstToken();
    clock.advance(45 * MINUTE);
    hub.isReadOnly = true;
    await reconcileOnSchedule(22 * MINUTE);
    hub.isReadOnly = false;
    await reconcileOnSchedule(10_000);

    expect(hub.secrets.get('ci')?.data?.['token']).toBeUndefined();
    expect(conditions()).toBe('Ready=False/Expired RotationFailing=True/SecretWriteFailed');
    await reconcileOnSchedule(5 * MINUTE);
    expect(conditions()).toBe('Ready=True/Issued RotationFailing=False/Issued');
  });
});

describe('reconcileToken while the target is down', () => {
  it('sends no review while the circuit is open', async () => {
    await issueFirstToken();
    world.isDown = true;
    clock.advance(49 * MINUTE);
    for (let runs = 0; runs < 30; runs++) await reconciler.reconcile();

    expect(reviews()).toBe(5);
    expect(conditions()).toBe('Ready=True/Issued RotationFailing=True/CircuitOpen');
    world.isDown = false;
    clock.advance(5_000);
    await reconciler.reconcile();
    expect([reviews(), world.issued, conditions()]).toEqual([6, 1, 'Ready=True/Issued RotationFailing=False/Issued']);
  });

  it('reports nothing about the target to a requester without permission', async () => {
    world.isDown = true;
    for (let runs = 0; runs < 6; runs++) await reconciler.reconcile();
    hub.isAllowed = false;
    reconciler.forgetPermissions();
    await reconciler.reconcile();

    expect(conditions()).toBe('Ready=False/Forbidden');
  });
});
