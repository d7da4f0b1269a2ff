// Attacks on tokens by users who may write Clusters, but not the Secrets with credentials.

import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it } from '@jest/globals';
import { Clusters, ManagedTokens, Secrets } from '../../src/api/resources.ts';
import { base64, TokenWorld, text } from './token-world.ts';

let world: TokenWorld;

beforeAll(async () => {
  world = await TokenWorld.start(2);
});
beforeEach(() => world.begin());
afterEach(() => world.end());
afterAll(() => world.close());

const VERIFYING = { settings: { verifyIntervalMs: 60_000 } };
const OUTPUTS = { secret: { outputs: ['Token', 'Kubeconfig', 'ArgoCD'] as ('Token' | 'Kubeconfig' | 'ArgoCD')[] } };

/** The server of the attacker. */
const evil = () => world.targets[1] as (typeof world.targets)[number];
const credentialName = () => ({ namespace: 'purser-system', name: `${world.cluster}-credential` });
const endpoint = (serverAddress: string, clientCIDR = '0.0.0.0/0') => ({ clientCIDR, serverAddress });

async function repoint(orchestratorApiEndpoints: object): Promise<void> {
  await world.hub.admin.patch(Clusters, { name: world.cluster }, { spec: { orchestratorApiEndpoints } });
}

/** Points the Cluster to this Secret. */
async function referTo(name: string): Promise<void> {
  const controller = { kind: 'Secret', namespace: 'purser-system', name };
  await world.hub.admin.patch(Clusters, { name: world.cluster }, { spec: { authInfo: { controller } } });
}

async function waitForCondition(condition: string, type = 'RotationFailing'): Promise<void> {
  await world.until(async () => (await world.condition(type)) === condition);
}

async function messages(): Promise<string> {
  const { status } = await world.get();
  return JSON.stringify([status?.conditions, await world.eventObjects()]);
}

describe('token controller with a Cluster outside the pins', () => {
  it.each([
    ['another address and CA', 'EndpointNotPinned', () => ({ caBundle: base64(evil().ca), serverEndpoints: [endpoint(evil().url)] })],
    [
      'another address in a narrower block',
      'EndpointNotPinned',
      () => ({ serverEndpoints: [endpoint(world.target.url), endpoint(evil().url, '127.0.0.0/8')] }),
    ],
    ['another CA', 'CANotPinned', () => ({ caBundle: base64(evil().ca) })],
    ['a second CA', 'CANotPinned', () => ({ caBundle: base64(world.target.ca + evil().ca) })],
    ['no CA', 'CANotPinned', () => ({ caBundle: null })],
  ])('keeps the Secret after the Cluster gets %s, and reports %s in RotationFailing', async (_, reason, change) => {
    await world.run(VERIFYING);
    await world.create('ci', OUTPUTS);
    await world.waitUntilReady();
    const before = await world.secret();
    world.calls.clear();

    await repoint(change());
    await waitForCondition(`True ${reason}`);
    await world.pass(120_000, 10_000);
    await world.waitForReconcile();

    expect(await world.secret()).toEqual(before);
    expect(await world.condition('Ready')).toBe('True Issued');
    expect(world.sent().target).toEqual([]);
    expect(await messages()).not.toMatch(/127\.0\.0\.1|-credential|purser-system/);
  });

  it('clears RotationFailing without a new token when the Cluster is corrected', async () => {
    await world.run();
    await world.create();
    await world.waitUntilReady();
    const first = await world.tokenText();
    await repoint({ serverEndpoints: [endpoint(evil().url)] });
    await waitForCondition('True EndpointNotPinned');
    await repoint({ serverEndpoints: [endpoint(world.target.url)] });
    await waitForCondition('False Issued');
    expect(await world.tokenText()).toBe(first);
  });

  it.each([
    ['another address', 'EndpointNotPinned', () => ({ serverEndpoints: [endpoint(evil().url)] })],
    ['junk for a CA', 'TLSVerifyFailed', () => ({ caBundle: base64('junk') })],
  ])('keeps a token until its expiry without retries after the Cluster gets %s', async (_, reason, change) => {
    const { outcomes, logged } = await world.run();
    await world.create();
    await world.waitUntilReady();
    await repoint(change());
    await waitForCondition(`True ${reason}`);
    const before = outcomes.length;
    await world.pass(59 * 60_000, 60_000);
    expect(await world.condition('Ready')).toBe('True Issued');
    expect(outcomes.length - before).toBeLessThan(5);
    expect(logged.filter((line) => line.includes('"level":"error"'))).toEqual([]);
    await world.pass(2 * 60_000);
    await waitForCondition('False Expired', 'Ready');
    await world.until(async () => (await world.tokenText()) === '');
  });

  it('keeps the Secret after the Cluster is re-created with a different address', async () => {
    await world.run();
    await world.create();
    await world.waitUntilReady();
    const before = await world.secret();
    const { spec } = await world.hub.admin.get(Clusters, { name: world.cluster });
    await world.hub.admin.delete(Clusters, { name: world.cluster });
    await waitForCondition('True ClusterNotFound');
    const orchestratorApiEndpoints = { ...spec.orchestratorApiEndpoints, serverEndpoints: [endpoint(evil().url)] };
    await world.hub.admin.create(Clusters, {
      apiVersion: 'registry.purser.dev/v1alpha1',
      kind: 'Cluster',
      metadata: { name: world.cluster },
      spec: { ...spec, orchestratorApiEndpoints },
    });
    await waitForCondition('True EndpointNotPinned');
    expect(await world.secret()).toEqual(before);
  });
});

describe('token controller with a Cluster that refers to another credential', () => {
  it('keeps the Secret if the credential does not exist', async () => {
    await world.run();
    await world.create();
    await world.waitUntilReady();
    const before = await world.secret();
    await referTo('no-such-secret');
    await waitForCondition('True CredentialNotForCluster');
    await world.waitForReconcile();
    expect(await world.secret()).toEqual(before);
  });

  it('issues no token with the credential of another Cluster, and reports CredentialNotForCluster', async () => {
    await world.run();
    const { spec } = await world.hub.admin.get(Clusters, { name: world.cluster });
    const dev = `${world.cluster}-dev`;
    await world.allow(dev);
    await world.hub.admin.create(Clusters, {
      apiVersion: 'registry.purser.dev/v1alpha1',
      kind: 'Cluster',
      metadata: { name: dev },
      spec,
    });
    await world.create('ci', { clusterName: dev });
    await waitForCondition('False CredentialNotForCluster', 'Ready');
    expect([await world.secret(), world.sent().target]).toEqual([undefined, []]);
    expect(await messages()).not.toMatch(/127\.0\.0\.1|-credential|purser-system/);
  });

  it('reissues the token with the new credential, and writes the token together with the new address and CA', async () => {
    await world.run(VERIFYING);
    await world.create();
    await world.waitUntilReady();
    const first = await world.tokenText();
    const spare = `${world.cluster}-spare`;
    await world.register(spare, evil());
    await world.hub.admin.patch(
      Secrets,
      { namespace: 'purser-system', name: `${spare}-credential` },
      { data: { cluster: base64(world.cluster) } },
    );
    await world.pass(15_000);
    const { spec } = await world.hub.admin.get(Clusters, { name: spare });
    await world.hub.admin.patch(Clusters, { name: world.cluster }, { spec: spec as unknown as Record<string, unknown> });
    const second = await world.waitForNewToken(first);

    expect([await world.isAccepted(second, evil()), await world.isAccepted(first)]).toEqual([true, true]);
    const secret = await world.secret();
    expect([text(secret, 'server'), text(secret, 'ca.crt')]).toEqual([evil().url, evil().ca]);
    await world.expectEvents(['Normal Issued', 'Normal CredentialReplaced']);
  });
});

describe('token controller and credential Secrets', () => {
  it('keeps the Secret of a token after the credential is deleted', async () => {
    await world.run();
    await world.create();
    await world.waitUntilReady();
    const before = await world.secret();
    await world.hub.admin.delete(Secrets, credentialName());
    await waitForCondition('True CredentialNotForCluster');
    expect(await world.secret()).toEqual(before);
  });

  it('uses no credential that has the label of Secrets written by Purser', async () => {
    await world.run();
    await world.hub.admin.patch(Secrets, credentialName(), { metadata: { labels: { 'tokens.purser.dev/managed-by': 'purser' } } });
    await world.create();
    await waitForCondition('False CredentialNotForCluster', 'Ready');
    await world.hub.admin.patch(Secrets, credentialName(), { metadata: { labels: { 'tokens.purser.dev/managed-by': null } } });
    await world.waitUntilReady();
  });

  it('issues tokens only for service accounts in the namespaces of the credential', async () => {
    await world.hub.admin.patch(Secrets, credentialName(), { data: { namespaces: base64('team-a team-b') } });
    await world.run();
    await world.create('ci', { revocation: 'BoundSecret' });
    await waitForCondition('False NamespaceNotAllowed', 'Ready');
    expect([await world.secret(), world.sent().target]).toEqual([undefined, []]);
    await world.hub.admin.patch(Secrets, credentialName(), { data: { namespaces: base64('team-a, deploy') } });
    await world.waitUntilReady();
  });
});

describe('token controller and ManagedTokens', () => {
  it('rejects a ManagedToken in a namespace with cluster credentials', async () => {
    await world.run();
    const { spec } = await world.create();
    const metadata = { namespace: 'purser-system', name: 'beside' };
    await world.allow(world.cluster, { name: `${world.namespace}-beside`, namespace: metadata.namespace });
    await world.hub.admin.create(ManagedTokens, { apiVersion: 'tokens.purser.dev/v1alpha1', kind: 'ManagedToken', metadata, spec });
    await world.waitUntilReady();
    await world.until(async () => {
      const { status } = await world.hub.admin.get(ManagedTokens, metadata);
      return status?.conditions?.[0]?.reason === 'InvalidSpec';
    });
    await expect(world.hub.admin.get(Secrets, metadata)).rejects.toMatchObject({ code: 404 });
  });

  it("writes the address and CA of Purser's own client together with a token issued by the hub", async () => {
    const name = `${world.cluster}-hub`;
    await world.hub.admin.create(Clusters, {
      apiVersion: 'registry.purser.dev/v1alpha1',
      kind: 'Cluster',
      metadata: { name },
      spec: {
        orchestratorApiEndpoints: { caBundle: base64(evil().ca), serverEndpoints: [endpoint(evil().url)] },
        authInfo: { controller: { kind: 'ServiceAccount', namespace: 'purser-system', name: 'purser' } },
      },
    });
    await world.allow(name);
    await world.run({ hubCluster: name, hub: world.hub.admin });
    await world.create('ci', { clusterName: name, serviceAccount: { namespace: world.namespace, name: 'default' } });
    await world.waitUntilReady();
    const secret = await world.secret();
    expect([text(secret, 'server'), text(secret, 'ca.crt')]).toEqual([world.hub.url, world.hub.ca]);

    await world.create('other', {
      clusterName: name,
      serviceAccount: { namespace: world.namespace, name: 'default' },
      secret: { outputs: ['Token'], server: evil().url },
    });
    await world.until(async () => (await world.condition('Ready', 'other')) === 'False InvalidSpec');
  });
});
