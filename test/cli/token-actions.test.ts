// Requests to change a ManagedToken, and the inspection of one, with an embedded hub, a target and a running controller.

import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it, jest } from '@jest/globals';
import { RoleBindings, Roles, ServiceAccounts } from '../../src/api/resources.ts';
import type { Peer } from '../../src/cli/cluster/peer.ts';
import type { CommandHost } from '../../src/cli/command.ts';
import { toLinks } from '../../src/cli/status/chain.ts';
import { type InspectionOptions, inspect } from '../../src/cli/status/inspect.ts';
import { requestChange, type TokenAction } from '../../src/cli/token-actions.ts';
import type { KubeClient } from '../../src/kube/client.ts';
import { TransportError } from '../../src/kube/transport-error.ts';
import { TokenWorld } from '../tokens/token-world.ts';

let world: TokenWorld;
let printed: string;
const RBAC = 'rbac.authorization.k8s.io';

beforeAll(async () => {
  world = await TokenWorld.start();
});
beforeEach(() => world.begin());
afterEach(() => world.end());
afterAll(() => world.close());

interface RunOptions {
  readonly name?: string;
  readonly timeoutMs?: number;
  readonly context?: string;
}

/** Runs an action while simulated time passes. Returns the output, or the message and exit code of the error. */
async function run(action: TokenAction, { name = 'ci', timeoutMs = 280_000, context }: RunOptions = {}): Promise<unknown> {
  printed = '';
  const print = (text: string) => {
    printed += text;
  };
  const host: CommandHost = { clock: world.clock, env: {}, print, warn: print, signal: new AbortController().signal };
  let isDone = false;
  const running = requestChange(
    { hub: { role: 'hub', context, client: world.hub.admin }, namespace: world.namespace, name, action, timeoutMs },
    host,
  )
    .then(
      () => printed,
      ({ message, code }: { message: string; code?: number }) => `${code}: ${message}`,
    )
    .finally(() => {
      isDone = true;
    });
  await world.until(async () => isDone);
  return await running;
}

async function issueToken(spec: Parameters<TokenWorld['create']>[1] = {}): Promise<string> {
  await world.run();
  await world.create('ci', spec);
  await world.waitUntilReady();
  return await world.tokenText();
}

const name = () => `ManagedToken ${world.namespace}/ci`;

describe('requestChange', () => {
  it('waits until the token is rotated', async () => {
    const before = await issueToken();
    expect(await run('rotate')).toMatch(new RegExp(`^${name()} has a new token, which expires in \\d+m\\.\n$`));
    expect(await world.tokenText()).not.toBe(before);
  });

  it('waits until the token is revoked and replaced', async () => {
    const before = await issueToken({ revocation: 'BoundSecret' });
    expect(await run('revoke')).toMatch(/had its token revoked; the new token expires in \d+m/);
    expect(await world.isAccepted(before)).toBe(false);
    expect(await world.isAccepted(await world.tokenText())).toBe(true);
  });

  it('suspends and resumes rotation', async () => {
    await issueToken();
    expect(await run('suspend')).toMatch(/is suspended; its token expires in \d+m/);
    expect((await world.get()).spec.rotation.suspend).toBe(true);
    expect(await run('rotate')).toBe(`1: ${name()} is suspended. Resume rotation with purser resume mt/ci -n ${world.namespace}`);
    expect(await run('rotate', { context: 'staging' })).toContain(`purser resume --context staging mt/ci -n ${world.namespace}`);
    expect(await run('resume')).toMatch(/is no longer suspended; its token expires in \d+m/);
    expect((await world.get()).spec.rotation.suspend).toBe(false);
  });

  it('suspends a ManagedToken without a token', async () => {
    await world.run();
    await world.create('ci', { clusterName: 'unregistered' });
    expect(await run('suspend')).toBe(`${name()} is suspended; it has no current token.\n`);
  });

  it('fails for a token that cannot be revoked', async () => {
    await issueToken();
    expect(await run('revoke')).toContain(`1: ${name()} does not have spec.revocation BoundSecret`);
  });

  it('fails for a ManagedToken that does not exist', async () => {
    expect(await run('rotate', { name: 'other' })).toBe(
      `1: ManagedToken ${world.namespace}/other was not found. List ManagedTokens with kubectl get managedtokens -A`,
    );
  });

  it('exits with code 3 and reports the cause if the token is not issued in time', async () => {
    await issueToken();
    await world.forbid();
    expect(await run('rotate', { timeoutMs: 30_000 })).toMatch(
      /^3: Purser has not completed the request to rotate .* cannot issue clusters\/token/,
    );
  });

  it('reports that the token is revoked if no new token is issued in time', async () => {
    await issueToken({ revocation: 'BoundSecret' });
    await world.forbid();
    expect(await run('revoke', { timeoutMs: 30_000 })).toMatch(
      /^3: ManagedToken .* had its token revoked, but Purser has not issued a new token.* cannot issue clusters\/token/,
    );
  });

  it('exits with code 3 and reports how to check Purser if Purser is not running', async () => {
    await world.create();
    expect(await run('rotate', { timeoutMs: 5_000 })).toContain('Check that the pods of Purser on the hub are running');
  });

  it('returns without waiting if the timeout is zero', async () => {
    await world.create();
    expect(await run('rotate', { timeoutMs: 0 })).toBe(`${name()}: rotate requested.\n`);
  });
});

describe('inspect', () => {
  const hubOf = (client: KubeClient): Peer => ({ role: 'hub', context: undefined, client });
  const peer = (client: KubeClient): Peer => ({ role: 'target cluster', context: 'eu', client });
  const chain = async (more: Partial<InspectionOptions> = {}) => {
    const inspection = {
      hub: hubOf(world.hub.admin),
      target: peer(world.target.admin),
      name: { namespace: world.namespace, name: 'ci' },
      ...more,
    };
    const links = toLinks(await inspect(inspection), world.clock.now());
    return Object.fromEntries(links.map((link) => [link.name, link.verdict === 'unchecked' ? link.message : link.verdict]));
  };

  it('confirms each link except the Cluster, which is not probed in this test', async () => {
    await issueToken();
    const verdicts = { permission: 'ok', cluster: 'failed', 'service account': 'ok', token: 'ok', secret: 'ok' };
    expect(await chain()).toEqual(verdicts);
  });

  it('reports a withdrawn permission', async () => {
    await issueToken();
    await world.forbid();
    expect(await chain()).toMatchObject({ permission: 'failed' });
  });

  it('does not check the service account without --target-context', async () => {
    await issueToken();
    expect(await chain({ target: undefined })).toMatchObject({ 'service account': 'not checked (needs --target-context)', token: 'ok' });
  });

  it('does not send the token to another cluster', async () => {
    await issueToken();
    const other = world.hub.admin;
    const reviews = jest.spyOn(other, 'createReview');
    const needs = `not checked (needs a --target-context that refers to Cluster ${world.cluster})`;
    expect(await chain({ target: peer(other) })).toMatchObject({ 'service account': needs, token: 'ok' });
    expect(reviews.mock.calls.map(([resource]) => resource.kind)).not.toContain('TokenReview');
    reviews.mockRestore();
  });

  it('sends the token to a registered address after the service account was re-created', async () => {
    await issueToken();
    const { namespace, name: account } = (await world.get()).spec.serviceAccount;
    await world.target.admin.delete(ServiceAccounts, { namespace, name: account });
    await world.target.admin.create(ServiceAccounts, { metadata: { namespace, name: account } });
    expect(await chain()).toMatchObject({ 'service account': 'failed', token: 'failed' });
  });

  it('names the context of a target that does not respond', async () => {
    await issueToken();
    const target = world.hub.client('admintoken');
    jest.spyOn(target, 'get').mockRejectedValue(new TransportError('ECONNREFUSED', 'connect ECONNREFUSED'));
    await expect(chain({ target: peer(target) })).rejects.toThrow(/^cannot connect to the target cluster at .* context "eu"$/);
    await target.transport.close();
  });

  it('names the permissions that the user lacks', async () => {
    await issueToken();
    const rules = [{ apiGroups: ['tokens.purser.dev'], resources: ['managedtokens'], verbs: ['get'] }];
    const subjects = [{ kind: 'User', name: 'bob', apiGroup: RBAC }];
    const metadata = { namespace: world.namespace, name: 'viewer' };
    await world.hub.admin.create(Roles, { metadata, rules });
    await world.hub.admin.create(RoleBindings, { metadata, roleRef: { apiGroup: RBAC, kind: 'Role', name: 'viewer' }, subjects });
    const bob = world.hub.client('bobtoken');
    const links = await chain({ hub: hubOf(bob), target: undefined });
    await bob.transport.close();
    expect(links).toEqual({
      permission: 'not checked (needs permission to create subjectaccessreviews.authorization.k8s.io)',
      cluster: `not checked (needs permission to get clusters.registry.purser.dev named ${world.cluster})`,
      'service account': 'not checked (needs --target-context)',
      token: `not checked (needs permission to get secrets in namespace ${world.namespace})`,
      secret: `not checked (needs permission to get secrets in namespace ${world.namespace})`,
    });
  });
});
