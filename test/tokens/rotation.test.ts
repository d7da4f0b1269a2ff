// Tokens are renewed before their expiry, and kept while renewal fails.

import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it } from '@jest/globals';
import { Clusters, Secrets, ServiceAccounts } from '../../src/api/resources.ts';
import { base64, TokenWorld, text } from './token-world.ts';

const MINUTE = 60_000;
const HOUR = 60 * MINUTE;
const ROTATION = ['POST subjectaccessreviews', 'PUT secrets/ci', 'PUT managedtokens/ci/status'];

let world: TokenWorld;

beforeAll(async () => {
  world = await TokenWorld.start(2);
});
beforeEach(() => world.begin());
afterEach(() => world.end());
afterAll(() => world.close());

/** Creates a ManagedToken and returns its first token. */
async function issueToken(spec: Parameters<TokenWorld['create']>[1] = {}): Promise<string> {
  await world.create('ci', spec);
  await world.waitUntilReady();
  await world.waitForReconcile();
  world.calls.clear();
  return await world.tokenText();
}

describe('token controller and rotation', () => {
  it('rotates before the expiry with one review and three other requests', async () => {
    await world.run();
    const first = await issueToken();
    await world.pass(40 * MINUTE);
    await world.waitForReconcile();
    expect([await world.tokenText(), world.sent()]).toEqual([first, { hub: [], target: [] }]);
    await world.pass(9 * MINUTE);
    const second = await world.waitForNewToken(first);
    await world.until(async () => (await world.get()).status?.rotations === 1);
    await world.waitForReconcile();

    expect(world.sent()).toEqual({ hub: ROTATION, target: ['POST serviceaccounts/deployer/token'] });
    expect(await world.isAccepted(second)).toBe(true);
    await world.expectEvents(['Normal Issued']);
  });

  it('schedules each rotation by the granted lifetime', async () => {
    await world.run();
    let token = await issueToken({ expirationSeconds: 600, rotation: { renewBefore: '50%', suspend: false } });
    for (let rotations = 1; rotations <= 3; rotations++) {
      await world.pass(5 * MINUTE);
      token = await world.waitForNewToken(token);
      await world.until(async () => (await world.get()).status?.rotations === rotations);
    }
    expect(world.sent().target).toEqual(Array.from({ length: 3 }, () => 'POST serviceaccounts/deployer/token'));
  });

  it('rotates after a tenth of the lifetime at the earliest, and records RenewBeforeClamped', async () => {
    await world.run();
    const first = await issueToken({ expirationSeconds: 600, rotation: { renewBefore: '10h', suspend: false } });
    await world.expectEvents(['Normal Issued', 'Warning RenewBeforeClamped']);
    const { issuedAt } = (await world.get()).status ?? {};
    await world.pass(MINUTE + 10_000, 1_000);
    await world.waitForNewToken(first);
    // By the controller's clock, which waits also advance.
    await world.until(async () => (await world.get()).status?.issuedAt !== issuedAt);
    const ageMs = Date.parse((await world.get()).status?.issuedAt ?? '') - Date.parse(issuedAt ?? '');
    expect(ageMs).toBeGreaterThanOrEqual(MINUTE);
  });

  it('rotates immediately for each new value of the rotate annotation', async () => {
    await world.run();
    const first = await issueToken();
    await world.pass(15_000);
    await world.patch('ci', { metadata: { annotations: { 'tokens.purser.dev/rotate': '1' } } });
    const second = await world.waitForNewToken(first);
    await world.until(async () => (await world.get()).status?.lastRotateRequest === '1');
    await world.waitForReconcile();

    expect([await world.tokenText(), world.sent().target.length]).toEqual([second, 1]);
    await world.expectEvents(['Normal Issued', 'Normal RotationRequested']);
  });

  it('does not rotate while suspended, and keeps the token until its expiry', async () => {
    await world.run();
    const first = await issueToken();
    await world.patch('ci', { spec: { rotation: { suspend: true } } });
    await world.until(async () => (await world.conditions()) === 'Ready=True Issued RotationFailing=False Suspended');
    await world.hub.admin.patch(Secrets, { namespace: world.namespace, name: 'ci' }, { metadata: { labels: { extra: 'x' } } });
    await world.pass(50 * MINUTE);
    await world.waitForReconcile();
    expect([await world.tokenText(), world.sent().target]).toEqual([first, []]);
    await world.pass(11 * MINUTE);
    await world.until(async () => (await world.conditions()) === 'Ready=False Suspended RotationFailing=False Suspended');
    expect(Object.keys((await world.secret())?.data ?? {}).sort()).toEqual(['ca.crt', 'namespace', 'server']);
    await world.patch('ci', { spec: { rotation: { suspend: false } } });
    await world.waitUntilReady();
  });
});

describe('token controller while a target is down', () => {
  it('keeps the old token, retries the renewal, and recovers', async () => {
    await world.run();
    const first = await issueToken();
    await world.target.stop();
    await world.pass(49 * MINUTE);
    await world.until(async () => (await world.conditions()) === 'Ready=True Issued RotationFailing=True ClusterUnreachable');
    expect(await world.tokenText()).toBe(first);
    await world.target.restart();
    await world.pass(3 * MINUTE, 5_000);
    await world.waitForNewToken(first);
    await world.until(async () => (await world.conditions()) === 'Ready=True Issued RotationFailing=False Issued');
    await world.expectEvents(['Normal Issued', 'Warning ClusterUnreachable', 'Normal Issued']);
  });

  it('removes an expired token from the Secret, and issues a new token when the target recovers', async () => {
    await world.run();
    const first = await issueToken();
    await world.target.stop();
    await world.pass(49 * MINUTE);
    await world.until(async () => (await world.condition('RotationFailing')) === 'True ClusterUnreachable');
    await world.pass(12 * MINUTE, 20_000);
    await world.until(async () => (await world.conditions()).startsWith('Ready=False Expired RotationFailing=True'));
    expect(Object.keys((await world.secret())?.data ?? {}).sort()).toEqual(['ca.crt', 'namespace', 'server']);
    await world.target.restart();
    await world.pass(10 * MINUTE, 10_000);
    await world.waitUntilReady();
    expect(await world.tokenText()).not.toBe(first);
  });
});

describe('token controller and a re-created service account', () => {
  const account = { namespace: 'deploy', name: 'short-lived' };

  beforeEach(async () => void (await world.target.admin.create(ServiceAccounts, { metadata: account })));
  afterEach(() => world.target.admin.delete(ServiceAccounts, account));

  const recreate = async () => {
    await world.target.admin.delete(ServiceAccounts, account);
    await world.target.admin.create(ServiceAccounts, { metadata: account });
  };

  it('detects the new UID at the renewal, and issues a token for the new service account', async () => {
    await world.run();
    const first = await issueToken({ serviceAccount: account });
    const { status } = await world.get();
    await recreate();
    await world.pass(49 * MINUTE);
    const second = await world.waitForNewToken(first);
    await world.until(async () => (await world.get()).status?.serviceAccountUID !== status?.serviceAccountUID);

    expect(await world.isAccepted(second)).toBe(true);
    expect(world.sent().target).toEqual(Array.from({ length: 2 }, () => 'POST serviceaccounts/short-lived/token'));
    await world.expectEvents(['Normal Issued', 'Normal ServiceAccountRecreated']);
  });

  it('detects by verification that the target rejects the token', async () => {
    await world.run({ settings: { verifyIntervalMs: 15 * MINUTE } });
    const first = await issueToken({ serviceAccount: account });
    await world.pass(15 * MINUTE);
    await world.until(async () => world.sent().target.includes('POST tokenreviews'));
    await world.waitForReconcile();
    expect(await world.tokenText()).toBe(first);
    expect(world.sent()).toEqual({ hub: ['GET secrets/ci'], target: ['POST tokenreviews'] });
    await recreate();
    await world.pass(15 * MINUTE);
    const second = await world.waitForNewToken(first);
    await world.waitUntilReady();

    expect(await world.isAccepted(second)).toBe(true);
    expect(await world.events()).toContain('Normal TokenRejected');
  });

  it('replaces all tokens within two minutes after the cluster has rejected some of them', async () => {
    await world.run({ settings: { verifyIntervalMs: 360 * MINUTE } });
    const names = ['a', 'b', 'c', 'd', 'e'];
    for (const name of names) await world.create(name, { serviceAccount: account });
    for (const name of names) await world.waitUntilReady(name);
    const before = await Promise.all(names.map((name) => world.tokenText(name)));
    await recreate();
    await world.pass(2 * MINUTE, 1_000);
    for (const [index, name] of names.entries()) await world.waitForNewToken(before[index] ?? '', name);
    const after = await Promise.all(names.map((name) => world.tokenText(name)));

    for (const token of after) expect(await world.isAccepted(token)).toBe(true);
    for (const name of names) expect(await world.events(name)).toContain('Normal TokenRejected');
  });

  it('keeps the token of a deleted service account, and reports the missing service account', async () => {
    await world.run();
    const first = await issueToken({ serviceAccount: account });
    await world.target.admin.delete(ServiceAccounts, account);
    await world.pass(49 * MINUTE);
    await world.until(async () => (await world.conditions()) === 'Ready=True Issued RotationFailing=True ServiceAccountNotFound');
    expect(await world.tokenText()).toBe(first);
    await world.target.admin.create(ServiceAccounts, { metadata: account });
  });
});

describe('token controller and changes to a Cluster', () => {
  it('keeps the token of a deleted Cluster, and reports the failing renewal', async () => {
    await world.run();
    const first = await issueToken();
    await world.hub.admin.delete(Clusters, { name: world.cluster });
    await world.until(async () => (await world.conditions()) === 'Ready=True Issued RotationFailing=True ClusterNotFound');
    await world.pass(49 * MINUTE);
    await world.waitForReconcile();
    expect(await world.tokenText()).toBe(first);
    await world.pass(12 * MINUTE);
    await world.until(async () => (await world.conditions()) === 'Ready=False Expired RotationFailing=True ClusterNotFound');
  });

  it('issues a new token for a re-created Cluster', async () => {
    await world.run();
    const first = await issueToken();
    await world.hub.admin.delete(Clusters, { name: world.cluster });
    await world.until(async () => (await world.condition('RotationFailing')) === 'True ClusterNotFound');
    await world.pass(15_000);
    world.credential = await world.register(world.cluster, world.targets[1]);
    const second = await world.waitForNewToken(first);
    await world.waitUntilReady();

    expect(await world.isAccepted(second, world.targets[1])).toBe(true);
    expect(await world.isAccepted(second)).toBe(false);
    expect(text(await world.secret(), 'server')).toBe(world.targets[1]?.url);
    expect(await world.events()).toContain('Normal ClusterReplaced');
  });

  it('writes a new address of the Cluster into the Secret without a new token', async () => {
    await world.run();
    const first = await issueToken();
    const { spec } = await world.hub.admin.get(Clusters, { name: world.cluster });
    const { caBundle } = spec.orchestratorApiEndpoints;
    const serverAddress = 'https://moved.example.com:6443';
    const credential = { namespace: 'purser-system', name: `${world.cluster}-credential` };
    await world.hub.admin.patch(Secrets, credential, { data: { server: base64(`${world.target.url} ${serverAddress}`) } });
    await world.hub.admin.patch(
      Clusters,
      { name: world.cluster },
      { spec: { orchestratorApiEndpoints: { caBundle, serverEndpoints: [{ clientCIDR: '0.0.0.0/0', serverAddress }] } } },
    );
    await world.until(async () => text(await world.secret(), 'server') === serverAddress);
    expect([await world.tokenText(), world.sent().target]).toEqual([first, []]);
  });

  it('renews the token after a rejected credential is corrected', async () => {
    await world.run();
    const first = await issueToken();
    const bad = { namespace: 'purser-system', name: `${world.cluster}-credential` };
    const { data } = await world.hub.admin.get(Secrets, bad);
    await world.hub.admin.patch(Secrets, bad, { data: { token: base64('rejected') } });
    await world.pass(49 * MINUTE);
    await world.until(async () => (await world.conditions()) === 'Ready=True Issued RotationFailing=True CredentialRejected');
    await world.hub.admin.patch(Secrets, bad, { data: { token: data?.['token'] ?? '' } });
    await world.waitForNewToken(first);
  });
});

describe('token controller and changes to the spec', () => {
  it.each([
    ['spec.audiences', { audiences: ['https://kubernetes.default.svc', 'vault'] }],
    ['spec.serviceAccount', { serviceAccount: { namespace: 'deploy', name: 'default' } }],
  ])('issues a new token after a change of %s', async (_, spec) => {
    await world.run();
    const first = await issueToken();
    await world.pass(15_000);
    await world.patch('ci', { spec });
    await world.waitForNewToken(first);
    const { status, metadata } = await world.waitUntilReady();
    expect(status?.conditions?.[0]?.observedGeneration).toBe(metadata.generation);
    await world.expectEvents(['Normal Issued', 'Normal SpecChanged']);
  });

  it('removes the old token when no new token can be issued', async () => {
    await world.run();
    await issueToken();
    await world.pass(15_000);
    await world.patch('ci', { spec: { serviceAccount: { namespace: 'deploy', name: 'missing' } } });
    await world.until(async () => (await world.conditions()) === 'Ready=False Pending RotationFailing=undefined');
    await world.until(async () => (await world.tokenText()) === '');
    expect((await world.get()).status?.conditions?.[0]?.message).toContain('ServiceAccountNotFound');
  });

  it('applies a new lifetime with the next rotation', async () => {
    await world.run();
    const first = await issueToken();
    await world.patch('ci', { spec: { expirationSeconds: 7200 } });
    await world.waitForReconcile();
    expect([await world.tokenText(), world.sent().target]).toEqual([first, []]);
    await world.pass(49 * MINUTE);
    await world.waitForNewToken(first);
    await world.until(async () => (await world.get()).status?.rotations === 1);
    const { status } = await world.get();
    expect(Date.parse(status?.expirationTimestamp ?? '') - Date.parse(status?.issuedAt ?? '')).toBe(2 * HOUR);
  });

  it('issues at most one token in ten seconds, no matter how often the spec changes', async () => {
    await world.run();
    await issueToken();
    for (let edit = 0; edit < 20; edit++) {
      await world.patch('ci', { spec: { audiences: [`https://kubernetes.default.svc`, `edit-${edit}`] } });
      await world.pass(500);
    }
    await world.pass(25_000, 500);
    await world.waitUntilReady();
    await world.waitForReconcile();
    expect(world.sent().target.length).toBeLessThanOrEqual(3);
    expect((await world.get()).status?.conditions?.[0]?.observedGeneration).toBe((await world.get()).metadata.generation);
  });
});
