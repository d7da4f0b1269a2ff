// `purser cluster renew` with an embedded hub, a running credential controller and a scripted target.

import { afterAll, afterEach, beforeAll, describe, expect, it } from '@jest/globals';
import { Secrets } from '../../../src/api/resources.ts';
import type { Peer } from '../../../src/cli/cluster/peer.ts';
import { type RenewAllOptions, renewAll, renewCredential } from '../../../src/cli/cluster/renew.ts';
import type { CommandHost } from '../../../src/cli/command.ts';
import type { KubeClient } from '../../../src/kube/client.ts';
import { statusError } from '../../../src/kubernetes/status.ts';
import { CredentialWorld } from '../../credentials/credential-world.ts';
import { CREDENTIALS } from '../../tokens/token-world.ts';

let world: CredentialWorld;
let printed = '';

beforeAll(async () => {
  world = await CredentialWorld.start();
});
afterEach(() => world.end());
afterAll(() => world.close());

/** Runs a command while simulated time passes. Returns the error; undefined without one. */
async function run(command: (hub: Peer, host: CommandHost) => Promise<void>): Promise<unknown> {
  printed = '';
  const print = (text: string) => void (printed += text);
  const host = { clock: world.clock, env: {}, print, warn: print, signal: new AbortController().signal };
  let isDone = false;
  const running = command({ role: 'hub', context: 'hub', client: world.hub.admin }, host)
    .catch((error: unknown) => error)
    .finally(() => {
      isDone = true;
    });
  await world.until(() => isDone);
  return await running;
}

const renew = (target?: Peer, name = world.name) => run((hub, host) => renewCredential({ name, hub, target, timeoutMs: 60_000 }, host));
const renewFleet = (findTarget: RenewAllOptions['findTarget']) =>
  run((hub, host) => renewAll({ hub, timeoutMs: 60_000, findTarget }, host));

/** Returns the target as an administrator sees it: Purser's service account, and a one-hour token. */
function administrator(server = world.url): Peer {
  const account = { metadata: { namespace: 'purser-system', name: 'purser', uid: 'account-uid' } };
  const api = {
    transport: { server },
    get: async () => account,
    createToken: async () => ({ status: { token: world.target.issueToken(3_600), expirationTimestamp: '2026-11-16T13:00:00Z' } }),
  };
  return { role: 'target cluster', context: 'target', client: api as unknown as KubeClient };
}

describe('renewCredential', () => {
  it('waits until Purser has renewed a valid credential, and prints the expiry', async () => {
    await world.begin();
    await world.run();
    const first = await world.nextToken();
    expect(await renew()).toBeUndefined();
    expect(await world.renewedToken()).not.toBe(first);
    expect(printed).toMatch(/^Purser renewed its credential for Cluster c\d+; it is valid until \d{4}-\d\d-\d\dT.*Z\.\n$/);
  });

  it('replaces a credential that the target rejects with a new token for its service account', async () => {
    await world.begin();
    await world.run();
    await world.nextToken();
    world.target.invalidate();
    expect(await renew(administrator())).toBeUndefined();
    expect(world.target.accepts(await world.renewedToken())).toBe(true);
    await world.shows('True ClusterReady', 'Ready');
  });

  it.each([
    { token: 'a.b.c', expirationTimestamp: '\u001b]0;owned\u0007' },
    { token: 'a.b.c' },
    { token: 'a\u001b[2J\nb', expirationTimestamp: '2026-11-16T13:00:00Z' },
  ])('rejects the status %j of a TokenRequest from the target cluster, and prints no part of the status', async (status) => {
    await world.begin();
    await world.run();
    await world.nextToken();
    const target = administrator();
    Object.assign(target.client, { createToken: async () => ({ status }) });
    expect(String(await renew(target))).toContain(
      'the target cluster issued no valid token. Check the --service-account-* flags of its API server',
    );
    expect(printed).toBe('');
  });

  it('refuses the context of another cluster, and writes no Secret', async () => {
    await world.begin();
    await world.run();
    await world.nextToken();
    const before = await world.hub.admin.get(Secrets, { namespace: CREDENTIALS, name: world.name });
    const other = administrator('https://elsewhere.example.com');
    Object.assign(other.client, { get: async () => ({ metadata: { uid: 'other' } }) });
    expect(String(await renew(other))).toMatch(/does not refer to Cluster .*Set --context/);
    expect(await world.hub.admin.get(Secrets, { namespace: CREDENTIALS, name: world.name })).toEqual(before);
  });

  it('exits with code 3 and reports the cause if Purser does not renew the credential in time', async () => {
    await world.begin();
    expect(await renew()).toMatchObject({
      code: 3,
      message: expect.stringMatching(/^Purser has not renewed .* yet\. Check that the pods of Purser on the hub are running$/),
    });
  });

  it('fails for a Cluster that does not exist, and for one with renewal Manual', async () => {
    await world.begin({ renewal: 'Manual' });
    expect(String(await renew())).toContain('Set spec.credential.renewal to Auto');
    expect(String(await renew(undefined, 'unknown'))).toContain(
      'Cluster unknown was not found on the hub. Check the name and the context of the hub',
    );
  });
});

describe('renewAll', () => {
  it('renews all credentials, with new tokens where a context refers to the cluster', async () => {
    await world.begin();
    await world.addCluster('manual', { renewal: 'Manual' }, 'manual');
    await world.run();
    await world.nextToken();
    world.target.invalidate();
    const asked: (readonly string[])[] = [];
    const result = await renewFleet(async (addresses) => {
      asked.push(addresses);
      return administrator();
    });
    expect([result, asked]).toEqual([undefined, [[world.url]]]);
    expect(world.target.accepts(await world.renewedToken())).toBe(true);
  });

  it('skips Clusters whose credential has no token: federation and client certificates', async () => {
    await world.begin();
    for (const key of ['serviceAccount', 'tls.crt']) {
      const name = key.toLowerCase();
      await world.hub.admin.create(Secrets, { metadata: { namespace: CREDENTIALS, name }, stringData: { [key]: 'x' } });
      await world.addCluster(name, {}, name);
    }
    await world.run();
    expect(await renewFleet(async () => undefined)).toBeUndefined();
    const lines = printed.split('\n').sort();
    expect(lines).toEqual([
      '',
      'Cluster serviceaccount uses federation or a client certificate, so Purser has no token to renew.',
      'Cluster tls.crt uses federation or a client certificate, so Purser has no token to renew.',
      expect.stringMatching(/^Purser renewed its credential for Cluster c\d+; /),
    ]);
  });

  it('renews the other credentials if a Secret cannot be read', async () => {
    await world.begin();
    await world.addCluster('denied', {}, 'denied');
    await world.run();
    const { admin } = world.hub;
    const get: KubeClient['get'] = async (resource, name, options) => {
      if (name.name === 'denied') throw statusError('Forbidden', 'User "a" cannot get resource "secrets"');
      return await admin.get(resource, name, options);
    };
    const client = new Proxy(admin, {
      get: (target, key) => {
        if (key === 'get') return get;
        const value: unknown = Reflect.get(target, key);
        return typeof value === 'function' ? (value.bind(target) as unknown) : value;
      },
    });
    const result = await run((hub, host) =>
      renewAll({ hub: { ...hub, client }, timeoutMs: 60_000, findTarget: async () => undefined }, host),
    );
    expect(result).toMatchObject({ message: 'credentials not renewed: 1. See the causes above' });
    expect(printed).toMatch(/^Cluster denied: the hub responded: User "a" cannot get/m);
    expect(printed).toMatch(/^Purser renewed its credential for Cluster c\d+; /m);
  });

  it('reports each credential that is not renewed, and exits with the code of the worst failure', async () => {
    await world.begin();
    expect(await renewFleet(async () => undefined)).toMatchObject({
      code: 3,
      message: 'credentials not renewed: 1. See the causes above',
    });
    expect(printed).toMatch(/^Cluster c\d+: Purser has not renewed/);
    await world.addCluster('other', {}, 'missing');
    expect(await renewFleet(async () => undefined)).toMatchObject({ code: 1 });
    expect(printed).toMatch(
      /^Cluster other: Secret \S+\/missing was not found on the hub\. To create it, run purser cluster add other --context CONTEXT$/m,
    );
  });
});
