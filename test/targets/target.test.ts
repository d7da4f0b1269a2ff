import { afterEach, beforeEach, describe, expect, it } from '@jest/globals';
import type { KubeClient } from '../../src/kube/client.ts';
import { TransportError } from '../../src/kube/transport-error.ts';
import { serviceUnavailable, unauthorized } from '../../src/kubernetes/status.ts';
import { systemClock } from '../../src/std/clock.ts';
import { createTarget } from '../../src/targets/create-target.ts';
import { type ClientPurpose, Target, type TargetCall } from '../../src/targets/target.ts';
import { eventually } from '../kube/eventually.ts';
import { FakeClock } from '../support/clock.ts';
import type { WireServer } from '../support/wire-server.ts';
import { registered, settings } from './registration.ts';
import { authority, startTarget } from './wire-target.ts';

/** A number of requests that exceeds the connection limit. */
const MANY = 40;
let server: WireServer;
let target: Target;

describe('Target on the wire', () => {
  beforeEach(async () => {
    server = await startTarget(({ path }, reply) => (path === '/fast' ? reply.text(200, 'ok') : undefined));
    target = createTarget(registered({ servers: [server.url], ca: authority.certificate }), settings(systemClock));
  });

  afterEach(async () => {
    await target.close();
    await server.close();
  });

  it('probes over a separate connection while requests use all other connections', async () => {
    const slow = Array.from({ length: MANY }, () =>
      target.call((client, options) => client.getText('/slow', options)).catch(() => 'failed'),
    );
    await eventually(() => expect(server.requests).toHaveLength(16));
    const prober = target.createProber(5_000);
    for (let round = 0; round < 3; round += 1) expect(await prober.call((client, options) => client.getText('/fast', options))).toBe('ok');
    expect(server.openConnections).toBe(17);
    await target.close();
    expect(new Set(await Promise.all(slow))).toEqual(new Set(['failed']));
    await eventually(() => expect(server.openConnections).toBe(0));
  });
});

describe('Target', () => {
  const timeout: TargetCall<never> = () => Promise.reject(new TransportError('ETIMEDOUT', 'the server fell silent'));

  function createScriptedTarget(purposes: ClientPurpose[] = []): Target {
    const connect = (_: string, purpose: ClientPurpose) => {
      purposes.push(purpose);
      return {} as KubeClient;
    };
    return new Target({ clock: new FakeClock(0), servers: ['https://a', 'https://b'], connect, endpoints: () => ({ servers: [] }) });
  }

  async function failTimes(times: number, scripts: Target): Promise<void> {
    for (let time = 0; time < times; time++) await expect(scripts.call(timeout)).rejects.toMatchObject({ reason: 'ClusterTimeout' });
  }

  /** Returns a target that was probed after five requests without a response. */
  async function probeAfterFive(request: TargetCall<unknown>): Promise<Target> {
    const scripts = createScriptedTarget();
    await failTimes(5, scripts);
    await scripts
      .createProber(5_000)
      .call(request)
      .catch(() => undefined);
    return scripts;
  }

  it('keeps using the same address when a request is canceled', async () => {
    const scripts = createScriptedTarget();
    const calling = new AbortController();
    const cutShort: TargetCall<never> = async (_, { signal }) => {
      calling.abort(new Error('the caller left'));
      throw signal?.reason;
    };
    await expect(scripts.call(cutShort, calling.signal)).rejects.toThrow('the caller left');
    expect(scripts.activeServer).toBe('https://a');
  });

  it('opens the circuit after five requests without a response', async () => {
    const scripts = createScriptedTarget();
    await failTimes(5, scripts);
    expect(() => scripts.rejectIfOpen()).toThrow('did not respond in time');
  });

  it.each([
    ['a response', async () => 'ok'],
    ['an error response', () => Promise.reject(unauthorized())],
  ])('closes the circuit after a probe with %s', async (_name, request: TargetCall<string>) => {
    const scripts = await probeAfterFive(request);
    expect(() => scripts.rejectIfOpen()).not.toThrow();
  });

  it.each([
    ['no response', timeout],
    ['a 503', () => Promise.reject(serviceUnavailable('no backend', 1))],
  ])('keeps the circuit open after a probe with %s', async (_name, request: TargetCall<never>) => {
    const scripts = await probeAfterFive(request);
    expect(() => scripts.rejectIfOpen()).toThrow('after repeated failures');
  });

  it('keeps the circuit closed after requests that only waited for a connection', async () => {
    const scripts = createScriptedTarget();
    const slow: (() => void)[] = [];
    const responses = Array.from({ length: 16 }, () => scripts.call(() => new Promise<void>((resolve) => slow.push(resolve))));
    await failTimes(10, scripts);
    expect(() => scripts.rejectIfOpen()).not.toThrow();
    for (const finish of slow) finish();
    await Promise.all(responses);
  });

  it('uses separate connections, but one circuit, for calls through the façade', async () => {
    const purposes: ClientPurpose[] = [];
    const scripts = createScriptedTarget(purposes);
    await scripts.call(async () => 'ok');
    await scripts.forFacade().call(async () => 'ok');
    expect(purposes).toEqual(['controllers', 'facade']);
    await failTimes(5, scripts);
    await expect(scripts.forFacade().call(async () => 'ok')).rejects.toMatchObject({ reason: 'CircuitOpen' });
  });
});
