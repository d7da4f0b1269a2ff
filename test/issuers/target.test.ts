import { afterEach, beforeEach, expect, it } from '@jest/globals';
import { createTarget } from '../../src/issuers/create-target.ts';
import type { Target } from '../../src/issuers/target.ts';
import { systemClock } from '../../src/std/clock.ts';
import { eventually } from '../kube/eventually.ts';
import type { WireServer } from '../support/wire-server.ts';
import { registered, settings } from './registration.ts';
import { authority, startTarget } from './wire-target.ts';

/** More than there are connections for. */
const MANY = 40;
let server: WireServer;
let target: Target;

beforeEach(async () => {
  server = await startTarget(({ path }, reply) => (path === '/fast' ? reply.text(200, 'ok') : undefined));
  target = createTarget(registered({ servers: [server.url], ca: authority.certificate }), settings(systemClock));
});

afterEach(async () => {
  await target.close();
  await server.close();
});

it('F9: answers a probe, on one connection, while requests hold all others', async () => {
  const slow = Array.from({ length: MANY }, () => target.call((client, options) => client.getText('/slow', options)).catch(() => 'failed'));
  await eventually(() => expect(server.requests).toHaveLength(16));
  const prober = target.prober(5_000);
  for (let round = 0; round < 3; round += 1) expect(await prober.call((client, options) => client.getText('/fast', options))).toBe('ok');
  expect(server.openConnections).toBe(17);
  await target.close();
  expect(new Set(await Promise.all(slow))).toEqual(new Set(['failed']));
  await eventually(() => expect(server.openConnections).toBe(0));
});
