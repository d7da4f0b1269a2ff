import { afterEach, beforeEach, describe, expect, it } from '@jest/globals';
import type { Event } from '../../src/api/resources.ts';
import { Recorder } from '../../src/kube/recorder.ts';
import { FakeClock } from '../support/clock.ts';
import { startWireWorld, type WireWorld } from './wire-world.ts';

const TOKEN = { apiVersion: 'tokens.purser.dev/v1alpha1', kind: 'ManagedToken', metadata: { namespace: 'team-a', name: 'ci', uid: 'u-1' } };
const CLUSTER = { apiVersion: 'registry.purser.dev/v1alpha1', kind: 'Cluster', metadata: { name: 'prod', uid: 'u-2' } };
const ISSUED = { type: 'Normal', reason: 'Issued', message: 'issued a token' } as const;

let clock: FakeClock;
let world: WireWorld;
let recorder: Recorder;
let problems: unknown[];
/** Status codes of the next responses; 200 when empty. */
let statuses: number[];

const STORED = { metadata: { name: 'event', namespace: 'team-a', uid: 'u', resourceVersion: '1' } };

beforeEach(async () => {
  clock = new FakeClock();
  problems = [];
  statuses = [];
  world = await startWireWorld((_, reply) => reply.json(statuses.shift() ?? 200, STORED), clock);
  const onProblem = (error: unknown) => problems.push(error);
  recorder = new Recorder({ client: world.client, clock, random: () => 0.5, component: 'purser', instance: 'purser-0', onProblem });
});

afterEach(() => world.close());

function sentEvents(): { readonly method: string; readonly path: string; readonly event: Partial<Event> }[] {
  return world.server.requests.map(({ method, path, body }) => ({ method, path, event: JSON.parse(body) }));
}

function tokenNamed(n: number): typeof TOKEN {
  return { ...TOKEN, metadata: { ...TOKEN.metadata, name: `t-${n}` } };
}

describe('Recorder', () => {
  it('writes an Event that kubectl describe shows under its object', async () => {
    recorder.record(TOKEN, ISSUED);
    await recorder.flush();
    expect(sentEvents()).toEqual([
      {
        method: 'POST',
        path: '/api/v1/namespaces/team-a/events',
        event: {
          apiVersion: 'v1',
          kind: 'Event',
          metadata: { name: 'ci.1898b5d9b3de2120', namespace: 'team-a' },
          involvedObject: { apiVersion: TOKEN.apiVersion, kind: 'ManagedToken', namespace: 'team-a', name: 'ci', uid: 'u-1' },
          type: 'Normal',
          reason: 'Issued',
          message: 'issued a token',
          firstTimestamp: '2026-03-01T12:00:00Z',
          lastTimestamp: '2026-03-01T12:00:00Z',
          count: 1,
          source: { component: 'purser' },
          reportingComponent: 'purser',
          reportingInstance: 'purser-0',
        },
      },
    ]);
  });

  it('writes Events of cluster-scoped objects to the default namespace', async () => {
    recorder.record(CLUSTER, ISSUED);
    await recorder.flush();
    expect(sentEvents()[0]).toMatchObject({ path: '/api/v1/namespaces/default/events', event: { metadata: { namespace: 'default' } } });
    expect(sentEvents()[0]?.event.involvedObject).not.toHaveProperty('namespace');
  });

  it('increments the count of a repeated Event', async () => {
    recorder.record(TOKEN, ISSUED);
    await recorder.flush();
    clock.advance(60_000);
    recorder.record(TOKEN, ISSUED);
    await recorder.flush();
    expect(sentEvents()[1]).toEqual({
      method: 'PATCH',
      path: '/api/v1/namespaces/team-a/events/ci.1898b5d9b3de2120',
      event: { count: 2, lastTimestamp: '2026-03-01T12:01:00Z' },
    });
  });

  it('writes simultaneous repetitions of an Event once', async () => {
    for (let n = 0; n < 5; n += 1) recorder.record(TOKEN, ISSUED);
    await recorder.flush();
    expect(sentEvents()).toHaveLength(1);
    expect(sentEvents()[0]?.event.count).toBe(5);
  });

  it.each([
    ['another message', TOKEN, { ...ISSUED, message: 'other' }],
    ['another reason', TOKEN, { ...ISSUED, reason: 'Other' }],
    ['another object', CLUSTER, ISSUED],
    ['an object of the same name with a different UID', { ...TOKEN, metadata: { ...TOKEN.metadata, uid: 'u-9' } }, ISSUED],
  ])('writes a separate Event for %s', async (_, object, note) => {
    recorder.record(TOKEN, ISSUED);
    recorder.record(object, note);
    await recorder.flush();
    expect(sentEvents().map(({ method }) => method)).toEqual(['POST', 'POST']);
  });

  it('creates the Event again after it has expired', async () => {
    recorder.record(TOKEN, ISSUED);
    await recorder.flush();
    clock.advance(3_700_000);
    statuses = [404];
    recorder.record(TOKEN, ISSUED);
    await recorder.flush();
    expect(sentEvents().map(({ method }) => method)).toEqual(['POST', 'PATCH', 'POST']);
    expect(sentEvents()[2]?.event).toMatchObject({
      count: 2,
      firstTimestamp: '2026-03-01T12:00:00Z',
      lastTimestamp: '2026-03-01T13:01:40Z',
    });
    expect(problems).toEqual([]);
  });

  it('limits the Events of one object, not those of others', async () => {
    for (let n = 0; n < 40; n += 1) recorder.record(TOKEN, { ...ISSUED, message: `message ${n}` });
    recorder.record(CLUSTER, ISSUED);
    await recorder.flush();
    expect(sentEvents()).toHaveLength(26);
    clock.advance(300_000);
    for (let n = 0; n < 5; n += 1) recorder.record(TOKEN, { ...ISSUED, message: `later ${n}` });
    await recorder.flush();
    expect(sentEvents()).toHaveLength(27);
  });

  it('records Events after the wall clock was set back', async () => {
    recorder.record(TOKEN, ISSUED);
    clock.set(clock.now() - 86_400_000);
    recorder.record(TOKEN, { ...ISSUED, message: 'other' });
    await recorder.flush();
    expect(sentEvents()).toHaveLength(2);
  });

  it('drops Events while too many are pending', async () => {
    for (let n = 0; n < 505; n += 1) recorder.record(tokenNamed(n), ISSUED);
    await recorder.flush();
    expect(sentEvents()).toHaveLength(500);
  });

  it('writes Events of other namespaces in turn after 10,000 Events of one namespace', async () => {
    for (let n = 0; n < 10_000; n += 1) recorder.record(tokenNamed(n), ISSUED);
    const other = (n: number) => ({ ...TOKEN, metadata: { namespace: 'team-b', name: `t-${n}`, uid: `u-${n}` } });
    for (let n = 0; n < 10; n += 1) recorder.record(other(n), ISSUED);
    recorder.record(CLUSTER, ISSUED);
    await recorder.flush();
    const written = sentEvents().map(({ event }) => event.involvedObject?.namespace);
    expect(written.slice(0, 31).filter((namespace) => namespace !== 'team-a')).toHaveLength(11);
    expect(written).toHaveLength(511);
  });

  it('reports the number of dropped Events once', async () => {
    for (let n = 0; n < 505; n += 1) recorder.record(tokenNamed(n), ISSUED);
    await recorder.flush();
    recorder.record(TOKEN, ISSUED);
    await recorder.flush();
    expect(problems.map(String)).toEqual(['DroppedEventsError: dropped events: 5; too many were pending']);
  });

  it('forgets the oldest of more than 4,096 Events', async () => {
    const calls: string[] = [];
    const create = async () => (calls.push('create'), undefined as never);
    const patch = async () => (calls.push('patch'), undefined as never);
    recorder = new Recorder({ client: { create, patch }, clock, random: () => 0, component: 'purser', instance: 'purser-0' });
    for (let n = 0; n <= 4_096; n += 1) {
      recorder.record(tokenNamed(n), ISSUED);
      if (n % 500 === 0) await recorder.flush();
    }
    await recorder.flush();
    calls.length = 0;
    recorder.record(tokenNamed(4_096), ISSUED);
    recorder.record(tokenNamed(0), ISSUED);
    await recorder.flush();
    expect(calls).toEqual(['patch', 'create']);
  });

  it('writes later Events after a failed write', async () => {
    statuses = [500];
    recorder.record(TOKEN, ISSUED);
    recorder.record(CLUSTER, ISSUED);
    await recorder.flush();
    expect(problems).toHaveLength(1);
    expect(sentEvents()).toHaveLength(2);
  });

  it('removes a trailing dash from a truncated name', async () => {
    recorder.record({ ...TOKEN, metadata: { ...TOKEN.metadata, name: `${'n'.repeat(230)}${'-'.repeat(20)}nnn` } }, ISSUED);
    await recorder.flush();
    expect(sentEvents()[0]?.event.metadata?.name).toBe(`${'n'.repeat(230)}.1898b5d9b3de2120`);
  });

  it('truncates messages and names to the limits of an API server', async () => {
    recorder.record({ ...TOKEN, metadata: { ...TOKEN.metadata, name: 'n'.repeat(253) } }, { ...ISSUED, message: 'm'.repeat(5_000) });
    await recorder.flush();
    expect([sentEvents()[0]?.event.metadata?.name?.length, sentEvents()[0]?.event.message?.length]).toEqual([253, 1_024]);
  });
});
