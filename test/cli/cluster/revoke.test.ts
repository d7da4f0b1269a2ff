// `purser cluster revoke` with an embedded hub, a running credential controller and a scripted target.

import { afterAll, afterEach, beforeAll, describe, expect, it } from '@jest/globals';
import { Label } from '../../../src/api/names.ts';
import { type Secret, Secrets, type ServiceAccount } from '../../../src/api/resources.ts';
import type { Peer } from '../../../src/cli/cluster/peer.ts';
import { type RevokeTokensOptions, revokeEarlierTokens } from '../../../src/cli/cluster/revoke.ts';
import { CommandError, type CommandHost } from '../../../src/cli/command.ts';
import type { KubeClient } from '../../../src/kube/client.ts';
import { toCredentialLabel } from '../../../src/targets/own-anchors.ts';
import { CredentialWorld, textOf } from '../../credentials/credential-world.ts';
import { CREDENTIALS } from '../../tokens/token-world.ts';

let world: CredentialWorld;
let printed: string[];
let host: CommandHost;

beforeAll(async () => {
  world = await CredentialWorld.start();
});
afterEach(() => world.end());
afterAll(() => world.close());

/** Runs the command while simulated time passes. Returns the error; undefined without one. */
async function run(more: Partial<RevokeTokensOptions> = {}): Promise<unknown> {
  printed = [];
  const print = (text: string) => void printed.push(text);
  host = { clock: world.clock, env: {}, print, warn: print, signal: new AbortController().signal };
  let isDone = false;
  const revocation = {
    name: world.name,
    hub: { role: 'hub', context: 'hub', client: world.hub.admin } as const,
    target: undefined,
    timeoutMs: 60_000,
    ...more,
  };
  const running = revokeEarlierTokens(revocation, host)
    .catch((error: unknown) => error)
    .finally(() => {
      isDone = true;
    });
  await world.until(() => isDone);
  return await running;
}

/** The API of the target for an administrator: one service account. */
class Administrator {
  readonly requests: string[] = [];
  anchors: readonly Secret[] = [];
  /** Deadline of the last deletion; undefined for the default. */
  deletionTimeoutMs: number | undefined = Number.NaN;
  account: ServiceAccount | undefined = {
    metadata: { namespace: 'purser-system', name: 'purser', uid: 'account-uid', labels: { app: 'purser' } },
    automountServiceAccountToken: false,
  };

  peer(server = 'https://elsewhere.example.com'): Peer {
    const api = {
      transport: { server },
      get: async () => this.account,
      list: async () => ({ items: this.anchors }),
      delete: async (_: unknown, __: unknown, { uid, timeoutMs }: { readonly uid: string; readonly timeoutMs?: number }) => {
        this.deletionTimeoutMs = timeoutMs;
        this.requests.push(`delete ${uid}`);
        world.target.invalidate();
      },
      create: async (_: unknown, account: ServiceAccount) => {
        this.requests.push(`create ${JSON.stringify(account)}`);
      },
      createToken: async () => ({ status: { token: world.target.issueToken(3_600), expirationTimestamp: '2026-11-16T13:00:00Z' } }),
    };
    return { role: 'target cluster', context: 'target', client: api as unknown as KubeClient };
  }
}

describe('purser cluster revoke', () => {
  it('revokes earlier tokens, and prints the command that revokes the remaining tokens', async () => {
    await world.begin({ overlap: '24h' });
    await world.run();
    const token = await world.nextToken();
    expect(await run()).toBeUndefined();
    expect(world.target.accepts(token)).toBe(false);
    expect(printed.join('')).toContain(`purser cluster revoke ${world.name} --hub-context hub --context TARGET`);
  });

  it('re-creates the service account with its labels, and writes a new token into the registered Secret', async () => {
    const supplied = await world.begin();
    await world.run();
    await world.nextToken();
    const administrator = new Administrator();
    expect(await run({ target: administrator.peer() })).toBeUndefined();
    const metadata = { labels: { app: 'purser' }, namespace: 'purser-system', name: 'purser' };
    expect(administrator.requests).toEqual([
      'delete account-uid',
      `create ${JSON.stringify({ automountServiceAccountToken: false, metadata })}`,
    ]);
    const registered = textOf(await world.hub.admin.get(Secrets, { namespace: CREDENTIALS, name: world.name }));
    expect([world.target.accepts(supplied), world.target.accepts(registered)]).toEqual([false, true]);
    await world.shows('True ClusterReady', 'Ready');
    expect(world.target.accepts(await world.renewedToken())).toBe(true);
    expect(printed.join('')).not.toContain('--context');
  });

  it('deletes the service account within the default deadline if it does not wait for the result', async () => {
    await world.begin();
    await world.run();
    await world.nextToken();
    const administrator = new Administrator();
    await run({ target: administrator.peer(), timeoutMs: 0 });
    expect(administrator.deletionTimeoutMs).toBeUndefined();
  });

  it('warns about other registrations with the same service account, and names the remedy', async () => {
    await world.begin();
    await world.run();
    await world.nextToken();
    const { metadata } = await world.hub.admin.get(Secrets, { namespace: CREDENTIALS, name: world.name });
    const administrator = new Administrator();
    const anchorOf = (label: string) => ({ metadata: { namespace: 'purser-system', name: label, labels: { [Label.credential]: label } } });
    administrator.anchors = [anchorOf(toCredentialLabel(metadata.uid))];
    await run({ target: administrator.peer() });
    expect(printed.join('')).not.toContain('warning');
    administrator.anchors = [...administrator.anchors, anchorOf('other')];
    await run({ target: administrator.peer() });
    expect(printed.join('')).toContain('warning: another registration probably uses service account purser-system/purser');
    expect(printed.join('')).toContain('purser cluster renew --hub-context hub --context target NAME');
  });

  it('continues after an interruption if the context has a registered address', async () => {
    await world.begin();
    await world.run();
    await world.nextToken();
    const administrator = new Administrator();
    administrator.account = { ...administrator.account, metadata: { namespace: 'purser-system', name: 'purser' } };
    expect(await run({ target: administrator.peer(world.url) })).toBeUndefined();
  });

  it('refuses the context of another cluster', async () => {
    await world.begin();
    await world.run();
    await world.nextToken();
    const administrator = new Administrator();
    administrator.account = { ...administrator.account, metadata: { namespace: 'purser-system', name: 'purser' } };
    expect(String(await run({ target: administrator.peer() }))).toMatch(/does not refer to Cluster .*Set --context/);
    expect(administrator.requests).toEqual([]);
  });

  it('fails for a Cluster that does not exist, and for one with renewal Manual', async () => {
    await world.begin({ renewal: 'Manual' });
    expect(String(await run())).toContain('Set spec.credential.renewal to Auto');
    expect(String(await run({ name: 'unknown' }))).toContain('Cluster unknown was not found');
  });

  it('exits with code 3 and reports the cause if Purser does not revoke the tokens in time', async () => {
    await world.begin();
    const result = await run();
    expect(result).toBeInstanceOf(CommandError);
    expect(result).toMatchObject({ code: 3, message: expect.stringContaining('Check that the pods of Purser on the hub are running') });
  });
});
