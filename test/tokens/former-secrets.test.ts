// Secrets with former names: a tenant can create any number of Secrets that a ManagedToken owns.

import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it } from '@jest/globals';
import type { Secret } from '../../src/api/resources.ts';
import { ScriptedWorld } from './scripted-world.ts';
import type { TestReconciler } from './test-reconciler.ts';

const MANY = 40;

let world: ScriptedWorld;
let reconciler: TestReconciler;
/** The Secret with the token that Purser issued. */
let secret: Secret;

beforeAll(async () => {
  world = await ScriptedWorld.start();
});
beforeEach(async () => {
  world.reset();
  reconciler = world.reconciler();
  await reconciler.reconcile();
  reconciler.sync();
  await reconciler.reconcile();
  secret = world.hub.secrets.get('ci') as Secret;
});
afterEach(() => reconciler.close());
afterAll(() => world.close());

/** Creates copies of the Secret under other names. */
function copy(data: Secret['data']): void {
  for (let index = 0; index < MANY; index++) {
    const { resourceVersion: _, ...metadata } = secret.metadata;
    world.hub.put({ ...secret, metadata: { ...metadata, name: `copy-${index}`, uid: `copy-${index}` }, ...(data && { data }) });
  }
}

async function reconcile(): Promise<number> {
  reconciler.sync();
  await reconciler.reconcile();
  return world.hub.secrets.size;
}

describe('reconcileToken with 40 Secrets with former names', () => {
  it('deletes at most 16 Secrets in each run', async () => {
    copy(secret.data);
    expect([await reconcile(), await reconcile(), await reconcile()]).toEqual([25, 9, 1]);
    expect(world.hub.secrets.has('ci')).toBe(true);
  });

  it('removes the token from the Secret that held the token last, after a change to the spec that also suspends rotation', async () => {
    copy({});
    world.hub.secrets.delete('ci');
    world.hub.put(secret);
    world.hub.change((token) => ({
      ...token,
      spec: {
        ...token.spec,
        serviceAccount: { namespace: 'deploy', name: 'viewer' },
        secret: { ...token.spec.secret, name: 'other' },
        rotation: { ...token.spec.rotation, suspend: true },
      },
    }));
    await reconcile();

    expect(world.hub.secrets.get('ci')?.data?.['token']).toBeUndefined();
  });
});

describe('reconcileToken with a former Secret that has the name of the ManagedToken', () => {
  it('deletes the Secret although the status names another Secret', async () => {
    expect(world.hub.token.metadata.name).toBe('ci');
    world.hub.change((token) => ({ ...token, spec: { ...token.spec, secret: { ...token.spec.secret, name: 'other' } } }));
    await reconcile();
    await reconcile();
    expect([...world.hub.secrets.keys()]).toEqual(['other']);
    expect(world.hub.token.status?.secretName).toBe('other');
    const { resourceVersion: _, ...metadata } = secret.metadata;
    world.hub.put({ ...secret, metadata: { ...metadata, uid: 'again' } });
    await reconcile();

    expect([...world.hub.secrets.keys()]).toEqual(['other']);
  });
});
