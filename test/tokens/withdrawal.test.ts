import { afterAll, beforeAll, beforeEach, describe, expect, it } from '@jest/globals';
import type { Secret } from '../../src/api/resources.ts';
import type { Looker } from './looker.ts';
import { ScriptedWorld } from './scripted-world.ts';

let world: ScriptedWorld;
/** The Secret with the token that Purser issued. */
let secret: Secret;

beforeAll(async () => {
  world = await ScriptedWorld.start();
});
beforeEach(() => world.renew());
afterAll(() => world.close());

async function issue(looker: Looker): Promise<void> {
  await looker.look();
  looker.sync();
  await looker.look();
  secret = world.hub.secrets.get('ci') as Secret;
  expect(world.hub.token.status?.tokenDigest).toBeDefined();
}

/** Withdraws the permission, reconciles once, and returns the namespace in which the removal limits count the token. */
async function refuse(looker: Looker): Promise<string | undefined> {
  world.hub.isAllowed = false;
  looker.forgetPermissions();
  looker.sync();
  await looker.look();
  return looker.countedIn;
}

/** Restarts the controller, which then knows only the hub. */
async function restart(looker: Looker): Promise<Looker> {
  await looker.close();
  return world.looker();
}

describe('removal limits', () => {
  it('count a token that Purser issued', async () => {
    const looker = world.looker();
    await issue(looker);
    expect(await refuse(looker)).toBe('team-a');
    await looker.close();
  });

  it('count a token that Purser issued before a restart', async () => {
    const first = world.looker();
    await issue(first);
    const looker = await restart(first);
    expect(await refuse(looker)).toBe('team-a');
    await looker.close();
  });

  it('count a token that Purser issued although the write of the status was lost', async () => {
    const looker = world.looker();
    await issue(looker);
    world.hub.change(({ apiVersion, kind, metadata, spec }) => ({ apiVersion, kind, metadata, spec }));
    expect(await refuse(looker)).toBe('team-a');
    await looker.close();
  });

  it('ignore a Secret that a tenant forged with labels, annotations, owner and a token of the right claims', async () => {
    const first = world.looker();
    await issue(first);
    // Another ManagedToken of the same spec, for which nothing was issued.
    world.renew();
    world.hub.put(secret);
    const looker = await restart(first);
    expect([await refuse(looker), world.hub.secrets.size]).toEqual([undefined, 1]);
    expect(world.hub.token.status?.tokenDigest).toBeUndefined();
    await looker.close();
  });

  it('ignore a forged Secret in place of the token that Purser issued', async () => {
    const first = world.looker();
    await issue(first);
    world.hub.change((token) => ({ ...token, status: { ...token.status, tokenDigest: 'sha256:another' } }));
    const looker = await restart(first);
    expect(await refuse(looker)).toBeUndefined();
    await looker.close();
  });

  it('ignore a forged Secret also after Purser found its token to be as wanted', async () => {
    const first = world.looker();
    await issue(first);
    world.renew();
    world.hub.put(secret);
    const looker = await restart(first);
    looker.sync();
    await looker.look();
    expect([world.issued, world.hub.token.status?.tokenDigest]).toEqual([0, undefined]);
    expect(await refuse(looker)).toBeUndefined();
    await looker.close();
  });
});
