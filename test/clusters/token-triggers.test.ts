import { afterAll, afterEach, beforeAll, beforeEach, expect, it } from '@jest/globals';
import { Clusters } from '../../src/api/resources.ts';
import { type RunningController, TokenWorld } from '../tokens/token-world.ts';

/** Time within which the controller detects that a cluster has recovered, in milliseconds. */
const LONG_MS = 60_000;
let world: TokenWorld;

beforeAll(async () => {
  world = await TokenWorld.start();
});

beforeEach(() => world.begin());

afterEach(() => world.end());

afterAll(() => world.close());

/** Returns the time of the ManagedToken's next retry. */
function retryAt({ outcomes }: RunningController): number {
  const last = outcomes.at(-1);
  return last?.type === 'failed' ? (last.retry.retryAt ?? 0) : 0;
}

async function readyStatus(): Promise<string | undefined> {
  const { status } = await world.hub.admin.get(Clusters, { name: world.cluster });
  return status?.conditions?.[0]?.status;
}

it('reconciles failed ManagedTokens when their cluster recovers, before their next retry', async () => {
  await world.target.stop();
  const running = await world.run({ isProbing: true });
  await world.create();
  await world.until(async () => (await world.condition('Ready')) === 'False ClusterUnreachable');
  await world.until(async () => retryAt(running) - world.clock.now() > LONG_MS);
  expect(await readyStatus()).toBe('False');
  const due = retryAt(running);
  await world.target.restart();
  await world.until(async () => (await world.condition('Ready')) === 'True Issued', { waitsForRequests: true });
  expect(await readyStatus()).toBe('True');
  expect(world.clock.now()).toBeLessThan(due);
});

it('reconciles the ManagedTokens of a deleted Cluster', async () => {
  await world.run({ isProbing: true });
  await world.create();
  await world.until(async () => (await world.condition('Ready')) === 'True Issued');
  await world.hub.admin.delete(Clusters, { name: world.cluster });
  const removedAt = world.clock.now();
  await world.until(async () => (await world.condition('RotationFailing')) === 'True ClusterNotFound', { waitsForRequests: true });
  expect(world.clock.now() - removedAt).toBeLessThan(LONG_MS);
});
