// First issuance: from a ManagedToken to its Secret.

import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it } from '@jest/globals';
import { ManagedTokens, Secrets, ServiceAccounts } from '../../src/api/resources.ts';
import { KubeClient } from '../../src/kube/client.ts';
import { SelfSubjectReviews } from '../../src/kube/reviews.ts';
import { createTransport } from '../../src/kube/transport.ts';
import { systemClock } from '../../src/std/clock.ts';
import { loadKubeConfigText } from '../support/kubeconfig-file.ts';
import { base64, TokenWorld, text } from './token-world.ts';

let world: TokenWorld;

beforeAll(async () => {
  world = await TokenWorld.start();
});
beforeEach(() => world.begin());
afterEach(() => world.end());
afterAll(() => world.close());

describe('token controller and a new ManagedToken', () => {
  it('creates a Secret with a token that the target accepts', async () => {
    await world.run();
    await world.create();
    const { status } = await world.waitUntilReady();

    expect(await world.isAccepted(await world.tokenText())).toBe(true);
    expect(status).toMatchObject({ observedGeneration: 1, secretName: 'ci', rotations: 0 });
    expect(await world.conditions()).toBe('Ready=True Issued RotationFailing=False Issued');
    await world.expectEvents(['Normal Issued']);
    expect(text(await world.secret(), 'server')).toBe(world.target.url);
  });

  it('sends at most six requests, including the event', async () => {
    await world.run();
    await world.create();
    await world.waitUntilReady();
    await world.waitForReconcile();

    expect(world.sent()).toEqual({
      hub: ['POST subjectaccessreviews', 'POST secrets', 'PUT managedtokens/ci/status'],
      target: ['POST selfsubjectreviews', 'POST serviceaccounts/deployer/token'],
    });
    await world.expectEvents(['Normal Issued']);
  });

  it('reports AudienceNotAccepted for a key with a kubeconfig', async () => {
    await world.run();
    await world.create('ci', { audiences: ['vault'], secret: { outputs: ['Token'], keys: [{ key: 'config', from: 'Kubeconfig' }] } });
    await world.eventually(async () => expect(await world.condition('Ready')).toBe('False AudienceNotAccepted'));

    expect(await world.secret()).toBeUndefined();
  });

  it.each([['Kubeconfig'], ['ArgoCD']] as const)(
    'reports AudienceNotAccepted for an output that needs another audience: %s',
    async (output) => {
      await world.run();
      await world.create('ci', { audiences: ['vault'], secret: { outputs: ['Token', output] } });
      await world.eventually(async () => expect(await world.condition('Ready')).toBe('False AudienceNotAccepted'));

      expect(await world.secret()).toBeUndefined();
      expect((await world.get()).status?.conditions?.[0]?.message).toBe(
        `The API server of cluster ${world.cluster} does not accept tokens for spec.audiences, so ${output} in spec.secret.outputs ` +
          `would not work. Remove spec.audiences, so that the token is for the API server, or remove ${output} from spec.secret.outputs.`,
      );
      await world.patch('ci', { spec: { secret: { outputs: ['Token'] } } });
      await world.waitUntilReady();
      await world.patch('ci', { spec: { secret: { outputs: [output] } } });
      await world.eventually(async () => expect(await world.condition('Ready')).toBe('False AudienceNotAccepted'));
      expect(Object.keys((await world.secret())?.data ?? {}).sort()).toEqual(['ca.crt', 'namespace', 'server', 'token']);
    },
  );

  it('names the keys with a kubeconfig in the message of AudienceNotAccepted', async () => {
    await world.run();
    await world.create('ci', { audiences: ['vault'], secret: { outputs: ['Token'], keys: [{ key: 'kc', from: 'Kubeconfig' }] } });
    await world.eventually(async () => expect(await world.condition('Ready')).toBe('False AudienceNotAccepted'));
    expect((await world.get()).status?.conditions?.[0]?.message).toMatch(
      /, so kc in spec\.secret\.keys would not work\. .*remove kc from spec\.secret\.keys\.$/,
    );
  });

  it('checks with one TokenReview that the API server accepts the audiences of two ManagedTokens', async () => {
    await world.run();
    for (const name of ['ci', 'cd']) {
      await world.create(name, { secret: { outputs: ['Kubeconfig'] } });
      await world.waitUntilReady(name);
    }
    expect(world.sent().target.filter((call) => call === 'POST tokenreviews')).toHaveLength(1);
  });

  it.each([
    ['Token', ['Token'], ['ca.crt', 'namespace', 'server', 'token']],
    ['Kubeconfig', ['Kubeconfig'], ['kubeconfig', 'token', 'value']],
    ['ArgoCD', ['ArgoCD'], ['config', 'name', 'server', 'token']],
    ['all of them', ['Token', 'Kubeconfig', 'ArgoCD'], ['ca.crt', 'config', 'kubeconfig', 'name', 'namespace', 'server', 'token', 'value']],
  ] as const)('writes the keys of the outputs: %s', async (_, outputs, keys) => {
    await world.run();
    await world.create('ci', { secret: { outputs } });
    await world.waitUntilReady();
    const secret = await world.secret();

    expect(Object.keys(secret?.data ?? {}).sort()).toEqual(keys);
    expect(secret?.metadata.labels?.['argocd.argoproj.io/secret-type']).toBe(
      (outputs as readonly string[]).includes('ArgoCD') ? 'cluster' : undefined,
    );
    expect(secret?.metadata.ownerReferences).toMatchObject([
      { kind: 'ManagedToken', name: 'ci', controller: true, blockOwnerDeletion: false },
    ]);
  });

  it('writes a kubeconfig that authenticates at the target as the service account', async () => {
    await world.run();
    await world.create('ci', { secret: { outputs: ['Kubeconfig'] } });
    await world.waitUntilReady();
    const config = await loadKubeConfigText(text(await world.secret(), 'kubeconfig'));
    const client = new KubeClient(createTransport(config, { clock: systemClock }), 'tests');
    const { status } = await client.createReview(SelfSubjectReviews, {});
    await client.transport.close();

    expect(status?.userInfo?.username).toBe('system:serviceaccount:deploy:deployer');
  });

  it('reports InvalidSpec for an address that the Cluster does not have', async () => {
    await world.run();
    await world.create('ci', { secret: { outputs: ['Token'], server: 'https://elsewhere.example.com' } });
    await world.until(async () => (await world.condition('Ready')) === 'False InvalidSpec');

    expect([await world.secret(), world.sent().target]).toEqual([undefined, []]);
  });

  it('reports the missing Cluster, and issues the token after the Cluster is registered', async () => {
    await world.run();
    await world.allow(`${world.cluster}-later`);
    await world.create('ci', { clusterName: `${world.cluster}-later` });
    await world.until(async () => (await world.condition('Ready')) === 'False ClusterNotFound');
    await world.register(`${world.cluster}-later`);
    await world.waitUntilReady();

    await world.expectEvents(['Warning ClusterNotFound', 'Normal Issued']);
  });

  it('issues no token for the service account that Purser itself uses', async () => {
    await world.run();
    await world.create('ci', { serviceAccount: { namespace: 'purser-system', name: 'purser' } });
    await world.until(async () => (await world.condition('Ready')) === 'False OwnNamespace');

    expect([await world.secret(), world.sent().target]).toEqual([undefined, ['POST selfsubjectreviews']]);
  });

  it('ignores unknown fields of the spec that refer to another cluster', async () => {
    const elsewhere = { clusterRef: { name: 'elsewhere', namespace: 'kube-system' } };
    await world.run();
    await world.create('ci', elsewhere as object);
    const { spec } = await world.waitUntilReady();

    expect([spec.clusterName, 'clusterRef' in spec]).toEqual([world.cluster, false]);
    expect(text(await world.secret(), 'server')).toBe(world.target.url);
  });

  it('reports an audience that the settings do not allow, without naming the allowed audiences', async () => {
    await world.run({ settings: { limits: { allowedAudiences: ['https://kubernetes.default.svc'] } } });
    await world.create('ci', { audiences: ['vault'] });
    await world.until(async () => (await world.conditions()) === 'Ready=False InvalidSpec RotationFailing=undefined');
    const message = (await world.get()).status?.conditions?.[0]?.message;
    expect(message).toContain(
      '"vault": must be an audience in --allowed-audiences; use another audience, or ask an administrator to add this one',
    );
    expect(message).not.toContain('kubernetes.default');
    expect(world.sent().target).toEqual([]);
    await world.patch('ci', { spec: { audiences: ['https://kubernetes.default.svc'] } });
    await world.waitUntilReady();
  });

  it('issues a token with the longest allowed lifetime, and records one event for each spec and none for a rotation', async () => {
    await world.run({ settings: { limits: { maxExpirationSeconds: 3600 } } });
    await world.create('ci', { expirationSeconds: 86_400 });
    const { status } = await world.waitUntilReady();
    const first = await world.tokenText();
    await world.waitForReconcile();
    expect(Date.parse(status?.expirationTimestamp ?? '') - Date.parse(status?.issuedAt ?? '')).toBe(3_600_000);
    await world.expectEvents(['Normal Issued', 'Warning LifetimeShortened']);
    const [, event] = await world.eventObjects();
    expect(event?.message).toBe(
      'Requested expiration of 86400 seconds shortened to 3600 seconds, the value of --max-token-lifetime. Reduce spec.expirationSeconds, or ask an administrator to raise the maximum.',
    );
    await world.pass(49 * 60_000);
    await world.waitForNewToken(first);
    await world.until(async () => (await world.get()).status?.rotations === 1);
    await world.patch('ci', { spec: { expirationSeconds: 7200 } });
    await world.expectEvents(['Normal Issued', 'Warning LifetimeShortened', 'Warning LifetimeShortened']);
  });

  it('waits for a missing service account with few requests', async () => {
    await world.run();
    await world.create('ci', { serviceAccount: { namespace: 'deploy', name: 'later' } });
    await world.until(async () => (await world.condition('Ready')) === 'False ServiceAccountNotFound');
    await world.pass(120_000, 250);
    const requested = world.sent().target.filter((call) => call.endsWith('later/token')).length;
    expect(requested).toBeLessThan(14);
    await world.target.admin.create(ServiceAccounts, { metadata: { namespace: 'deploy', name: 'later' } });
    await world.pass(300_000, 5_000);
    await world.waitUntilReady();
    await world.target.admin.delete(ServiceAccounts, { namespace: 'deploy', name: 'later' });
  });
});

describe('token controller and a foreign Secret', () => {
  const foreign = (labels: Readonly<Record<string, string>>) => ({
    metadata: { namespace: world.namespace, name: 'ci', labels },
    type: 'Opaque',
    data: { mine: base64('do not touch') },
  });

  it.each([
    ["without Purser's label", {}],
    ["with Purser's label", { 'tokens.purser.dev/managed-by': 'purser' }],
  ])('does not change a foreign Secret, and issues the token once that Secret is deleted: %s', async (_, labels) => {
    const made = await world.hub.admin.create(Secrets, foreign(labels));
    await world.run();
    await world.create();
    await world.until(async () => (await world.conditions()) === 'Ready=False SecretConflict RotationFailing=undefined');
    await world.waitForReconcile();
    await world.waitForReconcile();

    expect(await world.secret()).toEqual(made);
    expect(world.sent().target.filter((call) => call.endsWith('/token')).length).toBeLessThanOrEqual(1);
    await world.hub.admin.delete(Secrets, { namespace: world.namespace, name: 'ci' });
    await world.pass(70_000, 10_000);
    await world.waitUntilReady();
  });

  it('leaves the Secret of another ManagedToken to its owner, without additional writes', async () => {
    await world.run();
    await world.create('first', { secret: { name: 'shared', outputs: ['Token'] } });
    await world.waitUntilReady('first');
    await world.create('second', { secret: { name: 'shared', outputs: ['Token'] } });
    await world.until(async () => (await world.condition('Ready', 'second')) === 'False SecretConflict');
    const before = await world.secret('shared');
    world.calls.clear();
    await world.waitForReconcile('first');
    await world.waitForReconcile('second');

    expect([await world.secret('shared'), world.sent()]).toEqual([before, { hub: [], target: [] }]);
    expect((await world.get('second')).status?.conditions?.[0]?.message).toBe(
      'ManagedToken first owns Secret shared. Choose another spec.secret.name.',
    );
    await world.hub.admin.delete(ManagedTokens, { namespace: world.namespace, name: 'first' });
    await world.waitUntilReady('second');
  });

  it('creates a shared Secret only for the oldest ManagedToken, and for the second one once the oldest names another Secret', async () => {
    const secret = { name: 'shared', outputs: ['Token'] as const };
    await world.create('first', { secret, rotation: { renewBefore: '20%', suspend: true } });
    // Timestamps have whole seconds.
    await world.until(async () => Date.now() >= Date.parse((await world.get('first')).metadata.creationTimestamp ?? '') + 1_000);
    await world.run();
    await world.create('second', { secret });
    await world.until(async () => (await world.condition('Ready', 'second')) === 'False SecretConflict');
    expect((await world.get('second')).status?.conditions?.[0]?.message).toBe(
      'The older ManagedToken first also uses Secret shared. Choose another spec.secret.name.',
    );
    await world.patch('first', { spec: { rotation: { suspend: false } } });
    await world.waitUntilReady('first');
    await world.pass(5_000);
    await world.hub.admin.delete(Secrets, { namespace: world.namespace, name: 'shared' });
    await world.until(async () => (await world.tokenText('shared')) !== '');
    await world.waitUntilReady('first');
    expect(await world.condition('Ready', 'second')).toBe('False SecretConflict');

    await world.patch('first', { spec: { secret: { ...secret, name: 'own' } } });
    await world.waitUntilReady('second');
  });

  it('replaces a forged token in a Secret that names the ManagedToken as its owner', async () => {
    const token = await world.create('ci', { rotation: { renewBefore: '20%', suspend: true } });
    const owner = {
      apiVersion: 'tokens.purser.dev/v1alpha1',
      kind: 'ManagedToken',
      name: 'ci',
      uid: token.metadata.uid ?? '',
      controller: true,
    };
    const { metadata, ...rest } = foreign({ 'tokens.purser.dev/managed-by': 'purser' });
    await world.hub.admin.create(Secrets, {
      ...rest,
      metadata: { ...metadata, ownerReferences: [owner] },
      data: { token: base64('a.forged.token') },
    });
    await world.run();
    await world.patch('ci', { spec: { rotation: { suspend: false } } });
    await world.waitUntilReady();
    await world.waitForReconcile();

    expect(await world.isAccepted(await world.tokenText())).toBe(true);
    expect(world.sent().target.filter((call) => call.endsWith('/token'))).toHaveLength(1);
  });
});
