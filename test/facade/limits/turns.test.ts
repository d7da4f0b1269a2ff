import { EventEmitter } from 'node:events';
import type { Server } from 'node:http';
import { beforeEach, describe, expect, it } from '@jest/globals';
import { Handshakes, RoundRobin, ServingTurns } from '../../../src/facade/limits/turns.ts';
import { turn } from '../../kube/eventually.ts';

it('returns the work of all addresses in turn, and the work of one address in order of arrival', () => {
  const rotation = new RoundRobin();
  const done: string[] = [];
  for (const name of ['a1', 'a2', 'a3', 'b1', 'c1', 'c2']) rotation.add(name.charAt(0), () => void done.push(name));
  expect(rotation.isEmpty).toBe(false);
  for (let work = rotation.next(); work !== undefined; work = rotation.next()) work();
  expect(done).toEqual(['a1', 'b1', 'c1', 'a2', 'c2', 'a3']);
  expect(rotation.isEmpty).toBe(true);
});

/** Starts requests of an address that record their names. */
function startAll(turns: ServingTurns, started: string[], address: string, count: number): void {
  for (let index = 0; index < count; index++) turns.start(address, () => void started.push(`${address}${index}`));
}

describe('ServingTurns', () => {
  it('starts a few requests immediately', () => {
    const started: string[] = [];
    startAll(new ServingTurns(), started, 'a', 16);
    expect(started).toHaveLength(16);
  });

  it('starts at most 16 requests in a turn of the event loop, and eventually all', async () => {
    const started: string[] = [];
    startAll(new ServingTurns(), started, 'a', 40);
    const counts = [started.length];
    for (let count = 0; count < 3; count++) {
      await turn();
      counts.push(started.length);
    }
    expect(counts).toEqual([16, 32, 40, 40]);
    expect(started).toEqual(Array.from({ length: 40 }, (_, index) => `a${index}`));
  });

  it('starts the request of another address in the next turn, no matter how many requests wait', async () => {
    const [turns, started] = [new ServingTurns(), [] as string[]];
    startAll(turns, started, 'a', 1_000);
    startAll(turns, started, 'b', 1);
    expect(started).not.toContain('b0');
    await turn();
    expect(started).toContain('b0');
  });
});

describe('Handshakes', () => {
  let server: EventEmitter;
  let started: string[];

  beforeEach(() => {
    server = new EventEmitter();
    const names: string[] = [];
    started = names;
    server.on('connection', ({ remoteAddress }: { readonly remoteAddress: string }) => void names.push(remoteAddress));
    new Handshakes().follow(server as unknown as Server);
  });

  /** Accepts connections of an address, and returns the last. */
  function accept(address: string, count = 1): { destroyed: boolean } {
    const sockets = Array.from({ length: count }, () => Object.assign(new EventEmitter(), { remoteAddress: address, destroyed: false }));
    for (const socket of sockets) server.emit('connection', socket);
    return sockets.at(-1) as { destroyed: boolean };
  }

  async function turns(count: number): Promise<void> {
    for (let index = 0; index < count; index++) await turn();
  }

  it('starts a handshake in the first turn of the event loop without a new connection', async () => {
    accept('192.0.2.1');
    await turns(2);
    expect(started).toEqual(['192.0.2.1']);
  });

  it('starts at most four handshakes in a turn, and eventually all', async () => {
    accept('192.0.2.1', 10);
    const counts: number[] = [];
    for (let index = 0; index < 5; index++) {
      await turn();
      counts.push(started.length);
    }
    expect(counts).toEqual([0, 4, 8, 10, 10]);
  });

  it('starts the handshake of another address next, no matter how many handshakes wait', async () => {
    accept('192.0.2.1', 1_000);
    accept('192.0.2.2');
    await turns(2);
    expect(started).toContain('192.0.2.2');
  });

  it('starts handshakes even if Node accepts a connection in every turn', async () => {
    for (let index = 0; index < 100; index++) {
      accept('192.0.2.1');
      await turn();
    }
    expect(started.length).toBeGreaterThanOrEqual(12);
  });

  it('skips waiting connections that were closed, and starts the handshakes of others', async () => {
    for (let index = 0; index < 10; index++) accept('192.0.2.1').destroyed = true;
    accept('192.0.2.1', 4);
    await turns(2);
    expect(started).toHaveLength(4);
  });

  it('survives an error on a waiting connection', () => {
    expect(() => (accept('192.0.2.1') as unknown as EventEmitter).emit('error', new Error('reset'))).not.toThrow();
  });
});
