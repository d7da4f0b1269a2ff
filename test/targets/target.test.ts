import { afterEach, beforeEach, describe, expect, it } from '@jest/globals';
import type { KubeClient } from '../../src/kube/client.ts';
import { TransportError } from '../../src/kube/transport-error.ts';
import { serviceUnavailable, unauthorized } from '../../src/kubernetes/status.ts';
import { systemClock } from '../../src/std/clock.ts';
import { createTarget } from '../../src/targets/create-target.ts';
import { type Ask, type Purpose, Target } from '../../src/targets/target.ts';
import { eventually } from '../kube/eventually.ts';
import { FakeClock } from '../support/clock.ts';
import type { WireServer } from '../support/wire-server.ts';
import { registered, settings } from './registration.ts';
import { authority, startTarget } from './wire-target.ts';

/** More than there are connections for. */
const MANY = 40;
let server: WireServer;
let target: Target;

describe('a target on the wire', () => {
  beforeEach(async () => {
    server = await startTarget(({ path }, reply) => (path === '/fast' ? reply.text(200, 'ok') : undefined));
    target = createTarget(registered({ servers: [server.url], ca: authority.certificate }), settings(systemClock));
  });

  afterEach(async () => {
    await target.close();
    await server.close();
  });

  it('F9: answers a probe, on one connection, while requests hold all others', async () => {
    const slow = Array.from({ length: MANY }, () =>
      target.call((client, options) => client.getText('/slow', options)).catch(() => 'failed'),
    );
    await eventually(() => expect(server.requests).toHaveLength(16));
    const prober = target.prober(5_000);
    for (let round = 0; round < 3; round += 1) expect(await prober.call((client, options) => client.getText('/fast', options))).toBe('ok');
    expect(server.openConnections).toBe(17);
    await target.close();
    expect(new Set(await Promise.all(slow))).toEqual(new Set(['failed']));
    await eventually(() => expect(server.openConnections).toBe(0));
  });
});

describe('a target', () => {
  const timeout: Ask<never> = () => Promise.reject(new TransportError('ETIMEDOUT', 'the server fell silent'));

  function scripted(purposes: Purpose[] = []): Target {
    const connect = (_: string, purpose: Purpose) => {
      purposes.push(purpose);
      return {} as KubeClient;
    };
    return new Target({ clock: new FakeClock(0), servers: ['https://a', 'https://b'], connect, endpoints: () => ({ servers: [] }) });
  }

  async function failing(times: number, scripts: Target): Promise<void> {
    for (let time = 0; time < times; time++) await expect(scripts.call(timeout)).rejects.toMatchObject({ reason: 'ClusterTimeout' });
  }

  /** One that five requests had no answer from, and that was then probed. */
  async function probedAfterFive(ask: Ask<unknown>): Promise<Target> {
    const scripts = scripted();
    await failing(5, scripts);
    await scripts
      .prober(5_000)
      .call(ask)
      .catch(() => undefined);
    return scripts;
  }

  it('keeps its address when a request is called off', async () => {
    const scripts = scripted();
    const calling = new AbortController();
    const cutShort: Ask<never> = async (_, { signal }) => {
      calling.abort(new Error('nobody waits for it'));
      throw signal?.reason;
    };
    await expect(scripts.call(cutShort, calling.signal)).rejects.toThrow('nobody waits for it');
    expect(scripts.activeServer).toBe('https://a');
  });

  it('is left alone after five requests without an answer', async () => {
    const scripts = scripted();
    await failing(5, scripts);
    expect(() => scripts.rejectIfOpen()).toThrow('did not answer in time');
  });

  it.each([
    ['an answer', async () => 'ok'],
    ['a refusal', () => Promise.reject(unauthorized())],
  ])('is asked again once a probe had %s', async (_name, ask: Ask<string>) => {
    const scripts = await probedAfterFive(ask);
    expect(() => scripts.rejectIfOpen()).not.toThrow();
  });

  it.each([
    ['no answer', timeout],
    ['word of an outage', () => Promise.reject(serviceUnavailable('nobody is behind this', 1))],
  ])('is left alone still when a probe had %s', async (_name, ask: Ask<never>) => {
    const scripts = await probedAfterFive(ask);
    expect(() => scripts.rejectIfOpen()).toThrow('failed so often');
  });

  it('is not left alone for requests that waited for a connection all the time', async () => {
    const scripts = scripted();
    const slow: (() => void)[] = [];
    const answers = Array.from({ length: 16 }, () => scripts.call(() => new Promise<void>((resolve) => slow.push(resolve))));
    await failing(10, scripts);
    expect(() => scripts.rejectIfOpen()).not.toThrow();
    for (const answer of slow) answer();
    await Promise.all(answers);
  });

  it('has connections of their own for those who call the façade, who learn from the failures of all', async () => {
    const purposes: Purpose[] = [];
    const scripts = scripted(purposes);
    await scripts.call(async () => 'ok');
    await scripts.forCalls().call(async () => 'ok');
    expect(purposes).toEqual(['requests', 'calls']);
    await failing(5, scripts);
    await expect(scripts.forCalls().call(async () => 'ok')).rejects.toMatchObject({ reason: 'CircuitOpen' });
  });
});
