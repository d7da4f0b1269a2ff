// Purser reviews the permission at every issuance, and reacts to changes to the permission.

import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it } from '@jest/globals';
import { Annotation, Label } from '../../src/api/names.ts';
import { ClusterRoleBindings, ClusterRoles, Clusters, Secrets, ServiceAccounts } from '../../src/api/resources.ts';
import { allOrFirst, onlyExhaustive } from '../support/scaled.ts';
import { TokenWorld } from './token-world.ts';

const MINUTE = 60_000;
const FORBIDDEN = 'Ready=False Forbidden RotationFailing=undefined';

let world: TokenWorld;

beforeAll(async () => {
  world = await TokenWorld.start();
});
beforeEach(() => world.begin());
afterEach(() => world.end());
afterAll(() => world.close());

async function issueToken(): Promise<string> {
  await world.create();
  await world.waitUntilReady();
  await world.waitForReconcile();
  world.calls.clear();
  return await world.tokenText();
}

/** Waits for this number of reviews. */
async function waitForReviews(times: number): Promise<void> {
  await world.until(async () => reviews() >= times);
}

const unreachable = () => ({ admin: world.target.admin, ca: world.target.ca, url: 'https://127.0.0.1:1' });

const reviews = () => world.sent().hub.filter((call) => call === 'POST subjectaccessreviews').length;

describe('token controller and a requester without permission', () => {
  it('issues no token, and names the missing permission in Ready', async () => {
    await world.forbid();
    await world.run();
    await world.create();
    await world.until(async () => (await world.conditions()) === FORBIDDEN);
    const message = (await world.get()).status?.conditions?.[0]?.message;

    expect(message).toContain(`User "system:serviceaccount:${world.namespace}:default" cannot issue clusters/token`);
    expect(message).toContain(`"${world.cluster}/deploy/deployer"`);
    expect([await world.secret(), world.sent().target]).toEqual([undefined, []]);
    await world.expectEvents(['Warning Forbidden']);
  });

  it.each(
    allOrFirst([
      ['the service account', (cluster: string) => `${cluster}/deploy/deployer`],
      ['the namespace', (cluster: string) => `${cluster}/deploy`],
      ['the cluster', (cluster: string) => cluster],
    ]),
  )('issues the token as soon as a rule names %s', async (_, name) => {
    await world.forbid();
    await world.run();
    await world.create();
    await world.until(async () => (await world.conditions()) === FORBIDDEN);
    await world.allow(name(world.cluster));
    await world.waitUntilReady();
  });

  it.each(
    allOrFirst([
      ['another service account', (cluster: string) => `${cluster}/deploy/other`],
      ['another cluster', () => 'elsewhere'],
    ]),
  )('issues no token for a rule that names %s', async (_, name) => {
    await world.allow(name(world.cluster));
    await world.run();
    await world.create();
    await world.until(async () => (await world.conditions()) === FORBIDDEN);
    expect(world.sent().target).toEqual([]);
  });

  it('issues no token in a protected namespace for a rule that names the cluster', async () => {
    await world.run();
    await world.create('ci', { serviceAccount: { namespace: 'kube-system', name: 'default' } });
    await world.until(async () => (await world.conditions()) === FORBIDDEN);
    await world.allow(`${world.cluster}/kube-system/default`);
    await world.waitUntilReady();
  });

  it('reports the same conditions and events for a missing, a hidden and an unreachable cluster', async () => {
    await world.register('unreachable', unreachable());
    await world.run();
    const server = 'https://192.0.2.1';
    const wrong = { secret: { server, outputs: ['Token' as const] }, requesterServiceAccountName: 'other' };
    await world.hub.admin.create(ServiceAccounts, { metadata: { namespace: world.namespace, name: 'other' } });
    const clusters = ['missing', 'unreachable', world.cluster];
    for (const clusterName of clusters) await world.create(`for-${clusterName}`, { clusterName, ...wrong });
    const seen = await Promise.all(
      clusters.map(async (clusterName) => {
        const name = `for-${clusterName}`;
        await world.until(async () => (await world.condition('Ready', name)) !== undefined);
        const { status } = await world.get(name);
        const shown = status?.conditions?.map(({ type, status: is, reason, message }) => [type, is, reason, message]);
        return JSON.stringify([shown, await world.events(name)]).replaceAll(clusterName, 'X');
      }),
    );

    expect(new Set(seen).size).toBe(1);
    expect(seen[0]).toContain('"Forbidden"');
    expect(world.sent().target).toEqual([]);
  });

  it.each(allOrFirst([['missing'], ['unreachable']]))(
    'reports nothing about a %s cluster when a ManagedToken is changed to name that cluster',
    async (kind) => {
      const clusterName = `${world.cluster}-${kind}`;
      if (kind === 'unreachable') await world.register(clusterName, unreachable());
      await world.run();
      await issueToken();
      await world.pass(15_000);
      await world.patch('ci', { spec: { clusterName } });
      await world.until(async () => (await world.condition('Ready')) === 'False Forbidden');
      expect(world.sent().target).toEqual([]);
    },
  );

  it('reports Forbidden for a requester that does not exist', async () => {
    await world.allow(world.cluster, { requester: 'ci' });
    await world.run();
    await world.create('ci', { requesterServiceAccountName: 'ci' });
    await world.until(async () => (await world.conditions()) === FORBIDDEN);
    expect((await world.get()).status?.conditions?.[0]?.message).toContain('does not exist');
    await world.hub.admin.create(ServiceAccounts, { metadata: { namespace: world.namespace, name: 'ci' } });
    await world.waitUntilReady();
  });
});

describe('token controller after a withdrawal', () => {
  it.each(
    allOrFirst([
      ['the binding is deleted', () => world.forbid()],
      ['the role is deleted', () => world.hub.admin.delete(ClusterRoles, { name: world.namespace })],
      ['the role grants only another permission', () => world.allow('elsewhere')],
      ['the requester is deleted', () => world.hub.admin.delete(ServiceAccounts, { namespace: world.namespace, name: 'never-recreated' })],
    ]),
  )('removes the Secret after two refusals, 15 seconds apart: %s', async (what, withdraw) => {
    const isRequester = what.includes('requester');
    if (isRequester) {
      await world.hub.admin.create(ServiceAccounts, { metadata: { namespace: world.namespace, name: 'never-recreated' } });
      await world.allow(world.cluster, { requester: 'never-recreated' });
    }
    await world.run();
    await world.create('ci', isRequester ? { requesterServiceAccountName: 'never-recreated' } : {});
    await world.waitUntilReady();
    await world.waitForReconcile();
    world.calls.clear();
    await withdraw();
    if (isRequester) await world.waitForReconcile();
    else await waitForReviews(3);
    await world.pass(14_000, 1_000);
    await world.waitForReconcile();
    expect(await world.secret()).toBeDefined();
    expect(await world.conditions()).toBe('Ready=True Issued RotationFailing=True WithdrawalPending');
    await world.pass(2_000, 500);
    await world.until(async () => (await world.secret()) === undefined);
    await world.until(async () => (await world.conditions()) === FORBIDDEN);
    await world.waitForReconcile();

    expect(await world.secret()).toBeUndefined();
    await world.expectEvents(['Normal Issued', 'Warning WithdrawalPending', 'Warning Forbidden', 'Warning Withdrawn']);
  });

  it('removes the token from a Secret that a finalizer keeps, and reports the withdrawal once', async () => {
    await world.run();
    await issueToken();
    const name = { namespace: world.namespace, name: 'ci' };
    await world.hub.admin.patch(Secrets, name, { metadata: { finalizers: ['example.com/hold'] } });
    await world.waitForReconcile();
    await world.forbid();
    await world.pass(40_000, 1_000);
    await world.until(async () => (await world.secret())?.data?.['token'] === undefined);
    await world.pass(10 * MINUTE, 5_000);
    await world.expectEvents(['Normal Issued', 'Warning WithdrawalPending', 'Warning Forbidden', 'Warning Withdrawn']);
    await world.hub.admin.patch(Secrets, name, { metadata: { finalizers: null } });
    await world.until(async () => (await world.secret()) === undefined);
  });

  it('re-creates the Secret when the permission is restored', async () => {
    await world.run();
    await issueToken();
    await world.forbid();
    await waitForReviews(3);
    await world.pass(16_000, 1_000);
    await world.until(async () => (await world.conditions()) === FORBIDDEN);
    await world.pass(5_000, 1_000);
    await world.allow(world.cluster);
    await world.waitUntilReady();
    expect(await world.isAccepted(await world.tokenText())).toBe(true);
    const events = ['Normal Issued', 'Warning WithdrawalPending', 'Warning Forbidden', 'Warning Withdrawn', 'Normal SecretMissing'];
    await world.expectEvents(events);
  });

  it('keeps the Secret when the binding is replaced within seconds', async () => {
    await world.run();
    const first = await issueToken();
    await world.forbid();
    await waitForReviews(3);
    await world.pass(4_000, 1_000);
    await world.allow(world.cluster);
    await world.pass(60_000, 1_000);
    await world.waitForReconcile();

    expect([await world.tokenText(), await world.conditions()]).toEqual([first, 'Ready=True Issued RotationFailing=False Issued']);
    expect(world.sent().hub.filter((call) => !call.includes('subjectaccessreviews'))).toEqual([]);
    await world.expectEvents(['Normal Issued']);
  });

  it('keeps the Secret when the binding is replaced twice within the lifetime of a token', async () => {
    await world.run();
    const first = await issueToken();
    for (let gap = 0; gap < 2; gap++) {
      world.calls.clear();
      await world.forbid();
      await waitForReviews(3);
      await world.allow(world.cluster);
      // A review that allows the token ends the doubt, so an earlier gap no longer applies.
      await waitForReviews(4);
      await world.pass(10 * MINUTE, 5_000);
      await world.waitForReconcile();
    }

    expect([await world.tokenText(), await world.conditions()]).toEqual([first, 'Ready=True Issued RotationFailing=False Issued']);
    await world.expectEvents(['Normal Issued']);
  });

  onlyExhaustive(() => {
    it('removes the Secret within ten minutes of a withdrawal', async () => {
      await world.run();
      const first = await issueToken();
      await world.forbid();
      await waitForReviews(3);
      await world.pass(10 * MINUTE, 5_000);
      await world.until(async () => (await world.secret()) === undefined);
      expect(first).not.toBe('');
    });
  });

  it('removes the Secret after a restart if the permission was withdrawn before', async () => {
    const controller = await world.run();
    await issueToken();
    await controller.stop();
    world.running = [];
    await world.forbid();
    await world.run();
    await waitForReviews(3);
    await world.pass(16_000, 1_000);
    await world.until(async () => (await world.conditions()) === FORBIDDEN);
    expect(await world.secret()).toBeUndefined();
  });

  onlyExhaustive(() => {
    it('keeps the Secret while reviews fail', async () => {
      await world.run();
      const first = await issueToken();
      const role = await world.hub.admin.get(ClusterRoles, { name: 'purser-controller' });
      const rules = role.rules?.filter(({ resources = [] }) => !resources.includes('subjectaccessreviews')) ?? [];
      await world.hub.admin.update(ClusterRoles, { ...role, rules });
      await world.forbid();
      await world.until(async () => reviews() > 0);
      await world.pass(5 * MINUTE, 5_000);
      await world.until(async () => reviews() > 5);
      expect(await world.tokenText()).toBe(first);
      await world.hub.admin.patch(ClusterRoles, { name: 'purser-controller' }, { rules: role.rules });
      await world.pass(10 * MINUTE, 5_000);
      await world.until(async () => (await world.secret()) === undefined);
    });
  });

  it('reports failing reviews, and removes a token that expires in the meantime', async () => {
    await world.run();
    await issueToken();
    const role = await world.hub.admin.get(ClusterRoles, { name: 'purser-controller' });
    const rules = role.rules?.filter(({ resources = [] }) => !resources.includes('subjectaccessreviews')) ?? [];
    await world.hub.admin.update(ClusterRoles, { ...role, rules });
    try {
      await world.forbid();
      await world.until(async () => (await world.conditions()) === 'Ready=True Issued RotationFailing=True AuthorizationFailed');
      await world.expectEvents(['Normal Issued', 'Warning AuthorizationFailed']);
      await world.pass(70 * MINUTE, 60_000);
      await world.until(async () => (await world.conditions()) === 'Ready=False Expired RotationFailing=True AuthorizationFailed');
      expect([await world.tokenText(), (await world.secret()) === undefined]).toEqual(['', false]);
    } finally {
      await world.hub.admin.patch(ClusterRoles, { name: 'purser-controller' }, { rules: role.rules });
    }
  });

  onlyExhaustive(() => {
    it('removes the Secret within 40 s even if the record in the Secret has a value that is too long for the status', async () => {
      const { outcomes } = await world.run();
      await issueToken();
      const annotations = { [Annotation.rotateRequest]: 'x'.repeat(2_000) };
      await world.hub.admin.patch(Secrets, { namespace: world.namespace, name: 'ci' }, { metadata: { annotations } });
      await world.pass(10 * MINUTE, 5_000);
      expect(outcomes.filter(({ type }) => type === 'failed')).toEqual([]);
      await world.forbid();
      await world.pass(40_000, 1_000);
      await world.eventually(async () => expect(await world.secret()).toBeUndefined());
    });
  });

  it.each(
    allOrFirst([
      ['removes label, owner and annotations', { labels: null, ownerReferences: null, annotations: null }],
      ['removes the label', { labels: { [Label.managedBy]: null } }],
      ['removes the owner', { ownerReferences: null }],
    ]),
  )('removes the Secret within 40 s even if a user of the namespace changes the Secret: %s', async (_, metadata) => {
    await world.run();
    await issueToken();
    await world.waitForReconcile();
    await world.forbid();
    await world.hub.admin.patch(Secrets, { namespace: world.namespace, name: 'ci' }, { metadata });
    await world.pass(40_000, 1_000);
    await world.eventually(async () => expect(await world.secret()).toBeUndefined());
    await world.eventually(async () => expect((await world.get()).status?.secretRef).toBeUndefined());
  });

  it("keeps another owner's Secret that has the name of a withdrawn Secret", async () => {
    await world.run();
    await issueToken();
    await world.waitForReconcile();
    await world.forbid();
    await world.hub.admin.delete(Secrets, { namespace: world.namespace, name: 'ci' });
    await world.hub.admin.create(Secrets, { metadata: { namespace: world.namespace, name: 'ci' }, data: { token: 'dGhlaXJz' } });
    await world.pass(40_000, 1_000);
    await world.until(async () => (await world.conditions()) === FORBIDDEN);
    expect(await world.tokenText()).toBe('theirs');
  });

  it('removes the Secret within 40 s even if the status cannot be written', async () => {
    const { outcomes } = await world.run();
    await issueToken();
    const name = 'purser-controller-tokens';
    const role = await world.hub.admin.get(ClusterRoles, { name });
    const rules = role.rules?.filter(({ resources = [] }) => !resources.includes('managedtokens/status')) ?? [];
    await world.hub.admin.update(ClusterRoles, { ...role, rules });
    try {
      await world.patch('ci', { spec: { rotation: { renewBefore: '25%' } } });
      await world.pass(10 * MINUTE, 5_000);
      expect(outcomes.at(-1)).toMatchObject({ type: 'failed' });
      await world.forbid();
      await world.pass(40_000, 1_000);
      await world.eventually(async () => expect(await world.secret()).toBeUndefined());
    } finally {
      await world.hub.admin.patch(ClusterRoles, { name }, { rules: role.rules });
    }
  });

  onlyExhaustive(() => {
    it('removes the Secrets of 15 tokens that lose permission at once', async () => {
      const controller = await world.run();
      const names = Array.from({ length: 15 }, (_, index) => `token-${index}`);
      await Promise.all(names.map((name) => world.create(name)));
      for (const name of names) await world.waitUntilReady(name);
      world.calls.clear();
      await world.hub.admin.delete(ClusterRoleBindings, { name: world.namespace });
      await waitForReviews(45);
      await world.pass(16_000, 1_000);
      await world.until(async () => (await world.hub.admin.list(Secrets, { namespace: world.namespace })).items.length === 0);

      expect(controller.logged.filter((line) => line.includes('MassWithdrawal'))).toEqual([]);
    });
  });

  onlyExhaustive(() => {
    it('removes the Secrets of more than 20 tokens of a namespace ten minutes after the tokens lose permission', async () => {
      const controller = await world.run();
      const names = Array.from({ length: 25 }, (_, index) => `token-${index}`);
      await Promise.all(names.map((name) => world.create(name)));
      for (const name of names) await world.waitUntilReady(name);
      const secrets = async () => (await world.hub.admin.list(Secrets, { namespace: world.namespace })).items.length;
      world.calls.clear();
      await world.hub.admin.delete(ClusterRoleBindings, { name: world.namespace });
      await waitForReviews(75);
      await world.pass(60_000, 1_000);
      await world.until(async () => (await world.conditions('token-0')) === 'Ready=True Issued RotationFailing=True RemovalDelayed');
      expect(await secrets()).toBe(25);
      await world.pass(8 * MINUTE, 20_000);
      await world.waitForReconcile('token-0');
      expect(await secrets()).toBe(25);
      await world.pass(3 * MINUTE, 20_000);
      await world.until(async () => (await secrets()) === 0);

      expect(controller.logged.filter((line) => line.includes('MassWithdrawal'))).toEqual([]);
    });
  });

  onlyExhaustive(() => {
    it('removes the Secret in time even if other users create ManagedTokens that never had a token', async () => {
      await world.run();
      await issueToken();
      const forged = { finalizers: ['tokens.purser.dev/anchor'], annotations: { 'tokens.purser.dev/anchors': `${world.cluster}/deploy` } };
      const names = Array.from({ length: 25 }, (_, index) => `forged-${index}`);
      await Promise.all(
        names.map((name) => world.create(name, { requesterServiceAccountName: 'missing', revocation: 'BoundSecret' }, forged)),
      );
      for (const name of names) await world.until(async () => (await world.condition('Ready', name)) === 'False Forbidden');
      world.calls.clear();
      await world.forbid();
      await waitForReviews(3);
      await world.pass(16_000, 1_000);
      await world.until(async () => (await world.secret()) === undefined);
    });
  });
});

describe('token controller and a grant for a set of clusters', () => {
  const label = async (set: string | null) => {
    await world.hub.admin.patch(Clusters, { name: world.cluster }, { metadata: { labels: { [Label.clusterSet]: set } } });
  };

  it.each(allOrFirst([['set:prod/deploy/deployer'], ['set:prod/deploy'], ['set:prod']]))(
    'issues the token when the cluster joins the set of the rule %s, and removes the Secret after the cluster has left the set',
    async (name) => {
      await world.allow(name);
      await world.run();
      await world.create();
      await world.until(async () => (await world.conditions()) === FORBIDDEN);
      await label('prod');
      await world.waitUntilReady();
      await world.waitForReconcile();
      world.calls.clear();
      await label(null);
      await waitForReviews(6);
      await world.pass(14_000, 1_000);
      await world.waitForReconcile();
      expect(await world.conditions()).toBe('Ready=True Issued RotationFailing=True WithdrawalPending');
      await world.pass(2_000, 500);
      await world.until(async () => (await world.secret()) === undefined);
      await world.until(async () => (await world.conditions()) === FORBIDDEN);
      expect((await world.get()).status?.conditions?.[0]?.message).not.toContain('set:');
    },
  );

  it('keeps the token when the label is restored within seconds', async () => {
    await label('prod');
    await world.allow('set:prod');
    await world.run();
    const first = await issueToken();
    await label('dev');
    await waitForReviews(6);
    await world.pass(4_000, 1_000);
    await label('prod');
    await world.pass(60_000, 1_000);
    await world.waitForReconcile();
    expect([await world.tokenText(), await world.conditions()]).toEqual([first, 'Ready=True Issued RotationFailing=False Issued']);
  });

  onlyExhaustive(() => {
    it('keeps the token when a cluster that a rule names leaves its set', async () => {
      await label('prod');
      await world.allow(world.cluster);
      await world.run();
      const first = await issueToken();
      await label(null);
      await world.pass(60_000, 1_000);
      await world.waitForReconcile();
      expect([await world.tokenText(), await world.conditions()]).toEqual([first, 'Ready=True Issued RotationFailing=False Issued']);
    });

    it('removes the Secret when the Cluster is re-created without the label', async () => {
      await label('prod');
      await world.allow('set:prod');
      await world.run();
      await issueToken();
      const { metadata, spec, apiVersion, kind } = await world.hub.admin.get(Clusters, { name: world.cluster });
      await world.hub.admin.delete(Clusters, { name: world.cluster });
      await world.hub.admin.create(Clusters, { apiVersion, kind, metadata: { name: metadata.name }, spec });
      await world.pass(40_000, 1_000);
      await world.until(async () => (await world.secret()) === undefined);
      await world.until(async () => (await world.conditions()) === FORBIDDEN);
    });

    it('issues no token in a protected namespace for a rule that names the set', async () => {
      await label('prod');
      await world.allow('set:prod');
      await world.run();
      await world.create('ci', { serviceAccount: { namespace: 'kube-system', name: 'default' } });
      await world.until(async () => (await world.conditions()) === FORBIDDEN);
      await world.allow('set:prod/kube-system');
      await world.waitUntilReady();
    });
  });

  it.each(allOrFirst([['set:dev'], ['set:-'], ['set:*'], ['*'], ['prod']]))(
    'issues no token for a rule that names only %s',
    async (name) => {
      await world.allow(name);
      await label(name === 'set:-' ? null : 'prod');
      await world.run();
      await world.create();
      await world.until(async () => (await world.conditions()) === FORBIDDEN);
      expect(world.sent().target).toEqual([]);
    },
  );
});
