// Somebody undoes what is written, again and again; or the target is down for long. Neither is answered at full speed.

import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it } from '@jest/globals';
import type { Secret } from '../../../src/api/resources.ts';
import { systemClock } from '../../../src/std/clock.ts';
import { base64 } from '../../issuers/registration.ts';
import { grant, startTarget } from '../../issuers/wire-target.ts';
import { startWireWorld, type WireWorld } from '../../kube/wire-world.ts';
import { aToken } from '../../support/builders.ts';
import { FakeClock } from '../../support/clock.ts';
import type { WireServer } from '../../support/wire-server.ts';
import { Looker } from './looker.ts';
import { ScriptedHub } from './scripted-hub.ts';

const MINUTE = 60_000;

let clock: FakeClock;
let hub: ScriptedHub;
let world: WireWorld;
let target: WireServer;
let looker: Looker;
let issued: number;
let isDown: boolean;

beforeAll(async () => {
  world = await startWireWorld((request, reply) => hub.handler(request, reply), systemClock as unknown as FakeClock);
  target = await startTarget((request, reply) => {
    if (isDown) return reply.reset();
    issued += 1;
    const headers = { date: new Date(clock.now()).toUTCString() };
    grant(request, reply, { now: clock.now(), headers, claims: { jti: `jti-${issued}` } });
  });
});
afterAll(async () => {
  await world.close();
  await target.close();
});
beforeEach(() => {
  clock = new FakeClock(Date.now());
  const token = aToken().with({ audiences: ['api'] });
  hub = new ScriptedHub(token.build());
  looker = new Looker({ clock, hub, client: world.client, server: target.url });
  issued = 0;
  isDown = false;
});
afterEach(() => looker.close());

const writes = () => hub.answered.filter((call) => /^(POST|PUT|DELETE) secrets/.test(call)).length;
const reviews = () => hub.answered.filter((call) => call.endsWith('subjectaccessreviews')).length;
const conditions = () => (hub.token.status?.conditions ?? []).map(({ type, status, reason }) => `${type}=${status}/${reason}`).join(' ');

/** Looks all the time, as if every change woke the ManagedToken at once. */
async function lookFor(ms: number, undo: () => void = () => {}): Promise<void> {
  for (let passed = 0; passed < ms; passed += 500) {
    undo();
    looker.sync();
    await looker.look();
    looker.sync();
    clock.advance(500);
  }
}

async function firstToken(): Promise<Secret> {
  await looker.look();
  looker.sync();
  clock.advance(10_000);
  hub.answered.length = 0;
  issued = 0;
  return hub.secrets.get('ci') as Secret;
}

const withData = (secret: Secret, data: Secret['data']): Secret => ({ ...secret, data: { ...secret.data, ...data } });

describe('what is written', () => {
  it.each([
    ['a webhook that changes a key', (secret: Secret) => withData(secret, { server: base64('https://elsewhere') })],
    ['a webhook that adds a key', (secret: Secret) => withData(secret, { extra: base64('x') })],
    ['a webhook that changes the token', (secret: Secret) => withData(secret, { token: base64('theirs') })],
  ])('is not written for ever against %s, and people are told', async (_, webhook) => {
    await firstToken();
    hub.webhook = webhook;
    hub.put(webhook(hub.secrets.get('ci') as Secret));
    await lookFor(5 * MINUTE);

    expect(conditions()).toMatch(/=(True|False)\/SecretWriteFailed/);
    expect(writes()).toBeGreaterThan(4);
    expect(writes()).toBeLessThanOrEqual(10);
    expect(issued).toBeLessThanOrEqual(10);
    hub.webhook = (secret) => secret;
    await lookFor(6 * MINUTE);
    expect(conditions()).toBe('Ready=True/Issued RotationFailing=False/Issued');
  });

  it.each([
    ['changes a key back', (secret: Secret) => withData(secret, { server: base64('https://elsewhere') })],
    ['puts another token there', (secret: Secret) => withData(secret, { token: base64('theirs') })],
  ])('is not written for ever against a controller that %s', async (_, undone) => {
    const theirs = undone(await firstToken());
    await lookFor(5 * MINUTE, () => hub.put(theirs));

    expect(conditions()).toMatch(/=(True|False)\/SecretWriteFailed/);
    expect(writes()).toBeLessThanOrEqual(10);
    await lookFor(6 * MINUTE);
    expect(conditions()).toBe('Ready=True/Issued RotationFailing=False/Issued');
  });

  it('is not renewed for ever against a controller that restores an old token', async () => {
    const old = await firstToken();
    clock.advance(49 * MINUTE);
    await lookFor(5 * MINUTE, () => hub.put(old));

    expect(conditions()).toBe('Ready=True/Issued RotationFailing=True/SecretWriteFailed');
    expect([issued <= 10, writes() <= 10]).toEqual([true, true]);
  });

  it('is not taken away for ever from a controller that restores an expired token', async () => {
    const old = await firstToken();
    isDown = true;
    clock.advance(70 * MINUTE);
    await lookFor(5 * MINUTE, () => hub.put(old));

    expect(writes()).toBeLessThanOrEqual(10);
  });

  it('is put right at once for every new spec, however many there are', async () => {
    await firstToken();
    for (let edit = 0; edit < 12; edit++) {
      const secret = { outputs: ['Token'] as const, labels: { edit: String(edit) } };
      hub.change((token) => ({ ...token, spec: { ...token.spec, secret } }));
      await lookFor(500);
      expect(hub.secrets.get('ci')?.metadata.labels?.['edit']).toBe(String(edit));
    }
    expect(issued).toBe(0);
  });
});

describe('a target that is down', () => {
  it('costs the hub no reviews while the circuit is open', async () => {
    await firstToken();
    isDown = true;
    clock.advance(49 * MINUTE);
    for (let looks = 0; looks < 30; looks++) await looker.look();

    expect(reviews()).toBe(5);
    expect(conditions()).toBe('Ready=True/Issued RotationFailing=True/CircuitOpen');
    isDown = false;
    clock.advance(5_000);
    await looker.look();
    expect([reviews(), issued, conditions()]).toEqual([6, 1, 'Ready=True/Issued RotationFailing=False/Issued']);
  });

  it('is not told about to somebody who may not have the token', async () => {
    isDown = true;
    for (let looks = 0; looks < 6; looks++) await looker.look();
    hub.isAllowed = false;
    looker.forgetPermissions();
    await looker.look();

    expect(conditions()).toBe('Ready=False/Forbidden');
  });
});
