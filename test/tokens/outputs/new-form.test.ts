// A form that this file alone defines, and that hides the token in base64 with a prefix: everything else must follow from the registry.

import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it } from '@jest/globals';
import type { ManagedToken } from '../../../src/api/managed-token.gen.ts';
import type { Secret } from '../../../src/api/resources.ts';
import { type OutputForm, outputForms } from '../../../src/tokens/outputs/forms.ts';
import { ScriptedWorld } from '../scripted-world.ts';
import type { Looker } from '../test-reconciler.ts';

const LABEL = 'example.com/registry';
const dockerConfig: OutputForm = {
  keys: { registry: 'Address of the registry.', '.dockerconfigjson': 'Docker configuration with the token.' },
  labels: { [LABEL]: 'yes' },
  render: ({ server, account }, token) => {
    const auth = Buffer.from(`${account}:${token}`).toString('base64');
    return { registry: server, '.dockerconfigjson': JSON.stringify({ auths: { [server]: { auth } } }) };
  },
};

let world: ScriptedWorld;
let looker: Looker;

beforeAll(async () => {
  world = await ScriptedWorld.start();
});
beforeEach(async () => {
  outputForms.set('DockerConfig', dockerConfig);
  world.renew();
  write(['Token', 'DockerConfig']);
  looker = world.looker();
  await reconcile();
});
afterEach(async () => {
  outputForms.delete('DockerConfig');
  await looker.close();
});
afterAll(() => world.close());

function write(outputs: readonly string[]): void {
  world.hub.change((token) => ({
    ...token,
    spec: { ...token.spec, secret: { outputs: outputs as ManagedToken['spec']['secret']['outputs'] } },
  }));
}

async function reconcile(): Promise<void> {
  looker.sync();
  await looker.look();
  looker.sync();
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

describe('a registered output form that encodes the token', () => {
  it('is written with its keys and labels', () => {
    expect(Object.keys(secret().data ?? {}).sort()).toEqual(['.dockerconfigjson', 'ca.crt', 'namespace', 'registry', 'server', 'token']);
    expect(secret().metadata.labels).toHaveProperty([LABEL], 'yes');
    expect(dockerToken()).toBe(read('token'));
  });

  it('is not rewritten by further reconciles, nor after a restart', async () => {
    const before = secret();
    await reconcile();
    await looker.close();
    looker = world.looker();
    await reconcile();
    await reconcile();

    expect([secret(), world.issued]).toEqual([before, 1]);
  });

  it('is repaired without a new token when its text changes', async () => {
    const before = secret();
    const forged = Buffer.from('{"auths":{"https://evil.example.com":{}}}').toString('base64');
    world.hub.put({ ...before, data: { ...before.data, '.dockerconfigjson': forged } });
    await reconcile();

    expect([secret().data, world.issued]).toEqual([before.data, 1]);
  });

  it('loses the keys with the token, and no other key, when the token expires', async () => {
    world.isDown = true;
    world.clock.advance(2 * 3_600_000);
    await reconcile();

    expect(Object.keys(secret().data ?? {}).sort()).toEqual(['ca.crt', 'namespace', 'registry', 'server']);
  });

  it('leaves no key and no label behind when the spec drops it', async () => {
    write(['Token']);
    await reconcile();

    expect(Object.keys(secret().data ?? {}).sort()).toEqual(['ca.crt', 'namespace', 'server', 'token']);
    expect([secret().metadata.labels, world.issued]).toEqual([{ 'tokens.purser.dev/managed-by': 'purser' }, 1]);
  });
});
