// Attempts of a tenant to keep a token whose permission was withdrawn or that an administrator revokes.

import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it } from '@jest/globals';
import { Annotation } from '../../src/api/names.ts';
import { Clusters, ConfigMaps, ManagedTokens, Namespaces, type Secret, Secrets, ServiceAccounts } from '../../src/api/resources.ts';
import type { ObjectMeta } from '../../src/api/wire.ts';
import { computeDigest } from '../../src/std/digest.ts';
import { parseRecord, toIssuanceDigest } from '../../src/tokens/policy/record.ts';
import { base64, CREDENTIALS, type RunningController, TokenWorld } from './token-world.ts';

const MINUTE = 60_000;
const ELSEWHERE = { namespace: 'other', name: 'own' };

let world: TokenWorld;
const ci = () => ({ namespace: world.namespace, name: 'ci' });

beforeAll(async () => {
  world = await TokenWorld.start(2);
  await world.target.admin.create(Namespaces, { metadata: { name: ELSEWHERE.namespace } });
  await world.target.admin.create(ServiceAccounts, { metadata: ELSEWHERE });
});
beforeEach(() => world.begin());
afterEach(() => world.end());
afterAll(() => world.close());

/** Allows only tokens of deploy/deployer, and issues one. */
async function issueToken(revocation: 'None' | 'BoundSecret' = 'BoundSecret'): Promise<string> {
  await world.allow(`${world.cluster}/deploy/deployer`);
  await world.create('ci', { revocation });
  await world.waitUntilReady();
  await world.waitForReconcile();
  await world.pass(15_000);
  world.calls.clear();
  return await world.tokenText();
}

/** Allows a name in addition to the token's name; the permission is not withdrawn later. */
const allowBesides = (name: string) => world.allow(name, { name: `${world.namespace}-besides` });

/** Registers a second cluster that does not respond, and allows all its service accounts. */
async function registerUnreachable(): Promise<string> {
  const clusterName = `${world.cluster}-b`;
  await world.register(clusterName, world.targets[1]);
  await world.targets[1]?.stop();
  await allowBesides(clusterName);
  return clusterName;
}

const revoke = (value: string) => world.patch('ci', { metadata: { annotations: { 'tokens.purser.dev/revoke': value } } });

const breakCredential = () =>
  world.hub.admin.patch(Secrets, { namespace: CREDENTIALS, name: `${world.cluster}-credential` }, { data: { token: base64('rejected') } });

async function anchorName(): Promise<string> {
  return `purser-${(await world.get()).metadata.uid}`;
}

async function hasAnchor(namespace = 'deploy'): Promise<boolean> {
  const name = await anchorName();
  const { items } = await world.target.admin.list(Secrets, { namespace });
  return items.some(({ metadata }) => metadata.name === name);
}

/** Withdraws the permission of the token and waits for the time that a withdrawal takes. */
async function withdraw(): Promise<void> {
  await world.forbid();
  await world.waitForReconcile();
  await world.pass(40_000, 1_000);
}

describe('token controller and a failing revocation', () => {
  it('revokes the tokens bound to other listed anchors if one anchor cannot be deleted', async () => {
    const clusterName = await registerUnreachable();
    await world.run();
    const token = await issueToken();
    await world.patch('ci', { spec: { clusterName } });
    await world.until(async () => (await world.get()).status?.anchors?.length === 2);
    await world.patch('ci', { spec: { secret: { name: 'elsewhere' }, rotation: { suspend: true } } });
    await revoke('admin');
    await world.until(async () => !(await world.isAccepted(token)));

    expect(await hasAnchor()).toBe(false);
  });

  it('does not report the revocation as handled while a listed anchor may exist', async () => {
    const clusterName = await registerUnreachable();
    await world.run();
    const token = await issueToken();
    await world.target.stop();
    await world.patch('ci', { spec: { serviceAccount: ELSEWHERE, clusterName, rotation: { suspend: true } } });
    await world.hub.admin.delete(Secrets, ci());
    await revoke('admin');
    await world.waitForReconcile();
    await world.pass(MINUTE, 5_000);
    expect((await world.get()).status?.lastRevokeRequest).toBeUndefined();
    await world.target.restart();
    await world.pass(10 * MINUTE, 5_000);
    await world.until(async () => !(await world.isAccepted(token)));
  });

  it('removes the Secret of a requester without permission during a revocation, and reports Forbidden', async () => {
    await world.run();
    const token = await issueToken();
    await withdrawAndRevoke();
    await world.until(async () => (await world.secret()) === undefined);
    await world.until(async () => (await world.condition('Ready')) === 'False Forbidden');

    expect(await world.events()).not.toContain('Warning CredentialRejected');
    expect(await world.isAccepted(token)).toBe(true);
  });

  async function withdrawAndRevoke(): Promise<void> {
    await world.forbid();
    await world.waitForReconcile();
    // A run with the permission may report the credential.
    await breakCredential();
    await revoke('admin');
    await world.waitForReconcile();
    await world.pass(40_000, 1_000);
  }

  it('removes a token for a former spec from the Secret', async () => {
    const clusterName = await registerUnreachable();
    await world.run();
    await world.allow(`${world.cluster}/deploy/deployer`);
    await world.create('ci', { clusterName, revocation: 'BoundSecret' });
    await world.until(async () => (await world.get()).status?.anchors?.length === 1);
    await world.patch('ci', { spec: { clusterName: world.cluster, revocation: 'None' } });
    await world.waitUntilReady();
    await world.pass(15_000);
    await revoke('me');
    await world.patch('ci', { spec: { clusterName } });
    await world.until(async () => (await world.tokenText()) === '');
  });
});

describe('token controller and a failing deletion of a ManagedToken', () => {
  it('removes the Secret of a requester without permission during the deletion', async () => {
    await world.run();
    await issueToken();
    await breakCredential();
    await world.waitForReconcile();
    await world.hub.admin.delete(ManagedTokens, ci());
    await withdraw();
    await world.until(async () => (await world.secret()) === undefined);
  });
});

describe('token controller and a spec for another service account or cluster', () => {
  it('removes the former token from the Secret while suspended', async () => {
    await allowBesides(`${world.cluster}/other/absent`);
    await world.run();
    await issueToken('None');
    await world.patch('ci', { spec: { serviceAccount: { namespace: 'other', name: 'absent' }, rotation: { suspend: true } } });
    await withdraw();
    await world.until(async () => (await world.tokenText()) === '');
  });

  it.each([
    ['is suspended', { rotation: { suspend: true } }],
    ['names a missing service account', {}],
    ['is invalid', { secret: { server: 'https://192.0.2.1' } }],
  ])('deletes the former anchor even if the new spec %s', async (_, spec) => {
    await allowBesides(`${world.cluster}/other/absent`);
    await world.run();
    const token = await issueToken();
    await world.patch('ci', { spec: { serviceAccount: { namespace: 'other', name: 'absent' }, ...spec } });
    await world.until(async () => !(await hasAnchor()));

    expect(await world.isAccepted(token)).toBe(false);
  });

  it.each([
    ['is suspended', { rotation: { suspend: true } }],
    ['names a missing service account', {}],
  ])('deletes the anchor of a former service account in the same namespace even if the new spec %s', async (_, spec) => {
    await allowBesides(`${world.cluster}/deploy/absent`);
    await world.run();
    const token = await issueToken();
    await world.patch('ci', { spec: { serviceAccount: { namespace: 'deploy', name: 'absent' }, ...spec } });
    await world.until(async () => !(await world.isAccepted(token)));
  });

  it('deletes the anchor of a former service account in the same namespace after the Secret was deleted', async () => {
    await allowBesides(`${world.cluster}/deploy/absent`);
    await world.run();
    const token = await issueToken();
    await world.patch('ci', { spec: { rotation: { suspend: true } } });
    await world.hub.admin.delete(Secrets, ci());
    await world.waitForReconcile();
    await world.patch('ci', { spec: { serviceAccount: { namespace: 'deploy', name: 'absent' } } });
    await world.until(async () => !(await world.isAccepted(token)));
  });

  it('deletes the former anchor even if the new Cluster does not exist', async () => {
    await allowBesides('missing');
    await world.run();
    const token = await issueToken();
    await world.patch('ci', { spec: { clusterName: 'missing' } });
    await world.until(async () => !(await world.isAccepted(token)));
  });

  it('deletes the former anchor once its Cluster is registered again', async () => {
    const clusterName = `${world.cluster}-b`;
    await world.register(clusterName, world.targets[1]);
    await allowBesides(clusterName);
    await world.run();
    const token = await issueToken();
    const { metadata, ...cluster } = await world.hub.admin.get(Clusters, { name: world.cluster });
    await world.hub.admin.delete(Clusters, { name: world.cluster });
    await world.patch('ci', { spec: { clusterName } });
    await world.waitForNewToken(token);
    await world.until(async () => (await world.events()).includes('Warning AnchorOrphaned'));
    await world.hub.admin.create(Clusters, { ...cluster, metadata: { name: metadata.name ?? '' } });
    await world.pass(6 * MINUTE, 10_000);
    await world.until(async () => !(await world.isAccepted(token)));
    await world.until(async () => (await world.get()).status?.anchors?.length === 1);
  });

  it('deletes the former anchor even if another object owns the Secret of the new name', async () => {
    await allowBesides(`${world.cluster}/other/own`);
    await world.run();
    const token = await issueToken();
    await world.hub.admin.create(Secrets, { metadata: { ...ci(), name: 'theirs' }, type: 'Opaque' });
    await world.patch('ci', { spec: { serviceAccount: ELSEWHERE, secret: { name: 'theirs' } } });
    await world.until(async () => !(await world.isAccepted(token)));
  });
});

const FORGED = 'opaque-forged-token';

/** Returns a Secret that claims to hold this token of the ManagedToken; `issuedFor` overrides parts of the record of Secret ci. */
async function forgedSecret(name: string, issuedFor: object, text = FORGED): Promise<Secret> {
  const { labels, annotations = {}, ownerReferences } = (await world.secret())?.metadata ?? ({} as ObjectMeta);
  const record = JSON.stringify({ ...JSON.parse(annotations[Annotation.issuedFor] ?? ''), ...issuedFor });
  const forged = { ...annotations, [Annotation.issuedFor]: record, [Annotation.tokenDigest]: computeDigest(text) };
  const metadata = { namespace: world.namespace, name, labels, annotations: forged, ownerReferences };
  return { metadata, type: 'Opaque', data: { token: base64(text) } } as Secret;
}

describe('token controller and a forged Secret', () => {
  const viewer = { namespace: 'deploy', name: 'viewer' };

  it.each(['BoundSecret', 'None'] as const)(
    'removes the former token with revocation %s after the suspended spec names the forged Secret',
    async (revocation) => {
      await allowBesides(`${world.cluster}/deploy/viewer`);
      await world.run();
      const token = await issueToken(revocation);
      await world.patch('ci', { spec: { rotation: { suspend: true } } });
      await world.waitForReconcile();
      await world.hub.admin.create(Secrets, await forgedSecret('other', { subject: 'system:serviceaccount:deploy:viewer' }));
      await world.patch('ci', { spec: { serviceAccount: viewer, secret: { name: 'other' } } });
      await world.waitForReconcile();
      await withdraw();
      await world.until(async () => (await world.tokenText()) === '');
      if (revocation === 'BoundSecret') await world.until(async () => !(await world.isAccepted(token)));
    },
  );
});

describe('token controller and a revocation', () => {
  it.each([
    ['a spec with revocation None', {}],
    ['an invalid spec', { boundObjectRef: null, audiences: ['https://kubernetes.default.svc', 'https://not-allowed'] }],
  ])('deletes listed anchors despite %s while suspended', async (_, spec) => {
    await world.run({
      settings: { limits: { credentialNamespaces: [CREDENTIALS], allowedAudiences: ['https://kubernetes.default.svc'] } },
    });
    const token = await issueToken();
    // Nothing runs between the two changes, so the anchor is listed when the revocation is requested.
    await world.target.stop();
    await world.patch('ci', { spec: { revocation: 'None', rotation: { suspend: true }, ...spec } });
    await revoke('admin');
    await world.waitForReconcile();
    expect((await world.get()).status?.lastRevokeRequest).toBeUndefined();
    await world.target.restart();
    await world.pass(10 * MINUTE, 5_000);
    await world.until(async () => (await world.get()).status?.lastRevokeRequest === 'admin');

    expect([await world.isAccepted(token), await hasAnchor()]).toEqual([false, false]);
    expect(await world.events()).not.toContain('Warning RevocationUnavailable');
  });

  it('continues the revocation even if a tenant marks it as handled on the Secret', async () => {
    await world.run();
    const token = await issueToken();
    await world.target.stop();
    await revoke('admin');
    await world.hub.admin.patch(Secrets, ci(), { metadata: { annotations: { 'tokens.purser.dev/revoke-request': 'admin' } } });
    await world.waitForReconcile();
    expect((await world.get()).status?.lastRevokeRequest).toBeUndefined();
    await world.target.restart();
    await world.pass(10 * MINUTE, 5_000);
    await world.until(async () => (await world.get()).status?.lastRevokeRequest === 'admin');
    expect(await world.isAccepted(token)).toBe(false);
  });

  it.each([
    ['a forged token', () => FORGED],
    ['the issued token and a forged record', (token: string) => token],
  ])('does not report the revocation as handled while the anchor may exist, despite a Secret with %s', async (_, textOf) => {
    const clusterName = `${world.cluster}-b`;
    await world.register(clusterName, world.targets[1]);
    await allowBesides(clusterName);
    const { metadata } = await world.hub.admin.get(Clusters, { name: clusterName });
    const { outcomes } = await world.run();
    const token = await issueToken();
    await world.target.stop();
    await world.patch('ci', { spec: { clusterName, rotation: { suspend: true } } });
    await world.until(async () => (await world.tokenText()) === '');
    const { metadata: forged, data } = await forgedSecret('ci', { cluster: clusterName, clusterUID: metadata.uid }, textOf(token));
    await world.hub.admin.patch(Secrets, ci(), { metadata: { annotations: forged.annotations }, data });
    await world.until(async () => (await world.condition('Ready')) === 'True Issued');
    await world.pass(MINUTE, 5_000);
    const before = outcomes.length;
    await revoke('admin');
    await world.until(async () => outcomes.length > before);
    expect((await world.get()).status?.lastRevokeRequest).toBeUndefined();
    await world.target.restart();
    await world.pass(10 * MINUTE, 5_000);
    await world.until(async () => !(await world.isAccepted(token)));
    await world.until(async () => (await world.get()).status?.lastRevokeRequest === 'admin');
  });

  it('deletes an anchor that lost its label', async () => {
    await world.run();
    const token = await issueToken();
    const name = await anchorName();
    await world.target.admin.patch(
      Secrets,
      { namespace: 'deploy', name },
      { metadata: { labels: { 'tokens.purser.dev/managed-by': null } } },
    );
    await revoke('admin');
    await world.until(async () => !(await world.isAccepted(token)));
    await world.until(async () => (await world.get()).status?.lastRevokeRequest === 'admin');
  });
});

describe('token controller and a withdrawal', () => {
  it('removes the Secret even if the spec named another requester during the withdrawal', async () => {
    await world.hub.admin.create(ServiceAccounts, { metadata: { namespace: world.namespace, name: 'second' } });
    await world.allow(`${world.cluster}/deploy/deployer`, { requester: 'second', name: `${world.namespace}-second` });
    await world.run();
    await issueToken('None');
    await world.patch('ci', { spec: { requesterServiceAccountName: 'second' } });
    await world.waitForReconcile();
    await world.forbid();
    await world.patch('ci', { spec: { requesterServiceAccountName: 'default' } });
    await world.waitForReconcile();
    await world.pass(40_000, 1_000);
    await world.until(async () => (await world.secret()) === undefined);
  });
});

describe('token controller and a deleted Cluster that a finalizer keeps', () => {
  it('does not rotate a token while a finalizer keeps its deleted Cluster', async () => {
    await world.run();
    const token = await issueToken('None');
    await world.hub.admin.patch(Clusters, { name: world.cluster }, { metadata: { finalizers: ['example.com/hold'] } });
    await world.hub.admin.delete(Clusters, { name: world.cluster });
    await world.patch('ci', { metadata: { annotations: { 'tokens.purser.dev/rotate': 'now' } } });
    await world.until(async () => (await world.condition('RotationFailing')) === 'True ClusterNotFound');

    expect(await world.tokenText()).toBe(token);
    await world.hub.admin.patch(Clusters, { name: world.cluster }, { metadata: { finalizers: null } });
  });
});

describe('token controller and a Secret that is too large to update', () => {
  /** Enlarges the Secret in steps that the API server accepts, until an update exceeds its limit of 3 MiB. */
  async function enlarge(): Promise<void> {
    const labels = Array.from({ length: 1_150 }, (_, index) => [`l${index}${'x'.repeat(56)}`, 'y'.repeat(63)]);
    await world.hub.admin.patch(Secrets, ci(), { metadata: { annotations: { a: '\u0001'.repeat(259_000) } } });
    await world.hub.admin.patch(Secrets, ci(), { data: { junk: Buffer.alloc(1_036_000).toString('base64') } });
    await world.hub.admin.patch(Secrets, ci(), { metadata: { labels: Object.fromEntries(labels) } });
  }

  it('removes the Secret and the anchor after a withdrawal even if a tenant altered the token', async () => {
    await world.run();
    const token = await issueToken();
    await enlarge();
    await world.hub.admin.patch(Secrets, ci(), { data: { token: base64('altered') } });
    await withdraw();
    await world.until(async () => !(await world.isAccepted(token)));
    await world.until(async () => (await world.secret()) === undefined);

    expect(await world.condition('Ready')).toBe('False Forbidden');
  });

  it('deletes the Secret of a token for a former spec', async () => {
    await allowBesides(`${world.cluster}/other/absent`);
    await world.run();
    await issueToken('None');
    await enlarge();
    await world.patch('ci', { spec: { serviceAccount: { namespace: 'other', name: 'absent' }, rotation: { suspend: true } } });
    await world.until(async () => (await world.tokenText()) === '');
  });
});

describe('token controller and a tenant with many namespaces', () => {
  const account = (namespace: string) => ({ namespace, name: 'requester' });
  const namespacesOfTenant = () => Array.from({ length: 5 }, (_, index) => `${world.namespace}-${index}`);
  const tokensOf = (namespace: string) => Array.from({ length: 5 }, (_, index) => ({ namespace, name: `token-${index}` }));
  const isPaused = ({ logged }: RunningController) => logged.some((line) => line.includes('MassWithdrawal'));

  /** Issues five tokens in each of five namespaces of the tenant. */
  async function issueMany(): Promise<readonly string[]> {
    const namespaces = namespacesOfTenant();
    for (const namespace of namespaces) {
      await world.hub.admin.create(Namespaces, { metadata: { name: namespace } });
      await world.hub.admin.create(ServiceAccounts, { metadata: account(namespace) });
      await world.allow(world.cluster, { requester: 'requester', name: namespace, namespace });
    }
    const tokens = namespaces.flatMap(tokensOf);
    for (const { namespace, name } of tokens) await world.create(name, { requesterServiceAccountName: 'requester' }, { namespace });
    const isReady = async (key: { readonly namespace: string; readonly name: string }) =>
      (await world.hub.admin.get(ManagedTokens, key)).status?.conditions?.some(
        ({ type, status }) => type === 'Ready' && status === 'True',
      ) === true;
    for (const key of tokens) await world.until(() => isReady(key));
    return namespaces;
  }

  /** Forges five ManagedTokens in each of five namespaces, with Secrets and statuses of issued tokens. */
  async function forgeMany(): Promise<void> {
    for (const namespace of namespacesOfTenant()) {
      await world.hub.admin.create(Namespaces, { metadata: { name: namespace } });
      for (const key of tokensOf(namespace)) await forge(key);
    }
  }

  async function forge({ namespace, name }: { readonly namespace: string; readonly name: string }): Promise<void> {
    const { metadata, data } = await forgedSecret(name, { requester: 'default' }, `forged-${namespace}-${name}`);
    const { annotations = {} } = metadata;
    const record = parseRecord(annotations);
    if (record?.tokenDigest === undefined) throw new Error('the Secret ci has no record');
    await world.create(name, {}, { namespace });
    const { uid } = await world.hub.admin.get(ManagedTokens, { namespace, name }).then((token) => token.metadata);
    const ownerReferences = metadata.ownerReferences?.map((owner) => ({ ...owner, name, uid }));
    await world.hub.admin.create(Secrets, { metadata: { ...metadata, namespace, ownerReferences }, type: 'Opaque', data } as Secret);
    const genuine = (await world.get()).status;
    const status = { ...genuine, tokenDigest: toIssuanceDigest(record.tokenDigest, record), secretRef: null, secretName: name };
    await world.hub.admin.patchStatus(ManagedTokens, { namespace, name }, { status });
  }

  it.each([
    ['deletes requesters', (namespace: string) => world.hub.admin.delete(ServiceAccounts, account(namespace))],
    [
      'names requesters without permission',
      async (namespace: string) => {
        const spec = { requesterServiceAccountName: 'default' };
        for (const key of tokensOf(namespace)) await world.hub.admin.patch(ManagedTokens, key, { spec });
      },
    ],
  ])('does not pause the removal of other Secrets after a tenant %s', async (_, act) => {
    const controller = await world.run();
    await issueToken('None');
    const namespaces = await issueMany();
    for (const namespace of namespaces) await act(namespace);
    await withdraw();
    await world.until(async () => (await world.secret()) === undefined);
    expect(isPaused(controller)).toBe(false);
  });

  it('does not pause the removal of other Secrets after the tenant forged Secrets and statuses', async () => {
    const controller = await world.run();
    await issueToken('None');
    await forgeMany();
    await world.pass(20_000, 1_000);
    await withdraw();
    await world.until(async () => (await world.secret()) === undefined);
    expect(isPaused(controller)).toBe(false);
  });

  it('pauses removal after a restart when an administrator deletes the bindings of five namespaces', async () => {
    const first = await world.run();
    const namespaces = await issueMany();
    await first.stop();
    world.running = [];
    const controller = await world.run();
    for (const namespace of namespaces) await world.forbid(namespace);
    await world.until(async () => isPaused(controller));
    for (const namespace of namespaces) expect((await world.hub.admin.list(Secrets, { namespace })).items).toHaveLength(5);
    await world.hub.admin.delete(ConfigMaps, { namespace: CREDENTIALS, name: 'purser-removal-limit' });
  });
});
