import { afterEach, beforeEach, describe, expect, it } from '@jest/globals';
import type { Subscription } from 'rxjs';
import type { Lease } from '../../src/api/resources.ts';
import { KubeClient } from '../../src/kube/client.ts';
import { createFixedConfig } from '../../src/kube/kube-config.ts';
import { createElection, type Election, type ElectionOptions } from '../../src/kube/lease.ts';
import { createTransport } from '../../src/kube/transport.ts';
import { FakeClock } from '../support/clock.ts';
import { startWireServer, type WireReply, type WireRequest, type WireServer } from '../support/wire-server.ts';
import { eventually, turn } from './eventually.ts';

/** A server for one Lease, with optimistic locking and partitions. */
class LeaseServer {
  lease: Lease | undefined;
  /** Candidates whose requests get no response. */
  readonly silent = new Set<string>();
  /** Candidates whose writes are applied without a response. */
  readonly mute = new Set<string>();
  /** Responses that are held back; undefined to send all immediately. */
  held: (() => void)[] | undefined;
  writes = 0;
  #version = 0;

  readonly handler = (request: WireRequest, reply: WireReply): void => {
    const who = request.headers.authorization?.replace('Bearer ', '') ?? '';
    if (this.silent.has(who)) return;
    const [status, body] = this.#respond(request);
    if (request.method !== 'GET' && this.mute.has(who)) return;
    if (this.held === undefined) reply.json(status, body);
    else this.held.push(() => reply.json(status, body));
  };

  #respond(request: WireRequest): [number, unknown] {
    if (request.method === 'GET') return this.lease === undefined ? [404, failure(404, 'NotFound')] : [200, this.lease];
    const sent: Lease = JSON.parse(request.body);
    if (request.method === 'POST' && this.lease !== undefined) return [409, failure(409, 'AlreadyExists')];
    if (request.method === 'PUT' && sent.metadata.resourceVersion !== this.lease?.metadata.resourceVersion)
      return [409, failure(409, 'Conflict')];
    this.#version += 1;
    this.writes += 1;
    this.lease = { ...sent, metadata: { uid: 'lease', ...sent.metadata, resourceVersion: String(this.#version) } };
    return [200, this.lease];
  }
}

function failure(code: number, reason: string): unknown {
  return { kind: 'Status', status: 'Failure', message: reason, reason, code };
}

interface Candidate {
  readonly clock: FakeClock;
  readonly election: Election;
  readonly seen: boolean[];
  readonly problems: unknown[];
  readonly subscription: Subscription;
  /** Advances the candidate's clock in steps, so that its requests get responses in between. */
  live(ms: number): Promise<void>;
}

let state: LeaseServer;
let server: WireServer;
const closing: (() => Promise<void>)[] = [];

beforeEach(async () => {
  state = new LeaseServer();
  server = await startWireServer(state.handler);
});

afterEach(async () => {
  for (const close of closing.splice(0)) await close();
  await server.close();
});

function campaign(identity: string, options: Partial<ElectionOptions> & { readonly start?: string } = {}): Candidate {
  const clock = new FakeClock(Date.parse(options.start ?? '2026-03-01T12:00:00.123Z'));
  const config = createFixedConfig({ name: 'c', server: server.url, skipTLSVerify: false }, { name: 'u', token: identity });
  const transport = createTransport(config, { clock });
  const client = new KubeClient(transport, 'tests');
  const problems: unknown[] = [];
  const base = {
    client,
    namespace: 'ns',
    name: 'purser',
    identity,
    clock,
    random: () => 0,
    onProblem: (error: unknown) => problems.push(error),
  };
  const election = createElection({ ...base, ...options });
  const seen: boolean[] = [];
  const subscription = election.leads$.subscribe((leads) => seen.push(leads));
  closing.push(async () => {
    subscription.unsubscribe();
    await transport.close();
  });
  const live = async (ms: number) => {
    for (let left = ms; left > 0; left -= 250) {
      clock.advance(Math.min(250, left));
      await settle();
    }
  };
  return { clock, election, seen, problems, subscription, live };
}

async function settle(): Promise<void> {
  for (let n = 0; n < 12; n += 1) await turn();
}

async function waitForLeadership(candidate: Candidate, expected = true): Promise<void> {
  await eventually(() => expect(candidate.seen.at(-1)).toBe(expected));
}

describe('createElection', () => {
  it('creates a missing Lease and becomes the leader', async () => {
    const a = campaign('a');
    await waitForLeadership(a);
    expect(a.seen).toEqual([false, true]);
    expect(state.lease?.spec).toEqual({
      holderIdentity: 'a',
      leaseDurationSeconds: 10,
      acquireTime: '2026-03-01T12:00:00.123000Z',
      renewTime: '2026-03-01T12:00:00.123000Z',
      leaseTransitions: 0,
    });
  });

  it('becomes the leader after a response that is slower than the timeout of a leader', async () => {
    state.held = [];
    const a = campaign('a');
    await eventually(() => expect(state.held).toHaveLength(1));
    await a.live(6_000);
    state.held[0]?.();
    await eventually(() => expect(state.held).toHaveLength(2));
    state.held[1]?.();
    state.held = undefined;
    await waitForLeadership(a);
    expect([a.seen, a.problems]).toEqual([[false, true], []]);
  });

  it('reports a new holder of the Lease, but not a missing holder', async () => {
    const holders: string[] = [];
    const a = campaign('a');
    await waitForLeadership(a);
    const b = campaign('b', { onHolder: (identity) => holders.push(identity) });
    await eventually(() => expect(holders).toEqual(['a']));
    await b.live(3_000);
    await a.election.release();
    await b.live(3_000);
    await waitForLeadership(b);
    expect(holders).toEqual(['a', 'b']);
  });

  it('renews the Lease every second without reading it, and keeps acquireTime', async () => {
    const a = campaign('a');
    await waitForLeadership(a);
    const requests = server.requests.length;
    await a.live(3_000);
    expect(server.requests.slice(requests).map(({ method }) => method)).toEqual(['PUT', 'PUT', 'PUT']);
    expect(state.lease?.spec).toMatchObject({
      acquireTime: '2026-03-01T12:00:00.123000Z',
      renewTime: '2026-03-01T12:00:03.123000Z',
      leaseTransitions: 0,
    });
    expect(a.seen).toEqual([false, true]);
  });

  it('waits a full lease duration by the local clock before it takes over the Lease', async () => {
    const a = campaign('a', { start: '2001-01-01T00:00:00Z' });
    await waitForLeadership(a);
    a.subscription.unsubscribe();
    const b = campaign('b', { start: '2031-01-01T00:00:00Z' });
    await settle();
    await b.live(9_900);
    expect(b.seen).toEqual([false]);
    await b.live(1_100);
    expect(b.seen).toEqual([false, true]);
    expect(state.lease?.spec).toMatchObject({ holderIdentity: 'b', leaseTransitions: 1 });
  });

  it('takes over the Lease when it expires, even if the next attempt is due later', async () => {
    const a = campaign('a');
    await waitForLeadership(a);
    a.subscription.unsubscribe();
    // Attempts after 0, 2.2 s, 4.4 s …: the fifth would be at 11 s.
    const b = campaign('b', { random: () => 1 });
    await settle();
    await b.live(9_750);
    expect(b.seen).toEqual([false]);
    await b.live(250);
    expect(b.seen).toEqual([false, true]);
  });

  it('waits for the configured duration if another client shortens the duration in the Lease', async () => {
    const a = campaign('a');
    await waitForLeadership(a);
    if (state.lease !== undefined) state.lease = { ...state.lease, spec: { ...state.lease.spec, leaseDurationSeconds: 1 } };
    const b = campaign('b');
    await settle();
    await b.live(9_750);
    expect(b.seen).toEqual([false]);
  });

  it('waits for the duration in the Lease if it is longer than the configured one', async () => {
    const a = campaign('a', { leaseMs: 30_000 });
    await waitForLeadership(a);
    a.subscription.unsubscribe();
    const b = campaign('b');
    await settle();
    await b.live(29_000);
    expect(b.seen).toEqual([false]);
    await b.live(2_000);
    expect(b.seen).toEqual([false, true]);
  });

  it('does not lead while another candidate renews the Lease', async () => {
    const a = campaign('a');
    await waitForLeadership(a);
    const b = campaign('b');
    for (let n = 0; n < 40; n += 1) {
      await a.live(1_000);
      await b.live(1_000);
    }
    expect([a.seen, b.seen]).toEqual([[false, true], [false]]);
  });

  it('stops leading before another candidate can start if renewals fail', async () => {
    const a = campaign('a');
    await waitForLeadership(a);
    const b = campaign('b');
    await settle();
    state.silent.add('a');
    for (let ms = 0; ms < 12_000; ms += 250) {
      await a.live(250);
      await b.live(250);
      expect([a.election.leads, b.election.leads]).not.toEqual([true, true]);
      if (ms < 6_500) expect(a.election.leads).toBe(true);
      if (ms > 7_250) expect(a.seen).toEqual([false, true, false]);
    }
    expect(b.seen).toEqual([false, true]);
    expect(a.problems.length).toBeGreaterThan(1);
  });

  it('measures the leadership from the start of a slow renewal', async () => {
    const a = campaign('a');
    await waitForLeadership(a);
    let respond: (() => void) | undefined;
    server.handle((request, reply) => {
      respond = () => state.handler(request, reply);
    });
    a.clock.advance(1_000);
    await eventually(() => expect(respond).toBeDefined());
    a.clock.advance(3_000);
    respond?.();
    server.handle(() => undefined);
    await settle();
    a.clock.advance(3_900);
    expect(a.election.leads).toBe(true);
    a.clock.advance(100);
    expect(a.election.leads).toBe(false);
    await waitForLeadership(a, false);
  });

  it('stays the leader if a few renewals get no response', async () => {
    const a = campaign('a');
    await waitForLeadership(a);
    state.mute.add('a');
    await a.live(4_000);
    state.mute.delete('a');
    await a.live(2_000);
    expect(a.seen).toEqual([false, true]);
    expect(state.lease?.spec).toMatchObject({ holderIdentity: 'a', leaseTransitions: 0 });
  });

  it('stops leading immediately when another candidate holds the Lease', async () => {
    const a = campaign('a');
    await waitForLeadership(a);
    const lease = state.lease;
    if (lease)
      state.lease = { ...lease, metadata: { ...lease.metadata, resourceVersion: '99' }, spec: { ...lease.spec, holderIdentity: 'b' } };
    await a.live(1_000);
    expect(a.seen).toEqual([false, true, false]);
  });

  it('emits false before the next request after the machine was suspended', async () => {
    const a = campaign('a');
    await waitForLeadership(a);
    server.handle(() => undefined);
    a.clock.advance(60_000);
    expect(a.election.leads).toBe(false);
    await waitForLeadership(a, false);
  });

  it('does not extend the leadership when the wall clock is set back', async () => {
    const a = campaign('a');
    await waitForLeadership(a);
    server.handle(() => undefined);
    a.clock.set(Date.parse('2026-03-01T11:00:00Z'));
    await a.live(7_000);
    expect(a.seen).toEqual([false, true, false]);
  });

  it('does not shorten the wait when the wall clock is set forward', async () => {
    const a = campaign('a');
    await waitForLeadership(a);
    a.subscription.unsubscribe();
    const b = campaign('b');
    await settle();
    b.clock.set(Date.parse('2026-03-01T13:00:00Z'));
    await b.live(9_900);
    expect(b.seen).toEqual([false]);
  });

  it('releases the Lease for other candidates', async () => {
    const a = campaign('a');
    await waitForLeadership(a);
    let completed = false;
    a.election.leads$.subscribe({ complete: () => (completed = true) });
    await a.election.release();
    expect([completed, a.election.leads]).toEqual([true, false]);
    expect(state.lease?.spec).toMatchObject({ holderIdentity: '', leaseDurationSeconds: 1, leaseTransitions: 0 });
    const b = campaign('b');
    await waitForLeadership(b);
    expect(state.lease?.spec).toMatchObject({ holderIdentity: 'b', leaseTransitions: 1 });
  });

  it('releases the Lease despite a late renewal', async () => {
    const a = campaign('a');
    await waitForLeadership(a);
    server.handle((request, reply) => {
      state.handler(request, reply);
      if (request.method !== 'GET' || !state.lease) return;
      state.lease = { ...state.lease, metadata: { ...state.lease.metadata, resourceVersion: 'renewed' } };
      server.handle(state.handler);
    });
    await a.election.release();
    expect(state.lease?.spec).toMatchObject({ holderIdentity: '' });
  });

  it('does not release the Lease of another candidate', async () => {
    const a = campaign('a');
    await waitForLeadership(a);
    const b = campaign('b');
    await settle();
    await b.election.release();
    expect(state.lease?.spec).toMatchObject({ holderIdentity: 'a' });
  });

  it('keeps the Lease on unsubscribe', async () => {
    const a = campaign('a');
    await waitForLeadership(a);
    a.subscription.unsubscribe();
    await a.live(2_000);
    expect(state.lease?.spec).toMatchObject({ holderIdentity: 'a' });
    expect(a.clock.pending).toBe(0);
  });

  it('elects one of many candidates', async () => {
    const all = Array.from({ length: 5 }, (_, n) => campaign(`c${n}`));
    await eventually(() => expect(all.filter(({ election }) => election.leads)).toHaveLength(1));
    await settle();
    expect(all.filter(({ election }) => election.leads)).toHaveLength(1);
    expect(state.writes).toBe(1);
  });

  it('emits the current state to a late subscriber', async () => {
    const a = campaign('a');
    await waitForLeadership(a);
    const late: boolean[] = [];
    a.election.leads$.subscribe((leads) => late.push(leads)).unsubscribe();
    expect(late).toEqual([true]);
  });

  it('rejects timings that allow two leaders or leave a leader no time to renew', () => {
    expect(() => campaign('a', { leaseMs: 5_000 })).toThrow('must exceed');
    expect(() => campaign('a', { retryMs: 6_000 })).toThrow('must exceed');
  });
});
