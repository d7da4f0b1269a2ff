// ManagedTokens without spec.audiences: their tokens are for the target's API server.

import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it } from '@jest/globals';
import { Clusters } from '../../src/api/resources.ts';
import { parseTokenClaims } from '../../src/targets/policy/token-claims.ts';
import { AUDIENCE, TokenWorld } from './token-world.ts';

let world: TokenWorld;

beforeAll(async () => {
  world = await TokenWorld.start();
});
beforeEach(() => world.begin());
afterEach(() => world.end());
afterAll(() => world.close());

const OTHER = 'https://other.example.com';

/** Creates a ManagedToken without audiences. */
async function create(name = 'ci', secret: object = {}): Promise<void> {
  await world.create(name, { audiences: undefined, secret } as object);
}

/** Writes the audiences of the target's API server to the status of the Cluster. */
async function publish(apiAudiences: readonly string[]): Promise<void> {
  const cluster = await world.hub.admin.get(Clusters, { name: world.cluster });
  await world.hub.admin.updateStatus(Clusters, { ...cluster, status: { ...cluster.status, apiAudiences } });
}

async function audiences(name = 'ci'): Promise<readonly string[] | undefined> {
  return parseTokenClaims(await world.tokenText(name))?.audiences;
}

/** Returns the requests for tokens that the target received. */
function requests(): readonly string[] {
  return world.sent().target.filter((call) => call.endsWith('/token'));
}

describe('token controller and a ManagedToken without audiences', () => {
  it('issues a token for the audiences that the API server grants while the Cluster names none', async () => {
    await world.run();
    await create('ci', { outputs: ['Kubeconfig'] });
    await world.waitUntilReady();
    await world.waitForReconcile();

    expect([await audiences(), requests()]).toEqual([[AUDIENCE], ['POST serviceaccounts/deployer/token']]);
    const { annotations = {} } = (await world.secret())?.metadata ?? {};
    expect(JSON.parse(annotations['tokens.purser.dev/issued-for'] ?? '')).toMatchObject({ audiences: [AUDIENCE], isForAPI: true });
  });

  it('issues a token for the audiences in the status of the Cluster', async () => {
    await publish([AUDIENCE, OTHER]);
    await world.run();
    await create();
    await world.waitUntilReady();

    expect(await audiences()).toEqual([AUDIENCE, OTHER]);
  });

  it('reissues the token once after the audiences of the Cluster change, and no token whose spec names audiences', async () => {
    await world.run();
    await create();
    await world.create('named');
    await world.waitUntilReady();
    await world.waitUntilReady('named');
    const [before, named] = [await world.tokenText(), await world.tokenText('named')];
    await publish([AUDIENCE]);
    await world.pass(60_000, 10_000);
    expect(await world.tokenText()).toBe(before);

    await publish([AUDIENCE, OTHER]);
    await world.waitForNewToken(before);
    await world.pass(60_000, 10_000);
    await world.waitForReconcile();

    expect([await audiences(), await world.tokenText('named'), requests()]).toEqual([
      [AUDIENCE, OTHER],
      named,
      Array.from({ length: 3 }, () => 'POST serviceaccounts/deployer/token'),
    ]);
  });

  it('keeps the token and stays ready while the target does not respond after the audiences change', async () => {
    await world.run();
    await create();
    await world.waitUntilReady();
    const before = await world.tokenText();
    await world.target.stop();
    await publish([OTHER]);
    await world.until(async () => ((await world.condition('RotationFailing')) ?? '').startsWith('True'));

    expect([await world.condition('Ready'), await world.tokenText()]).toEqual(['True Issued', before]);
  });

  it('reissues the token after spec.audiences is removed', async () => {
    await world.run();
    await world.create('ci', { audiences: ['vault'] });
    await world.waitUntilReady();
    const before = await world.tokenText();
    await world.patch('ci', { spec: { audiences: null } });
    await world.waitForNewToken(before);

    expect(await audiences()).toEqual([AUDIENCE]);
  });

  it.each([
    ['that Purser does not allow', { allowedAudiences: ['vault'] }],
    ['that the façade accepts', { facadeAudiences: [AUDIENCE] }],
  ])('writes no token for audiences %s, whether the Cluster names them or not', async (_, limits) => {
    await world.run({ settings: { limits } });
    await create();
    await world.eventually(async () => expect(await world.condition('Ready')).toBe('False InvalidSpec'));
    expect([await world.secret(), requests().length]).toEqual([undefined, 1]);
    expect((await world.get()).status?.conditions?.[0]?.message).toBe(
      "The spec is invalid: spec.audiences is not set, and Purser does not allow the audiences of the cluster's API server. Set spec.audiences.",
    );

    await publish([AUDIENCE]);
    await world.waitForReconcile();
    await world.pass(60_000, 10_000);
    expect([await world.condition('Ready'), await world.secret(), requests().length]).toEqual(['False InvalidSpec', undefined, 1]);
  });
});

describe('token controller and labelsFromCluster', () => {
  const label = (labels: object) => world.hub.admin.patch(Clusters, { name: world.cluster }, { metadata: { labels } });
  const labels = async () => (await world.secret())?.metadata.labels;
  const OWN = { 'argocd.argoproj.io/secret-type': 'cluster', 'tokens.purser.dev/managed-by': 'purser' };

  it('rewrites the Secret without a new token after a label of the Cluster changes, and writes nothing while idle', async () => {
    await label({ env: 'staging', owner: 'x' });
    await world.run();
    await create('ci', { outputs: ['ArgoCD'], argocd: { labelsFromCluster: ['env', 'region'], project: 'platform' } });
    await world.waitUntilReady();
    expect(await labels()).toEqual({ ...OWN, env: 'staging' });
    const before = await world.tokenText();
    world.calls.clear();

    await label({ env: 'prod', region: 'eu' });
    await world.until(async () => (await labels())?.['region'] === 'eu');
    expect(await labels()).toEqual({ ...OWN, env: 'prod', region: 'eu' });
    await label({ env: null });
    await world.until(async () => (await labels())?.['env'] === undefined);
    await label({ owner: 'y' });
    await world.waitForReconcile();
    await world.pass(60_000, 10_000);

    expect([await labels(), await world.tokenText(), requests()]).toEqual([{ ...OWN, region: 'eu' }, before, []]);
    expect(world.sent().hub.filter((call) => call.startsWith('PUT secrets'))).toHaveLength(2);
  });
});
