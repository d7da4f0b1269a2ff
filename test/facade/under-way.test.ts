import { EventEmitter } from 'node:events';
import { describe, expect, it } from '@jest/globals';
import { UnderWay } from '../../src/facade/under-way.ts';
import { FakeClock } from '../support/clock.ts';

/** A request whose response has ended, or has not. */
function exchange(underWay: UnderWay, writableEnded: boolean): { isClosed: boolean } {
  const socket = { isClosed: false, destroy: () => (socket.isClosed = true) };
  const message = { rawHeaders: [], headers: {}, url: '/', method: 'GET', complete: true, socket };
  const response = Object.assign(new EventEmitter(), { writableEnded, writableFinished: false, headersSent: true });
  underWay.begin({ raw: message } as never, { raw: response } as never);
  return socket;
}

describe('UnderWay', () => {
  it('closes the connection of a client who does not read an ended response for 30 s, and of no other', () => {
    const clock = new FakeClock();
    const underWay = new UnderWay(clock);
    const [unread, stream] = [exchange(underWay, true), exchange(underWay, false)];
    clock.advance(30_000);
    expect([unread.isClosed, stream.isClosed]).toEqual([false, false]);
    clock.advance(10_000);
    expect([unread.isClosed, stream.isClosed]).toEqual([true, false]);
    underWay.stop();
    expect(clock.pending).toBe(0);
  });
});
