// The watch often delivers Purser's own writes before the responses.

import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it } from '@jest/globals';
import type { Secret } from '../../src/api/resources.ts';
import type { FakeClock } from '../support/clock.ts';
import { base64 } from '../targets/registration.ts';
import { type Fault, failureStatus, type ScriptedHub } from './scripted-hub.ts';
import { ScriptedWorld } from './scripted-world.ts';
import type { TestReconciler } from './test-reconciler.ts';

let world: ScriptedWorld;
let clock: FakeClock;
let hub: ScriptedHub;
let reconciler: TestReconciler;

beforeAll(async () => {
  world = await ScriptedWorld.start();
});
afterAll(() => world.close());
beforeEach(() => {
  world.reset();
  ({ clock, hub } = world);
  reconciler = world.reconciler();
  reconciler.triggered.length = 0;
});
afterEach(() => reconciler.close());

function changeServerKey(): void {
  const secret = hub.secrets.get('ci') as Secret;
  hub.put({ ...secret, data: { ...secret.data, server: base64('https://elsewhere') } });
}

describe('tokenTriggers with a watch that is faster than responses', () => {
  it("triggers no reconcile for Purser's own write", async () => {
    hub.meanwhile = () => reconciler.sync();
    await reconciler.reconcile();
    expect(reconciler.triggered).toEqual([]);
    expect(hub.token.status?.conditions?.[0]).toMatchObject({ type: 'Ready', status: 'True' });
  });

  it('requests a reconcile within a second if another client changed the Secret before the response', async () => {
    hub.meanwhile = () => {
      hub.meanwhile = () => {};
      reconciler.sync();
      changeServerKey();
      reconciler.sync();
    };
    expect(await reconciler.reconcile()).toBe(clock.now() + 1_000);
    await reconciler.reconcile();
    expect(hub.secrets.get('ci')?.data?.['server']).toBe(base64(world.server));
    reconciler.sync();
    expect(await reconciler.reconcile()).toBeGreaterThanOrEqual(clock.now() + 1_000);
  });

  it('triggers a reconcile for a change to the Secret after a failed write', async () => {
    const serve: Fault = (request, reply) => hub.serve(request, reply);
    hub.faults.push(serve, (_, reply) => reply.json(500, failureStatus(500, 'InternalError')));
    await reconciler.reconcile();
    hub.put({ metadata: { namespace: 'team-a', name: 'ci', labels: { 'tokens.purser.dev/managed-by': 'purser' } }, type: 'Opaque' });
    reconciler.sync();
    expect(reconciler.triggered).toEqual(['team-a/ci']);
  });
});
