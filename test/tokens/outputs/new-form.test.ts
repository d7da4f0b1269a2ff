// An output form that only this file defines, and that encodes the token in base64 after a prefix: everything else follows from the
// registry.

import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it } from '@jest/globals';
import type { ManagedToken } from '../../../src/api/managed-token.gen.ts';
import type { Secret } from '../../../src/api/resources.ts';
import { type OutputForm, outputForms } from '../../../src/tokens/outputs/outputs.ts';
import { ScriptedWorld } from '../scripted-world.ts';
import type { TestReconciler } from '../test-reconciler.ts';

const LABEL = 'example.com/registry';
const dockerConfig: OutputForm = {
  keys: { registry: 'Address of the registry.', '.dockerconfigjson': 'Docker configuration with the token.' },
  labels: { [LABEL]: 'yes' },
  render: ({ server, serviceAccount }, token) => {
    const auth = Buffer.from(`${serviceAccount}:${token}`).toString('base64');
    return { registry: server, '.dockerconfigjson': JSON.stringify({ auths: { [server]: { auth } } }) };
  },
};

let world: ScriptedWorld;
let reconciler: TestReconciler;

beforeAll(async () => {
  world = await ScriptedWorld.start();
});
beforeEach(async () => {
  outputForms.set('DockerConfig', dockerConfig);
  world.reset();
  write(['Token', 'DockerConfig']);
  reconciler = world.reconciler();
  await reconcile();
});
afterEach(async () => {
  outputForms.delete('DockerConfig');
  await reconciler.close();
});
afterAll(() => world.close());

function write(outputs: readonly string[]): void {
  world.hub.change((token) => ({
    ...token,
    spec: { ...token.spec, secret: { outputs: outputs as ManagedToken['spec']['secret']['outputs'] } },
  }));
}

async function reconcile(): Promise<void> {
  reconciler.sync();
  await reconciler.reconcile();
  reconciler.sync();
}

function secret(): Secret {
  const found = world.hub.secrets.get('ci');
  if (found === undefined) throw new Error('there is no Secret');
  return found;
}

function read(key: string): string {
  return Buffer.from(secret().data?.[key] ?? '', 'base64').toString();
}

/** Returns the token in the Docker configuration. */
function dockerToken(): string {
  const { auths } = JSON.parse(read('.dockerconfigjson')) as { auths: Record<string, { auth: string }> };
  const [{ auth } = { auth: '' }] = Object.values(auths);
  return Buffer.from(auth, 'base64').toString().replace('deployer:', '');
}

describe('token controller with an output form that encodes the token', () => {
  it('writes the keys and labels of the form', () => {
    expect(Object.keys(secret().data ?? {}).sort()).toEqual(['.dockerconfigjson', 'ca.crt', 'namespace', 'registry', 'server', 'token']);
    expect(secret().metadata.labels).toHaveProperty([LABEL], 'yes');
    expect(dockerToken()).toBe(read('token'));
  });

  it('does not rewrite the Secret in additional reconciles, nor after a restart', async () => {
    const before = secret();
    await reconcile();
    await reconciler.close();
    reconciler = world.reconciler();
    await reconcile();
    await reconcile();

    expect([secret(), world.issued]).toEqual([before, 1]);
  });

  it('repairs altered text of the form without a new token', async () => {
    const before = secret();
    const forged = Buffer.from('{"auths":{"https://evil.example.com":{}}}').toString('base64');
    world.hub.put({ ...before, data: { ...before.data, '.dockerconfigjson': forged } });
    await reconcile();

    expect([secret().data, world.issued]).toEqual([before.data, 1]);
  });

  it('removes only the keys that contain the token when the token expires', async () => {
    world.isDown = true;
    world.clock.advance(2 * 3_600_000);
    await reconcile();

    expect(Object.keys(secret().data ?? {}).sort()).toEqual(['ca.crt', 'namespace', 'registry', 'server']);
  });

  it('removes the keys and labels of a form that the spec drops', async () => {
    write(['Token']);
    await reconcile();

    expect(Object.keys(secret().data ?? {}).sort()).toEqual(['ca.crt', 'namespace', 'server', 'token']);
    expect([secret().metadata.labels, world.issued]).toEqual([{ 'tokens.purser.dev/managed-by': 'purser' }, 1]);
  });
});
