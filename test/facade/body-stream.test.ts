import { Duplex } from 'node:stream';
import { setImmediate as nextTurn } from 'node:timers/promises';
import { beforeEach, describe, expect, it } from '@jest/globals';
import { BodyStream, Chunk } from '../../src/facade/body-stream.ts';
import { FakeClock } from '../support/clock.ts';

/** A connection that records writes; each write completes when the test calls `accept`. */
class Connection extends Duplex {
  readonly writes: Buffer[] = [];
  #accepted: (() => void) | undefined;

  override _write(bytes: Buffer, _encoding: string, done: () => void): void {
    this.writes.push(bytes);
    this.#accepted = done;
  }

  override _read(): void {}

  async accept(): Promise<void> {
    this.#accepted?.();
    await nextTurn();
  }
}

let connection: Connection;
let stream: BodyStream;
let pumps: number;
beforeEach(() => {
  connection = new Connection();
  stream = new BodyStream(connection, { isChunked: false, clock: new FakeClock() });
  pumps = 0;
  stream.source = { pump: () => void (pumps += 1), end: () => stream.end() };
});

const TEXT = Array.from({ length: 10_000 }, (_, index) => String(index).padStart(4, '0')).join('');

describe('BodyStream', () => {
  it('writes a large chunk in slices of 16 kB, each after the previous slice was accepted', async () => {
    stream.write(new Chunk([Buffer.from(TEXT)]));
    expect([connection.writes.length, stream.isBlocked]).toEqual([1, true]);
    await connection.accept();
    expect([connection.writes.length, stream.isBlocked, pumps]).toEqual([2, true, 0]);
    await connection.accept();
    await connection.accept();
    expect(connection.writes.map(({ length }) => length)).toEqual([16_384, 16_384, 7_232]);
    expect(Buffer.concat(connection.writes).toString()).toBe(TEXT);
    expect([stream.isBlocked, pumps, stream.written]).toEqual([false, 1, 40_000]);
  });

  it('writes the remaining chunk before it ends the body', async () => {
    stream.writeLines([Buffer.from(TEXT)]);
    stream.end();
    for (let slice = 0; slice < 3; slice++) await connection.accept();
    expect(Buffer.concat(connection.writes).toString()).toBe(TEXT);
    expect(connection.writableFinished).toBe(true);
  });
});
