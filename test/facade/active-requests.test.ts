import { EventEmitter } from 'node:events';
import { describe, expect, it } from '@jest/globals';
import { ActiveRequests } from '../../src/facade/active-requests.ts';
import { FakeClock } from '../support/clock.ts';

/** Begins a request with a response whose headers have been sent; returns its socket, and a function that ends the response. */
function exchange(active: ActiveRequests, writableEnded: boolean) {
  const close = () => (socket.isClosed = true);
  const socket = { isClosed: false, once: () => {}, destroy: close, destroySoon: close, end: () => response.emit('close') };
  const message = { rawHeaders: [], headers: {}, url: '/', method: 'GET', complete: true, socket };
  const response = Object.assign(new EventEmitter(), { writableEnded, headersSent: true });
  active.begin(message as never, response as never);
  return socket;
}

describe('ActiveRequests', () => {
  it('closes the connections of clients that do not read an ended response for 30 s', () => {
    const clock = new FakeClock();
    const active = new ActiveRequests(clock);
    const [unread, stream] = [exchange(active, true), exchange(active, false)];
    clock.advance(30_000);
    expect([unread.isClosed, stream.isClosed]).toEqual([false, false]);
    clock.advance(10_000);
    expect([unread.isClosed, stream.isClosed]).toEqual([true, false]);
    active.stop();
    expect(clock.pending).toBe(0);
  });

  it('keeps a connection whose response ends while the server drains, and closes one whose response ends after the server stops', () => {
    const active = new ActiveRequests(new FakeClock());
    const [ended, slow] = [exchange(active, true), exchange(active, true)];
    active.drain();
    ended.end();
    active.stop();
    slow.end();
    expect([ended.isClosed, slow.isClosed]).toEqual([false, true]);
  });
});
