// Failures of targets and of the hub, one at a time. In every case, the old credential stays in use while it is valid, the condition names
// the cause and remedy, and nothing is repeated faster than the backoff.

import { afterAll, afterEach, beforeAll, describe, expect, it } from '@jest/globals';
import { Secrets } from '../../src/api/resources.ts';
import { errorStatus } from '../targets/wire-target.ts';
import { base64, CREDENTIALS } from '../tokens/token-world.ts';
import { CredentialWorld, failingHub, textOf } from './credential-world.ts';
import { forbid } from './scripted-cluster.ts';

const MINUTE_MS = 60_000;
const HOUR_MS = 60 * MINUTE_MS;
let world: CredentialWorld;

beforeAll(async () => {
  world = await CredentialWorld.start();
});
afterEach(async () => {
  expect(await world.leaks()).toEqual([]);
  expect(shortestGapMs()).toBeGreaterThanOrEqual(10_000);
  await world.end();
});
afterAll(() => world.close());

const tokenRequests = () => world.target.requests.filter(({ name }) => name === 'POST token');

/** Returns the shortest time between two token requests of one process. */
function shortestGapMs(): number {
  const times = tokenRequests().map(({ at }) => at);
  return Math.min(Infinity, ...times.slice(1).map((at, index) => at - (times[index] ?? 0)));
}

/** Registers a cluster and waits for its first renewed token. */
async function beginRenewed(lifetime = '1h'): Promise<string> {
  await world.begin({ lifetime });
  await world.run();
  const token = await world.nextToken();
  await world.wait(2 * MINUTE_MS, 5_000);
  return token;
}

const renewedName = () => ({ namespace: CREDENTIALS, name: `${world.name}-renewed` });

describe('renewal with a failing target', () => {
  it('keeps the supplied token in use while the target forbids token requests, and reports the cause', async () => {
    await world.begin();
    world.target.intercept = (name, reply) => name === 'POST token' && forbid(reply);
    await world.run();
    const message = await world.shows('False CredentialRenewalForbidden');
    expect(message).toContain('Apply deploy/target/access.yaml');
    await world.shows('True ClusterReady', 'Ready');
    await world.wait(30 * MINUTE_MS, 10_000);
    expect(tokenRequests().length).toBeLessThanOrEqual(9);
    expect(await world.renewed()).toBeUndefined();
    expect(await world.events()).toContain('Warning CredentialRenewalForbidden');
    world.target.intercept = () => false;
    await world.wait(11 * MINUTE_MS, 10_000);
    await world.nextToken();
    await world.shows('True CredentialValid');
  });

  it.each([
    ['a JWT of another service account', { username: 'system:serviceaccount:kube-system:admin' }],
    ['an opaque token for another service account', { username: 'system:serviceaccount:kube-system:admin', isOpaque: true }],
    ['a JWT that the target does not accept', { claims: { jti: 'unknown' } }],
  ])('discards %s', async (_, changes) => {
    await world.begin();
    const registered = textOf(await world.hub.admin.get(Secrets, { namespace: CREDENTIALS, name: world.name }));
    world.target.changes = changes;
    if ('claims' in changes) world.target.intercept = (name, reply) => isProof(name) && rejectCredential(reply);
    await world.run({ isProbing: !('claims' in changes) });
    await world.until(() => tokenRequests().length >= 3);
    expect([await world.renewed(), world.target.accepts(registered)]).toEqual([undefined, true]);
    if (!('claims' in changes)) await world.shows('False CredentialRenewalUntrusted');
  });

  it('renews after an outage that is shorter than half of the lifetime', async () => {
    const before = await beginRenewed();
    await world.wait((await world.renewAt()) - world.clock.now() - 1_000, 30_000);
    world.target.intercept = (_, reply) => {
      reply.reset();
      return true;
    };
    await world.wait(25 * MINUTE_MS, 5_000);
    expect(await world.fresh()).toMatch(/^False CredentialRenewalFailed: .*the credential in use expires at/);
    world.target.intercept = () => false;
    await world.until(async () => (await world.renewedToken()) !== before, 5 * MINUTE_MS);
    expect(world.target.accepts(await world.renewedToken())).toBe(true);
    await world.shows('True ClusterReady', 'Ready');
  });

  it('recovers with the registered token after the anchor of the renewed token was deleted', async () => {
    const before = await beginRenewed();
    world.target.anchors.clear();
    const after = await world.nextToken(before);
    expect(world.target.accepts(after)).toBe(true);
    await world.shows('True ClusterReady', 'Ready');
    await world.shows('True CredentialValid');
  });

  it('refuses a Secret with the name of the anchor that Purser did not create', async () => {
    await world.begin();
    const foreign = { metadata: { namespace: 'purser-system', name: 'taken', uid: 'u', resourceVersion: '1' } };
    world.target.intercept = (name, reply) => {
      if (name === 'POST secrets') reply.json(409, errorStatus(409, 'exists', { reason: 'AlreadyExists' }));
      else if (name === 'GET secrets') reply.json(200, foreign);
      return name.endsWith(' secrets');
    };
    await world.run();
    const message = await world.shows('False CredentialRenewalFailed');
    expect(message).toContain('so Purser does not use it');
    expect(await world.renewed()).toBeUndefined();
  });
});

describe('renewal with a changed hub', () => {
  it.each([507, 500])('keeps the token in use while the hub responds to writes with %i, and reuses the anchor', async (code) => {
    let isFailing = true;
    await world.begin();
    await world.run({ hub: failingHub(world, code, () => isFailing) });
    const message = await world.shows('False CredentialNotStored');
    expect(message).toContain('no space left');
    await world.shows('True ClusterReady', 'Ready');
    expect(world.target.anchors.size).toBe(1);
    isFailing = false;
    expect(world.target.accepts(await world.nextToken())).toBe(true);
    expect(world.target.anchors.size).toBe(1);
    await world.shows('True CredentialValid');
  });

  it('restores the Secret with the renewed token after it was deleted, without another token', async () => {
    const token = await beginRenewed();
    await world.hub.admin.delete(Secrets, renewedName());
    expect(await world.nextToken()).toBe(token);
    expect(tokenRequests()).toHaveLength(1);
  });

  it.each([
    ['edited', { data: { token: base64('another-token') } }],
    ['given another digest', { metadata: { annotations: { 'registry.purser.dev/token-digest': 'sha256:0' } } }],
  ])('restores the Secret with the renewed token after it was %s', async (_, patch) => {
    const token = await beginRenewed();
    await world.hub.admin.patch(Secrets, renewedName(), patch);
    await world.until(async () => {
      const secret = await world.renewed();
      return textOf(secret) === token && secret?.metadata.annotations?.['registry.purser.dev/token-digest'] !== 'sha256:0';
    });
    expect(tokenRequests()).toHaveLength(1);
    await world.shows('True ClusterReady', 'Ready');
  });

  it('does not overwrite a Secret that Purser did not create', async () => {
    await world.begin();
    const metadata = renewedName();
    await world.hub.admin.create(Secrets, { metadata, type: 'Opaque', data: { mine: base64('yes') } });
    await world.run();
    const message = await world.shows('False CredentialNotStored');
    expect(message).toContain('exists without the label registry.purser.dev/renewed=true');
    expect((await world.renewed())?.data).toEqual({ mine: base64('yes') });
  });

  it('continues with the registered token, and names the remedy, if another tool takes over the Secret with the renewed token', async () => {
    await beginRenewed('168h');
    const metadata = { labels: { 'registry.purser.dev/renewed': null }, annotations: null, ownerReferences: null };
    await world.hub.admin.patch(Secrets, renewedName(), { metadata, data: null });
    await world.hub.admin.patch(Secrets, renewedName(), { data: { mine: base64('yes') } });
    expect(await world.shows('False CredentialNotStored')).toContain('label registry.purser.dev/renewed=true. Delete the Secret');
    await world.wait(5 * MINUTE_MS, 5_000);
    expect([(await world.renewed())?.data, tokenRequests().length]).toEqual([{ mine: base64('yes') }, 1]);
    await world.shows('True ClusterReady', 'Ready');
    await world.hub.admin.delete(Secrets, renewedName());
    await world.wait(11 * MINUTE_MS, 10_000);
    expect(world.target.accepts(await world.renewedToken())).toBe(true);
    await world.shows('True CredentialValid');
  });

  it('renews once more after the registered Secret was re-created', async () => {
    const before = await beginRenewed();
    const registered = await world.hub.admin.get(Secrets, { namespace: CREDENTIALS, name: world.name });
    await world.hub.admin.delete(Secrets, { namespace: CREDENTIALS, name: world.name });
    await world.register(textOf(registered));
    const after = await world.nextToken(before);
    expect([world.target.accepts(after), tokenRequests().length]).toEqual([true, 2]);
    await world.shows('True ClusterReady', 'Ready');
  });

  it('does not renew after an edit of the registered Secret that keeps the token', async () => {
    await beginRenewed();
    await world.hub.admin.patch(Secrets, { namespace: CREDENTIALS, name: world.name }, { metadata: { labels: { app: 'gitops' } } });
    await world.wait(MINUTE_MS);
    expect(tokenRequests()).toHaveLength(1);
  });

  it('renews immediately if another tool reverts the registered Secret to a valid token', async () => {
    const former = await world.begin({ lifetime: '1h' });
    await world.run();
    const first = await world.nextToken();
    await world.wait(MINUTE_MS);
    await world.register(world.target.issueToken());
    const second = await world.nextToken(first);
    await world.wait(MINUTE_MS);
    await world.register(former);
    const third = await world.nextToken(second);
    await world.wait(2 * MINUTE_MS, 5_000);
    expect([first, second, third].map((token) => world.target.accepts(token))).toEqual([false, false, true]);
    expect(tokenRequests()).toHaveLength(3);
    await world.shows('True ClusterReady', 'Ready');
  });

  it('renews a token in an immutable registered Secret, which stays unchanged', async () => {
    await world.begin({ lifetime: '1h' });
    const name = { namespace: CREDENTIALS, name: world.name };
    const { data, metadata } = await world.hub.admin.patch(Secrets, name, { immutable: true });
    await world.run();
    await world.nextToken();
    expect(world.target.accepts(await world.renewal())).toBe(true);
    const after = await world.hub.admin.get(Secrets, name);
    expect([after.data, after.metadata.resourceVersion]).toEqual([data, metadata.resourceVersion]);
  });

  it('reports a deleted registered Secret, sends nothing to the cluster, and renews again after the Secret was created', async () => {
    const before = await beginRenewed();
    const registered = await world.hub.admin.get(Secrets, { namespace: CREDENTIALS, name: world.name });
    await world.hub.admin.delete(Secrets, { namespace: CREDENTIALS, name: world.name });
    expect(await world.shows('False CredentialNotForCluster', 'Authorized')).toContain(`Secret ${CREDENTIALS}/${world.name} was not found`);
    const requests = world.target.requests.length;
    await world.wait(30 * MINUTE_MS, 10_000);
    expect(world.target.requests).toHaveLength(requests);
    await world.register(textOf(registered));
    expect(world.target.accepts(await world.nextToken(before))).toBe(true);
    await world.shows('True ClusterReady', 'Ready');
  });
});

describe('renewal with a target that fails for hours', () => {
  it('names the command that repairs the credential after an outage that is longer than half of the lifetime', async () => {
    await beginRenewed();
    await world.register(world.target.issueToken(600));
    await world.wait(MINUTE_MS);
    world.target.intercept = (_, reply) => {
      reply.reset();
      return true;
    };
    await world.wait(65 * MINUTE_MS, 20_000);
    const message = await world.shows('False CredentialExpired');
    expect(message).toContain(`run purser cluster renew ${world.name} --context CONTEXT`);
    world.target.intercept = () => false;
    await world.register(world.target.issueToken(600));
    await world.shows('True CredentialValid');
    await world.shows('True ClusterReady', 'Ready');
  });

  it('backs off after the signing key was rotated or the service account re-created, and recovers with a new token', async () => {
    const before = await beginRenewed();
    world.target.invalidate();
    await world.shows('False CredentialRejected', 'Authorized');
    world.target.requests.length = 0;
    await world.wait(2 * HOUR_MS, 30_000);
    expect(tokenRequests()).toEqual([]);
    await world.register(world.target.issueToken(600));
    expect(world.target.accepts(await world.nextToken(before))).toBe(true);
    await world.shows('True ClusterReady', 'Ready');
  });

  it('recovers with a registered token that outlives the renewed one after a long outage', async () => {
    await beginRenewed();
    world.target.intercept = (_, reply) => {
      reply.reset();
      return true;
    };
    await world.wait(65 * MINUTE_MS, 20_000);
    world.target.intercept = () => false;
    await world.shows('True CredentialValid', 'CredentialFresh', 15 * MINUTE_MS);
    await world.shows('True ClusterReady', 'Ready');
    expect(world.target.accepts(await world.renewedToken())).toBe(true);
  });

  it.each([
    ['ahead', HOUR_MS],
    ['behind', -HOUR_MS],
  ])('renews tokens of a target whose clock is an hour %s, on time', async (_, skewMs) => {
    await world.begin({ lifetime: '30m' });
    world.target.skewMs = skewMs;
    await world.register(world.target.issueToken(600));
    await world.run();
    let token = await world.nextToken();
    for (let round = 0; round < 3; round++) {
      const next = await world.renewal();
      expect([next === token, world.target.accepts(next)]).toEqual([false, true]);
      token = next;
    }
    await world.shows('True CredentialValid');
  });

  it('renews without an anchor if the target forbids anchors', async () => {
    await world.begin({ lifetime: '1h' });
    world.target.intercept = (name, reply) => name.endsWith(' secrets') && forbid(reply);
    await world.run();
    const first = await world.nextToken();
    const second = await world.renewal();
    await world.wait(2 * MINUTE_MS, 5_000);
    expect([world.target.anchors.size, world.target.accepts(first), world.target.accepts(second)]).toEqual([0, true, true]);
    expect(await world.fresh()).toMatch(/^True CredentialValid/);
  });
});

describe('renewal while another tool changes the Secrets for hours', () => {
  it('restores the Secret with the renewed token with growing delays if another tool repeatedly deletes it', async () => {
    const token = await beginRenewed('168h');
    let restores = 0;
    for (const end = world.clock.now() + 20 * MINUTE_MS; world.clock.now() < end; ) {
      if ((await world.renewed()) !== undefined) {
        await world.hub.admin.delete(Secrets, renewedName());
        restores += 1;
      }
      await world.wait(5_000, 5_000);
    }
    expect(restores).toBeLessThanOrEqual(8);
    expect(tokenRequests()).toHaveLength(1);
    await world.wait(11 * MINUTE_MS, 10_000);
    expect(await world.renewedToken()).toBe(token);
  });

  it('restores the later token after the Secret was restored from a backup', async () => {
    await beginRenewed();
    const backup = await world.renewed();
    const later = await world.renewal();
    await world.wait(2 * MINUTE_MS, 5_000);
    const { resourceVersion: _, uid: __, managedFields: ___, ...metadata } = backup?.metadata ?? { namespace: '', name: '' };
    await world.hub.admin.update(Secrets, { metadata, type: 'Opaque', data: backup?.data ?? {} });
    await world.until(async () => (await world.renewedToken()) === later);
    await world.shows('True ClusterReady', 'Ready');
  });

  it('keeps the token in use, and names the remedy, if the Secret was made immutable', async () => {
    const token = await beginRenewed();
    await world.hub.admin.patch(Secrets, renewedName(), { immutable: true });
    await world.wait((await world.renewAt()) - world.clock.now(), 30_000);
    const message = await world.shows('False CredentialNotStored');
    expect(message).toMatch(/immutable/);
    expect([await world.renewedToken(), world.target.accepts(token)]).toEqual([token, true]);
    await world.hub.admin.delete(Secrets, renewedName());
    await world.wait(11 * MINUTE_MS, 10_000);
    await world.shows('True CredentialValid');
  });

  it('keeps the renewed token in use if another tool reverts the registered Secret to an expired token', async () => {
    await world.begin({ lifetime: '4h' });
    const expired = world.target.issueToken(600);
    await world.register(expired);
    await world.run();
    const first = await world.nextToken();
    await world.wait(11 * MINUTE_MS, 10_000);
    await world.register(world.target.issueToken());
    const second = await world.nextToken(first);
    await world.register(expired);
    await world.wait(3 * MINUTE_MS, 5_000);
    expect([await world.renewedToken(), world.target.probedWith, world.target.accepts(second)]).toEqual([second, second, true]);
    await world.shows('True CredentialValid');
    await world.shows('True ClusterReady', 'Ready');
    const third = await world.renewal();
    await world.wait(2 * MINUTE_MS, 5_000);
    expect([tokenRequests().length, world.target.accepts(third), world.target.accepts(second)]).toEqual([3, true, false]);
  });
});

describe('two leaders', () => {
  it('ends with one valid token whose anchor exists, and loses no access', async () => {
    await world.begin({ lifetime: '1h' });
    const replicas = [await world.run({ isProbing: false }), await world.run({ isProbing: false })];
    await world.nextToken();
    for (let round = 0; round < 3; round++) {
      await world.renewal();
      await world.wait(3 * MINUTE_MS, 5_000);
      expect(world.target.accepts(await world.renewedToken())).toBe(true);
    }
    expect(replicas.flatMap(({ outcomes }) => outcomes).some(({ type }) => type === 'reconciled')).toBe(true);
    // Each leader may have requested a token; the gap between requests of two processes is not limited.
    world.target.requests.length = 0;
  });
});

function isProof(name: string): boolean {
  return name === 'POST selfsubjectreviews' && tokenRequests().length > 0;
}

function rejectCredential(reply: Parameters<typeof forbid>[0]): true {
  reply.json(401, { kind: 'Status', apiVersion: 'v1', status: 'Failure', code: 401, message: 'Unauthorized', reason: 'Unauthorized' });
  return true;
}
