// Who may have a token is asked at every issuance, and noticed when it changes.

import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it, jest } from '@jest/globals';
import { ClusterRoleBindings, ClusterRoles, Secrets, ServiceAccounts } from '../../src/api/resources.ts';
import { TokenWorld } from './token-world.ts';

jest.setTimeout(60_000);

const MINUTE = 60_000;
const FORBIDDEN = 'Ready=False Forbidden RotationFailing=undefined';

let world: TokenWorld;

beforeAll(async () => {
  world = await TokenWorld.start();
}, 60_000);
beforeEach(() => world.begin());
afterEach(() => world.end());
afterAll(() => world.close());

async function issued(): Promise<string> {
  await world.create();
  await world.ready();
  await world.looked();
  world.calls.clear();
  return await world.tokenText();
}

/** Waits until the controller has asked the hub this often. */
async function reviewed(times: number): Promise<void> {
  await world.until(async () => reviews() >= times);
}

const unreachable = () => ({ admin: world.target.admin, ca: world.target.ca, url: 'https://127.0.0.1:1' });

const reviews = () => world.sent().hub.filter((call) => call === 'POST subjectaccessreviews').length;

describe('a requester without permission', () => {
  it('gets no token and no Secret, and is told what is missing (M-1)', async () => {
    await world.forbid();
    await world.run();
    await world.create();
    await world.until(async () => (await world.conditions()) === FORBIDDEN);
    const message = (await world.get()).status?.conditions?.[0]?.message;

    expect(message).toContain(`User "system:serviceaccount:${world.namespace}:default" cannot issue clusters/token`);
    expect(message).toContain(`"${world.cluster}/deploy/deployer"`);
    expect([await world.secret(), world.sent().target]).toEqual([undefined, []]);
    await world.told(['Warning Forbidden']);
  });

  it.each([
    ['the account', (cluster: string) => `${cluster}/deploy/deployer`],
    ['the namespace', (cluster: string) => `${cluster}/deploy`],
    ['the cluster', (cluster: string) => cluster],
  ])('gets its token as soon as a rule names %s', async (_, name) => {
    await world.forbid();
    await world.run();
    await world.create();
    await world.until(async () => (await world.conditions()) === FORBIDDEN);
    await world.allow(name(world.cluster));
    await world.ready();
  });

  it.each([
    ['another account', (cluster: string) => `${cluster}/deploy/other`],
    ['another cluster', () => 'elsewhere'],
  ])('is not helped by a rule for %s', async (_, name) => {
    await world.allow(name(world.cluster));
    await world.run();
    await world.create();
    await world.until(async () => (await world.conditions()) === FORBIDDEN);
    expect(world.sent().target).toEqual([]);
  });

  it('is not helped by a rule for the whole cluster when the namespace is protected', async () => {
    await world.run();
    await world.create('ci', { serviceAccount: { namespace: 'kube-system', name: 'default' } });
    await world.until(async () => (await world.conditions()) === FORBIDDEN);
    await world.allow(`${world.cluster}/kube-system/default`);
    await world.ready();
  });

  it('sees no difference between a missing, a hidden and an unreachable cluster, whatever else is wrong', async () => {
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

  it.each([['missing'], ['unreachable']])('learns nothing of a %s cluster by moving a token there', async (kind) => {
    const clusterName = `${world.cluster}-${kind}`;
    if (kind === 'unreachable') await world.register(clusterName, unreachable());
    await world.run();
    await issued();
    await world.pass(15_000);
    await world.patch('ci', { spec: { clusterName } });
    await world.until(async () => (await world.condition('Ready')) === 'False Forbidden');
    expect(world.sent().target).toEqual([]);
  });

  it('must exist', async () => {
    await world.allow(world.cluster, { requester: 'ci' });
    await world.run();
    await world.create('ci', { requesterServiceAccountName: 'ci' });
    await world.until(async () => (await world.conditions()) === FORBIDDEN);
    expect((await world.get()).status?.conditions?.[0]?.message).toContain('does not exist');
    await world.hub.admin.create(ServiceAccounts, { metadata: { namespace: world.namespace, name: 'ci' } });
    await world.ready();
  });
});

describe('a permission that is withdrawn', () => {
  it.each([
    ['its binding is deleted', () => world.forbid()],
    ['its role is deleted', () => world.hub.admin.delete(ClusterRoles, { name: world.namespace })],
    ['its role is for something else now', () => world.allow('elsewhere')],
    ['its requester is deleted', () => world.hub.admin.delete(ServiceAccounts, { namespace: world.namespace, name: 'never-made-again' })],
  ])('removes the Secret after two refusals, 15 seconds apart: %s (M-16)', async (what, withdraw) => {
    const isRequester = what.includes('requester');
    if (isRequester) {
      await world.hub.admin.create(ServiceAccounts, { metadata: { namespace: world.namespace, name: 'never-made-again' } });
      await world.allow(world.cluster, { requester: 'never-made-again' });
    }
    await world.run();
    await world.create('ci', isRequester ? { requesterServiceAccountName: 'never-made-again' } : {});
    await world.ready();
    await world.looked();
    world.calls.clear();
    await withdraw();
    if (isRequester) await world.looked();
    else await reviewed(3);
    await world.pass(14_000, 1_000);
    await world.looked();
    expect(await world.secret()).toBeDefined();
    expect(await world.condition('Ready')).toBe('True Issued');
    await world.pass(2_000, 500);
    await world.until(async () => (await world.secret()) === undefined);
    await world.until(async () => (await world.conditions()) === FORBIDDEN);
    await world.looked();

    expect(await world.secret()).toBeUndefined();
    await world.told(['Normal Issued', 'Warning Forbidden']);
  });

  it('and restored brings the Secret back', async () => {
    await world.run();
    await issued();
    await world.forbid();
    await reviewed(3);
    await world.pass(16_000, 1_000);
    await world.until(async () => (await world.conditions()) === FORBIDDEN);
    await world.pass(5_000, 1_000);
    await world.allow(world.cluster);
    await world.ready();
    expect(await world.isAccepted(await world.tokenText())).toBe(true);
  });

  it('and replaced within seconds removes nothing', async () => {
    await world.run();
    const first = await issued();
    await world.forbid();
    await reviewed(3);
    await world.pass(5_000, 1_000);
    await world.allow(world.cluster);
    await world.pass(60_000, 1_000);
    await world.looked();

    expect([await world.tokenText(), await world.conditions()]).toEqual([first, 'Ready=True Issued RotationFailing=False Issued']);
    expect(world.sent().hub.filter((call) => !call.includes('subjectaccessreviews'))).toEqual([]);
    await world.told(['Normal Issued']);
  });

  it('and replaced twice within the life of one token removes nothing', async () => {
    await world.run();
    const first = await issued();
    for (let gap = 0; gap < 2; gap++) {
      world.calls.clear();
      await world.forbid();
      await reviewed(3);
      await world.allow(world.cluster);
      // A review that says yes ends the doubt: nobody counts on from a gap of long ago.
      await reviewed(4);
      await world.pass(10 * MINUTE, 5_000);
      await world.looked();
    }

    expect([await world.tokenText(), await world.conditions()]).toEqual([first, 'Ready=True Issued RotationFailing=False Issued']);
    await world.told(['Normal Issued']);
  });

  it('is noticed at the renewal, too, where nothing on the hub told of it', async () => {
    await world.run();
    const first = await issued();
    await world.forbid();
    await reviewed(3);
    await world.pass(10 * MINUTE, 5_000);
    await world.until(async () => (await world.secret()) === undefined);
    expect(first).not.toBe('');
  });

  it('while Purser was away is noticed when it returns', async () => {
    const controller = await world.run();
    await issued();
    await controller.stop();
    world.running = [];
    await world.forbid();
    await world.run();
    await reviewed(3);
    await world.pass(16_000, 1_000);
    await world.until(async () => (await world.conditions()) === FORBIDDEN);
    expect(await world.secret()).toBeUndefined();
  });

  it('is not taken for one while nobody can tell: errors remove nothing', async () => {
    await world.run();
    const first = await issued();
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

  it('that cannot be looked at is told of, and a token that expires meanwhile leaves the Secret', async () => {
    await world.run();
    await issued();
    const role = await world.hub.admin.get(ClusterRoles, { name: 'purser-controller' });
    const rules = role.rules?.filter(({ resources = [] }) => !resources.includes('subjectaccessreviews')) ?? [];
    await world.hub.admin.update(ClusterRoles, { ...role, rules });
    try {
      await world.forbid();
      await world.until(async () => (await world.conditions()) === 'Ready=True Issued RotationFailing=True AuthorizationFailed');
      await world.told(['Normal Issued', 'Warning AuthorizationFailed']);
      await world.pass(70 * MINUTE, 60_000);
      await world.until(async () => (await world.conditions()) === 'Ready=False Expired RotationFailing=True AuthorizationFailed');
      expect([await world.tokenText(), (await world.secret()) === undefined]).toEqual(['', false]);
    } finally {
      await world.hub.admin.patch(ClusterRoles, { name: 'purser-controller' }, { rules: role.rules });
    }
  });

  it('from 15 tokens at once removes all their Secrets', async () => {
    const controller = await world.run();
    const names = Array.from({ length: 15 }, (_, index) => `token-${index}`);
    await Promise.all(names.map((name) => world.create(name)));
    for (const name of names) await world.ready(name);
    world.calls.clear();
    await world.hub.admin.delete(ClusterRoleBindings, { name: world.namespace });
    await reviewed(45);
    await world.pass(16_000, 1_000);
    await world.until(async () => (await world.hub.admin.listAll(Secrets, { namespace: world.namespace })).items.length === 0);

    expect(controller.logged.filter((line) => line.includes('MassWithdrawal'))).toEqual([]);
  });

  it('from more than 20 tokens of a namespace removes their Secrets ten minutes later', async () => {
    const controller = await world.run();
    const names = Array.from({ length: 25 }, (_, index) => `token-${index}`);
    await Promise.all(names.map((name) => world.create(name)));
    for (const name of names) await world.ready(name);
    const secrets = async () => (await world.hub.admin.listAll(Secrets, { namespace: world.namespace })).items.length;
    world.calls.clear();
    await world.hub.admin.delete(ClusterRoleBindings, { name: world.namespace });
    await reviewed(75);
    await world.pass(60_000, 1_000);
    await world.until(async () => (await world.conditions('token-0')) === 'Ready=True Issued RotationFailing=True RemovalDelayed');
    expect(await secrets()).toBe(25);
    await world.pass(8 * MINUTE, 20_000);
    await world.looked('token-0');
    expect(await secrets()).toBe(25);
    await world.pass(3 * MINUTE, 20_000);
    await world.until(async () => (await secrets()) === 0);

    expect(controller.logged.filter((line) => line.includes('MassWithdrawal'))).toEqual([]);
  });

  it('is carried out in time, whatever objects others create that never had a token', async () => {
    await world.run();
    await issued();
    const forged = { finalizers: ['tokens.purser.dev/anchor'], annotations: { 'tokens.purser.dev/anchors': `${world.cluster}/deploy` } };
    const names = Array.from({ length: 25 }, (_, index) => `forged-${index}`);
    await Promise.all(
      names.map((name) => world.create(name, { requesterServiceAccountName: 'nobody', revocation: 'BoundSecret' }, forged)),
    );
    for (const name of names) await world.until(async () => (await world.condition('Ready', name)) === 'False Forbidden');
    world.calls.clear();
    await world.forbid();
    await reviewed(3);
    await world.pass(16_000, 1_000);
    await world.until(async () => (await world.secret()) === undefined);
  });
});
