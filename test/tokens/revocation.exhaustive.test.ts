// Revocable tokens are bound to an anchor on the target. Purser deletes the anchor before the Secret.

import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it } from '@jest/globals';
import { Annotation } from '../../src/api/names.ts';
import { Clusters, ManagedTokens, type Secret, Secrets, ServiceAccounts } from '../../src/api/resources.ts';
import { hasReason } from '../../src/kubernetes/status.ts';
import { credentialKeysOf, toIssuingCredential } from '../../src/targets/registry.ts';
import { onlyExhaustive } from '../support/scaled.ts';
import { TokenWorld } from './token-world.ts';

const MINUTE = 60_000;
const FINALIZER = 'tokens.purser.dev/anchor';

let world: TokenWorld;
const ci = () => ({ namespace: world.namespace, name: 'ci' });

beforeAll(async () => {
  world = await TokenWorld.start(2);
});
beforeEach(() => world.begin());
afterEach(() => world.end());
afterAll(() => world.close());

async function issueToken(calls: string[] = []): Promise<string> {
  await world.create('ci', { revocation: 'BoundSecret' });
  await world.waitUntilReady();
  await world.waitForReconcile();
  calls.push(...world.callsInOrder());
  await world.pass(5_000);
  world.calls.clear();
  return await world.tokenText();
}

async function anchor(target = world.target) {
  const { items } = await target.admin.list(Secrets, { namespace: 'deploy' });
  const { metadata } = await world.get().catch(() => ({ metadata: { uid: '' } }));
  return items.find(({ metadata: { name } }) => name === `purser-${metadata.uid}`);
}

async function isGone(): Promise<boolean> {
  return await world.get().then(
    () => false,
    (error: unknown) => hasReason(error, 'NotFound'),
  );
}

async function isRejected(token: string, target = world.target): Promise<boolean> {
  return !(await world.isAccepted(token, target));
}

describe('token controller with revocation BoundSecret', () => {
  it('binds the token to an anchor in the namespace of its service account, and sets the finalizer', async () => {
    await world.run();
    const token = await issueToken();

    expect(await world.isAccepted(token)).toBe(true);
    expect((await world.get()).metadata.finalizers).toEqual([FINALIZER]);
    expect((await anchor())?.metadata).toMatchObject({
      labels: { 'tokens.purser.dev/managed-by': 'purser' },
      ownerReferences: [{ kind: 'ServiceAccount', name: 'deployer' }],
    });
    expect((await anchor())?.data).toBeUndefined();
  });

  it('sends eight requests for a first token: finalizer and status.anchors before the anchor, the anchor before the token', async () => {
    await world.run();
    await world.create('warm');
    await world.waitUntilReady('warm');
    await world.waitForReconcile('warm');
    const calls: string[] = [];
    world.calls.clear();
    await issueToken(calls);

    expect(calls).toEqual([
      'POST subjectaccessreviews',
      'PATCH managedtokens/ci',
      'PUT managedtokens/ci/status',
      'GET serviceaccounts/deployer',
      'POST secrets',
      'POST serviceaccounts/deployer/token',
      'POST secrets',
      'PUT managedtokens/ci/status',
    ]);
    expect((await world.get()).status?.anchors).toMatchObject([{ cluster: world.cluster, namespace: 'deploy' }]);
  });

  it('renews the token with the same anchor and without extra requests', async () => {
    await world.run();
    const first = await issueToken();
    const before = await anchor();
    await world.pass(49 * MINUTE);
    await world.waitForNewToken(first);
    await world.until(async () => (await world.get()).status?.rotations === 1);
    await world.waitForReconcile();

    expect(world.sent()).toEqual({
      hub: ['POST subjectaccessreviews', 'PUT secrets/ci', 'PUT managedtokens/ci/status'],
      target: ['POST serviceaccounts/deployer/token'],
    });
    expect(await anchor()).toEqual(before);
  });

  it('revokes the token when its requester loses permission', async () => {
    await world.run();
    const token = await issueToken();
    await world.forbid();
    await world.until(async () => world.sent().hub.filter((call) => call === 'POST subjectaccessreviews').length >= 3);
    await world.pass(16_000, 1_000);
    await world.until(async () => (await world.secret()) === undefined);
    await world.waitForReconcile();

    expect(await anchor()).toBeUndefined();
    expect(await isRejected(token)).toBe(true);
    await world.until(async () => (await world.get()).metadata.finalizers === undefined);
    expect((await world.get()).status?.anchors).toBeUndefined();
  });

  it('revokes the token when its ManagedToken is deleted', async () => {
    await world.run();
    const token = await issueToken();
    await world.hub.admin.delete(ManagedTokens, ci());
    await world.until(isGone);
    await world.until(async () => (await world.secret()) === undefined);

    expect([await anchor(), await isRejected(token)]).toEqual([undefined, true]);
  });

  it('revokes the token once for each value of the revoke annotation, and issues a new token', async () => {
    await world.run();
    const first = await issueToken();
    await world.patch('ci', { metadata: { annotations: { 'tokens.purser.dev/revoke': 'leaked' } } });
    await world.until(() => isRejected(first));
    await world.pass(5_000, 500);
    const second = await world.waitForNewToken(first);
    await world.waitUntilReady();
    await world.waitForReconcile();

    expect(await world.isAccepted(second)).toBe(true);
    expect((await world.get()).status?.lastRevokeRequest).toBe('leaked');
    expect(world.sent().target.filter((call) => call.endsWith('/token'))).toHaveLength(1);
    expect(await world.events()).toContain('Normal RevocationRequested');
  });

  onlyExhaustive(() => {
    it('issues no token after a revocation while suspended', async () => {
      await world.run();
      const first = await issueToken();
      await world.patch('ci', {
        metadata: { annotations: { 'tokens.purser.dev/revoke': 'leaked' } },
        spec: { rotation: { suspend: true } },
      });
      await world.until(() => isRejected(first));
      await world.until(async () => (await world.conditions()) === 'Ready=False Suspended RotationFailing=False Suspended');
      await world.pass(60_000, 5_000);
      await world.waitForReconcile();
      expect([await world.secret(), await anchor()]).toEqual([undefined, undefined]);
      await world.patch('ci', { spec: { rotation: { suspend: false } } });
      await world.waitUntilReady();
    });
  });

  it('re-creates an anchor that another client deleted', async () => {
    await world.run({ settings: { verifyIntervalMs: 15 * MINUTE } });
    const first = await issueToken();
    await world.target.admin.delete(Secrets, { namespace: 'deploy', name: (await anchor())?.metadata.name ?? '' });
    expect(await isRejected(first)).toBe(true);
    await world.pass(16 * MINUTE);
    const second = await world.waitForNewToken(first);
    expect(await world.isAccepted(second)).toBe(true);
  });

  onlyExhaustive(() => {
    it('re-creates the anchor for a re-created service account', async () => {
      const account = { namespace: 'deploy', name: 'short-lived' };
      await world.target.admin.create(ServiceAccounts, { metadata: account });
      await world.run();
      await world.create('ci', { revocation: 'BoundSecret', serviceAccount: account });
      await world.waitUntilReady();
      const first = await world.tokenText();
      await world.target.admin.delete(ServiceAccounts, account);
      await world.target.admin.create(ServiceAccounts, { metadata: account });
      await world.pass(49 * MINUTE);
      const second = await world.waitForNewToken(first);
      expect(await world.isAccepted(second)).toBe(true);
      await world.target.admin.delete(ServiceAccounts, account);
    });
  });

  it('deletes the former anchor when the spec names another cluster', async () => {
    await world.run();
    const first = await issueToken();
    await world.register(`${world.cluster}-b`, world.targets[1]);
    await world.allow(`${world.cluster}-b`);
    await world.pass(15_000);
    await world.patch('ci', { spec: { clusterName: `${world.cluster}-b` } });
    const second = await world.waitForNewToken(first);
    await world.until(async () => (await anchor()) === undefined);

    expect([await isRejected(first), await world.isAccepted(second, world.targets[1])]).toEqual([true, true]);
    expect(await anchor(world.targets[1])).toBeDefined();
  });

  it('deletes the anchor and removes the finalizer when revocation becomes None', async () => {
    await world.run();
    const first = await issueToken();
    await world.pass(15_000);
    await world.patch('ci', { spec: { revocation: 'None' } });
    await world.waitForNewToken(first);
    await world.until(async () => (await world.get()).metadata.finalizers === undefined);
    expect([await anchor(), await isRejected(first)]).toEqual([undefined, true]);
  });
});

onlyExhaustive(() => {
  describe('token controller with revocation BoundSecret and a deleted Secret', () => {
    const revoke = () => world.patch('ci', { metadata: { annotations: { 'tokens.purser.dev/revoke': 'leaked' } } });

    /** Deletes the Secret while `keep` prevents its re-creation. */
    async function deleteSecretWhile(keep: () => Promise<unknown>): Promise<string> {
      const token = await issueToken();
      await keep();
      await world.hub.admin.delete(Secrets, ci());
      return token;
    }

    it('revokes the token when its requester loses permission', async () => {
      await world.run();
      const token = await deleteSecretWhile(() => world.forbid());
      await world.until(async () => (await world.condition('Ready')) === 'False Forbidden');
      await world.pass(16_000, 1_000);
      await world.until(() => isRejected(token));
      await world.until(async () => (await world.get()).metadata.finalizers === undefined);

      expect(await anchor()).toBeUndefined();
      await world.allow(world.cluster);
      await world.waitUntilReady();
      expect((await world.get()).metadata.finalizers).toEqual([FINALIZER]);
    });

    it('revokes the token after a withdrawal once the cluster responds again, and audits the withdrawal once', async () => {
      const controller = await world.run();
      const token = await deleteSecretWhile(() => world.forbid());
      await world.target.stop();
      await world.until(async () => (await world.condition('Ready')) === 'False Forbidden');
      await world.pass(16_000, 1_000);
      await world.until(async () => (await world.events()).includes('Warning AnchorOrphaned'));
      await world.target.restart();
      await world.pass(6 * MINUTE, 1_000);
      await world.until(() => isRejected(token));
      await world.until(async () => (await world.get()).metadata.finalizers === undefined);
      expect(controller.logged.filter((line) => line.includes('"decision":"withdrawn"'))).toHaveLength(1);
    });

    it.each([
      ['has lost its permission', () => world.forbid(), 'Forbidden'],
      ['has a spec that is invalid', () => world.patch('ci', { spec: { secret: { server: 'https://192.0.2.1' } } }), 'InvalidSpec'],
    ])('revokes the token for a new revoke annotation even if the ManagedToken %s', async (_, keep, reason) => {
      await world.run();
      const token = await deleteSecretWhile(keep);
      await world.until(async () => (await world.condition('Ready')) === `False ${reason}`);
      await revoke();
      await world.until(() => isRejected(token));
      await world.until(async () => (await world.get()).status?.lastRevokeRequest === 'leaked');

      expect(await world.events()).toContain('Normal RevocationRequested');
    });

    it('revokes the token for a new revoke annotation even if a foreign Secret has the name of the deleted Secret', async () => {
      await world.run();
      const token = await issueToken();
      await world.patch('ci', { spec: { rotation: { suspend: true } } });
      await world.hub.admin.delete(Secrets, ci());
      await world.hub.admin.create(Secrets, { metadata: ci(), type: 'Opaque' });
      await world.patch('ci', { spec: { rotation: { suspend: false } } });
      await world.until(async () => (await world.condition('Ready')) === 'False SecretConflict');
      await revoke();
      await world.until(() => isRejected(token));
      await world.hub.admin.delete(Secrets, ci());
    });

    it('revokes the token when the spec names a service account in another namespace', async () => {
      const account = { namespace: 'default', name: 'elsewhere' };
      await world.target.admin.create(ServiceAccounts, { metadata: account });
      await world.run();
      const token = await issueToken();
      await world.patch('ci', { spec: { rotation: { suspend: true } } });
      await world.hub.admin.delete(Secrets, ci());
      await world.patch('ci', { spec: { rotation: { suspend: false }, serviceAccount: account } });
      await world.waitUntilReady();
      await world.until(() => isRejected(token));

      expect(await anchor()).toBeUndefined();
      await world.until(async () => {
        const { status } = await world.get();
        return status?.anchors?.map(({ namespace }) => namespace).join() === 'default';
      });
      await world.target.admin.delete(ServiceAccounts, account);
    });

    it('revokes the token at a former location when the ManagedToken is deleted', async () => {
      await world.run();
      const token = await issueToken();
      await world.patch('ci', { spec: { rotation: { suspend: true }, clusterName: 'nowhere' } });
      await world.hub.admin.delete(Secrets, ci());
      await world.waitForReconcile();
      await world.hub.admin.delete(ManagedTokens, ci());
      await world.until(isGone);

      expect(await isRejected(token)).toBe(true);
    });
  });
});

describe('token controller and a ManagedToken that is being deleted', () => {
  it('keeps the finalizer for at most ten minutes while the target is down', async () => {
    const controller = await world.run();
    await issueToken();
    await world.target.stop();
    await world.hub.admin.delete(ManagedTokens, ci());
    await world.until(async () => (await world.events()).includes('Warning ClusterUnreachable'));
    await world.pass(9 * MINUTE, 10_000);
    expect(await isGone()).toBe(false);
    await world.pass(70_000, 10_000);
    await world.until(isGone);

    await world.until(async () => (await world.events()).includes('Warning AnchorOrphaned'));
    expect(controller.logged.some((line) => line.includes('AnchorOrphaned'))).toBe(true);
  });

  onlyExhaustive(() => {
    it('removes the finalizer when the target recovers in time', async () => {
      await world.run();
      const token = await issueToken();
      await world.target.stop();
      await world.hub.admin.delete(ManagedTokens, ci());
      await world.until(async () => (await world.events()).includes('Warning ClusterUnreachable'));
      await world.pass(MINUTE, 5_000);
      await world.target.restart();
      await world.pass(5 * MINUTE, 5_000);
      await world.until(isGone);
      expect(await isRejected(token)).toBe(true);
    });
  });

  it('removes the finalizer immediately if the Cluster does not exist', async () => {
    await world.run();
    await issueToken();
    await world.hub.admin.delete(Clusters, { name: world.cluster });
    await world.hub.admin.delete(ManagedTokens, ci());
    await world.until(isGone);
  });

  it('removes the Secret after a withdrawal even if a finalizer of another controller remains', async () => {
    await world.run();
    await world.create('ci', {}, { finalizers: ['example.com/theirs'] });
    await world.waitUntilReady();
    await world.hub.admin.delete(ManagedTokens, ci());
    await world.waitForReconcile();
    world.calls.clear();
    await world.forbid();
    await world.until(async () => world.sent().hub.filter((call) => call === 'POST subjectaccessreviews').length >= 3);
    await world.pass(16_000, 1_000);
    await world.until(async () => (await world.secret()) === undefined);
    await world.until(async () => (await world.condition('Ready')) === 'False Forbidden');
  });

  onlyExhaustive(() => {
    it('removes an expired token even if a finalizer of another controller remains', async () => {
      await world.run();
      await world.create('ci', {}, { finalizers: ['example.com/theirs'] });
      await world.waitUntilReady();
      await world.hub.admin.delete(ManagedTokens, ci());
      await world.waitForReconcile();
      await world.pass(61 * MINUTE);
      await world.until(async () => (await world.tokenText()) === '');
      expect(await world.secret()).toBeDefined();
    });
  });

  it('keeps a finalizer of another controller, and rotates no token', async () => {
    await world.run();
    await world.create('ci', {}, { finalizers: ['example.com/theirs'] });
    await world.waitUntilReady();
    const first = await world.tokenText();
    await world.hub.admin.delete(ManagedTokens, ci());
    await world.waitForReconcile();
    await world.pass(50 * MINUTE);
    world.calls.clear();
    await world.waitForReconcile();

    expect([await world.tokenText(), world.sent().target]).toEqual([first, []]);
    expect((await world.get()).metadata.finalizers).toEqual(['example.com/theirs']);
  });
});

onlyExhaustive(() => {
  describe('token controller and forged anchors', () => {
    const forged = { finalizers: [FINALIZER], annotations: { 'tokens.purser.dev/anchors': 'prod/kube-system other/default' } };

    it('sends no request to a target for forged anchors, and removes the finalizer immediately', async () => {
      await world.run();
      await world.forbid();
      await world.create('ci', { revocation: 'BoundSecret' }, forged);
      await world.until(async () => (await world.condition('Ready')) === 'False Forbidden');
      await world.until(async () => (await world.get()).metadata.finalizers === undefined);
      await world.patch('ci', { metadata: forged, spec: { requesterServiceAccountName: 'missing' } });
      await world.hub.admin.delete(ManagedTokens, ci());
      await world.until(isGone);

      expect(world.sent().target).toEqual([]);
    });

    it('removes a forged finalizer of a token without revocation', async () => {
      await world.run();
      await world.create('ci', {}, forged);
      await world.waitUntilReady();
      await world.until(async () => (await world.get()).metadata.finalizers === undefined);
      expect(world.sent().target.filter((call) => call.includes('secrets'))).toEqual([]);
    });

    it('sends no request for an anchor that the status no longer lists, and reports the anchor as orphaned', async () => {
      const controller = await world.run();
      await issueToken();
      const { metadata, status } = await world.get();
      await world.patch('ci', { spec: { rotation: { suspend: true } } });
      await world.waitForReconcile();
      await world.hub.admin.patchStatus(ManagedTokens, ci(), { status: { ...status, anchors: null } });
      await world.waitForReconcile();
      world.calls.clear();
      await world.hub.admin.delete(ManagedTokens, ci());
      await world.until(isGone);
      await world.until(async () => (await world.events()).includes('Warning AnchorOrphaned'));

      expect(world.sent().target).toEqual([]);
      const name = `purser-${metadata.uid}`;
      expect(controller.orphans).toEqual([{ cluster: world.cluster, namespace: 'deploy', name }]);
      await world.target.admin.delete(Secrets, { namespace: 'deploy', name });
    });

    it('records an event and no metric for locations that a tenant writes into the Secret', async () => {
      const controller = await world.run();
      await issueToken();
      const { metadata } = (await world.secret()) as Secret;
      const record = JSON.parse(metadata.annotations?.[Annotation.issuedFor] ?? '') as object;
      const altered = JSON.stringify({ ...record, cluster: 'elsewhere', subject: 'system:serviceaccount:elsewhere:deployer' });
      await world.patch('ci', { spec: { rotation: { suspend: true } } });
      await world.waitForReconcile();
      await world.hub.admin.patch(Secrets, ci(), { metadata: { annotations: { [Annotation.issuedFor]: altered } } });
      await world.waitForReconcile();
      await world.hub.admin.delete(ManagedTokens, ci());
      await world.until(isGone);
      await world.until(async () => (await world.events()).includes('Warning AnchorOrphaned'));

      expect(controller.orphans).toEqual([]);
    });
  });
});

describe('token controller and a request to revoke', () => {
  const revoke = () => world.patch('ci', { metadata: { annotations: { [Annotation.revoke]: 'leaked' } } });
  const isDone = async () => (await world.get()).status?.lastRevokeRequest === 'leaked';

  it('waits for the deletion of the anchor that the spec requires even if a tenant wrote another location into the Secret', async () => {
    await world.run();
    const token = await issueToken();
    await world.patch('ci', { spec: { rotation: { suspend: true } } });
    const { metadata } = (await world.secret()) as Secret;
    const record = JSON.parse(metadata.annotations?.[Annotation.issuedFor] ?? '') as object;
    const forged = JSON.stringify({ ...record, subject: 'system:serviceaccount:elsewhere:deployer' });
    await world.hub.admin.patch(Secrets, ci(), { metadata: { annotations: { [Annotation.issuedFor]: forged } } });
    await world.waitForReconcile();
    await world.target.stop();
    await revoke();
    await world.until(async () => (await world.events()).includes('Warning ClusterUnreachable'));
    expect(await isDone()).toBe(false);
    await world.target.restart();
    await world.pass(MINUTE, 5_000);
    await world.until(isDone);

    expect(await isRejected(token)).toBe(true);
  });

  onlyExhaustive(() => {
    it('deletes the anchor that the spec requires even if status.anchors was lost', async () => {
      await world.run();
      const token = await issueToken();
      await world.hub.admin.patchStatus(ManagedTokens, ci(), { status: { anchors: null } });
      await revoke();
      await world.until(() => isRejected(token));
      await world.waitForNewToken(token);
      await world.until(isDone);
    });
  });
});

describe('token controller and status.anchors', () => {
  it('holds 16 locations, and issues no token at a seventeenth location until one is removed', async () => {
    await world.run();
    const first = await issueToken();
    await world.register(`${world.cluster}-b`, world.targets[1]);
    const cluster = await world.hub.admin.get(Clusters, { name: `${world.cluster}-b` });
    const [key = ''] = credentialKeysOf(cluster);
    const [namespace = '', name = ''] = key.split('/');
    const credential = await world.hub.admin.get(Secrets, { namespace, name });
    const registration = { serviceAccount: 'deployer', ...toIssuingCredential({ cluster, credential }) };
    const anchors = Array.from({ length: 16 }, (_, index) => ({
      cluster: `${world.cluster}-b`,
      namespace: `ns-${index}`,
      ...registration,
    }));
    await world.targets[1]?.stop();
    await world.hub.admin.patchStatus(ManagedTokens, ci(), { status: { anchors } });
    await world.hub.admin.delete(Secrets, ci());
    await world.until(async () => (await world.condition('Ready')) === 'False TooManyAnchors');
    expect((await world.get()).status?.anchors).toEqual(anchors);
    await world.hub.admin.delete(Clusters, { name: `${world.cluster}-b` });
    await world.pass(15 * MINUTE, 10_000);
    const second = await world.waitForNewToken(first);
    await world.waitUntilReady();

    expect(await world.isAccepted(second)).toBe(true);
    expect((await world.get()).status?.anchors).toMatchObject([{ cluster: world.cluster, namespace: 'deploy' }]);
  });

  it('keeps a location whose anchor could not be deleted until the cluster responds again', async () => {
    await world.run();
    const first = await issueToken();
    await world.register(`${world.cluster}-b`, world.targets[1]);
    await world.allow(`${world.cluster}-b`);
    await world.pass(15_000);
    await world.target.stop();
    await world.patch('ci', { spec: { clusterName: `${world.cluster}-b` } });
    await world.waitForNewToken(first);
    await world.until(async () => (await world.events()).includes('Warning AnchorOrphaned'));
    expect((await world.get()).status?.anchors).toHaveLength(2);
    await world.target.restart();
    await world.pass(6 * MINUTE, 10_000);
    await world.until(async () => (await world.get()).status?.anchors?.length === 1);
    expect(await isRejected(first)).toBe(true);
  });
});

onlyExhaustive(() => {
  describe('token controller without revocation', () => {
    it('reports only once that the token cannot be revoked', async () => {
      await world.run();
      await world.create('ci', {});
      await world.waitUntilReady();
      const token = await world.tokenText();
      await world.patch('ci', { metadata: { annotations: { 'tokens.purser.dev/revoke': 'now' } } });
      await world.until(async () => (await world.get()).status?.lastRevokeRequest === 'now');
      await world.waitForReconcile();

      await world.expectEvents(['Normal Issued', 'Warning RevocationUnavailable']);
      expect(await world.isAccepted(token)).toBe(true);
      expect(await world.tokenText()).toBe(token);
    });

    it('does not report a token as revoked if a revocable token replaces it', async () => {
      const controller = await world.run();
      await world.create('ci', {});
      await world.waitUntilReady();
      const token = await world.tokenText();
      await world.pass(15_000);
      await world.patch('ci', { metadata: { annotations: { 'tokens.purser.dev/revoke': 'now' } }, spec: { revocation: 'BoundSecret' } });
      await world.waitForNewToken(token);
      await world.waitUntilReady();
      await world.waitForReconcile();

      await world.expectEvents(['Normal Issued', 'Normal SpecChanged', 'Warning RevocationUnavailable']);
      expect(controller.logged.filter((line) => line.includes('"decision":"revoked"'))).toEqual([]);
      expect([await world.isAccepted(token), (await world.get()).status?.lastRevokeRequest]).toEqual([true, 'now']);
    });
  });

  describe('token controller and a Cluster that is deleted and re-created', () => {
    /** Re-creates the Cluster for another target, where the anchor is not found. */
    async function repoint(): Promise<void> {
      await world.hub.admin.delete(Clusters, { name: world.cluster });
      await world.register(world.cluster, world.targets[1]);
    }

    it('does not report a token whose anchor is not found on the new cluster as revoked', async () => {
      await world.run();
      const token = await issueToken();
      await world.patch('ci', { spec: { rotation: { suspend: true } } });
      await world.waitForReconcile();
      await repoint();
      await world.patch('ci', { metadata: { annotations: { [Annotation.revoke]: 'leaked' } } });
      await world.until(async () => (await world.events()).includes('Warning AnchorDeletionUnconfirmed'));
      await world.waitForReconcile();

      expect([(await world.get()).status?.lastRevokeRequest, await world.isAccepted(token)]).toEqual([undefined, true]);
    });

    it('keeps a deleted ManagedToken for ten minutes if its anchor is not found on the new cluster, and reports the anchor', async () => {
      await world.run();
      await issueToken();
      await world.patch('ci', { spec: { rotation: { suspend: true } } });
      await world.waitForReconcile();
      await repoint();
      await world.waitForReconcile();
      await world.hub.admin.delete(ManagedTokens, ci());
      await world.until(async () => (await world.events()).includes('Warning AnchorDeletionUnconfirmed'));
      await world.pass(9 * MINUTE, 10_000);
      expect(await isGone()).toBe(false);
      await world.pass(70_000, 10_000);
      await world.until(isGone);
      await world.until(async () => (await world.events()).includes('Warning AnchorOrphaned'));
    });

    it('reports the anchor as orphaned when the new cluster issues the next token', async () => {
      await world.run();
      const first = await issueToken();
      const { status } = await world.get();
      await repoint();
      await world.pass(15_000, 1_000);
      const second = await world.waitForNewToken(first);
      await world.until(async () => (await world.events()).includes('Warning AnchorOrphaned'));

      expect([await world.isAccepted(first), await world.isAccepted(second, world.targets[1])]).toEqual([true, true]);
      expect((await world.get()).status?.anchors).toHaveLength(1);
      expect((await world.get()).status?.anchors).not.toEqual(status?.anchors);
    });

    it('does not report an anchor that is found on the new cluster as orphaned, and binds the next token to that anchor', async () => {
      await world.run();
      const first = await issueToken();
      const before = await anchor();
      const { metadata, ...cluster } = await world.hub.admin.get(Clusters, { name: world.cluster });
      await world.hub.admin.delete(Clusters, { name: world.cluster });
      await world.hub.admin.create(Clusters, { ...cluster, metadata: { name: metadata.name ?? '' } });
      await world.pass(15_000, 1_000);
      const second = await world.waitForNewToken(first);
      await world.waitUntilReady();
      await world.waitForReconcile();

      expect([await world.isAccepted(first), await world.isAccepted(second)]).toEqual([true, true]);
      expect(await anchor()).toEqual(before);
      expect(await world.events()).not.toContain('Warning AnchorOrphaned');
    });

    it('revokes the token after the Cluster is re-created', async () => {
      await world.run();
      const token = await issueToken();
      const { metadata, ...cluster } = await world.hub.admin.get(Clusters, { name: world.cluster });
      await world.hub.admin.delete(Clusters, { name: world.cluster });
      await world.hub.admin.patch(ManagedTokens, ci(), { metadata: { annotations: { 'tokens.purser.dev/revoke': 'leak' } } });
      await world.waitForReconcile();
      expect((await world.get()).status?.lastRevokeRequest).toBeUndefined();
      await world.hub.admin.create(Clusters, { ...cluster, metadata: { name: metadata.name ?? '' } });
      await world.until(async () => (await world.get()).status?.lastRevokeRequest === 'leak');
      await world.pass(15_000, 1_000);
      await world.waitUntilReady();
      await world.waitForReconcile();

      expect(await world.isAccepted(token)).toBe(false);
      expect(await world.events()).not.toContain('Warning AnchorOrphaned');
    });

    it('keeps the anchor listed while the Cluster of a withdrawn token is missing, and then deletes the anchor', async () => {
      await world.run();
      const token = await issueToken();
      const { metadata, ...cluster } = await world.hub.admin.get(Clusters, { name: world.cluster });
      await world.hub.admin.delete(Clusters, { name: world.cluster });
      await world.forbid();
      await world.pass(40_000, 5_000);
      await world.until(async () => (await world.secret()) === undefined);
      expect((await world.get()).status?.anchors).toMatchObject([{ cluster: world.cluster, namespace: 'deploy' }]);
      await world.hub.admin.create(Clusters, { ...cluster, metadata: { name: metadata.name ?? '' } });
      await world.pass(40_000, 5_000);
      await world.until(async () => (await world.get()).status?.anchors === undefined);

      expect(await world.isAccepted(token)).toBe(false);
    });
  });
});
