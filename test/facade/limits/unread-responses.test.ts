import { EventEmitter } from 'node:events';
import type { IncomingMessage, ServerResponse } from 'node:http';
import { beforeEach, describe, expect, it } from '@jest/globals';
import { type RespondedRequest, UnreadResponses } from '../../../src/facade/limits/unread-responses.ts';

class FakeSocket {
  destroyed = false;

  destroy(): void {
    this.destroyed = true;
  }
}

const KIB = 1024;

describe('UnreadResponses', () => {
  let unread: UnreadResponses;

  beforeEach(() => {
    unread = new UnreadResponses({ perAddress: 64 * KIB, total: 128 * KIB });
  });

  /** Adds a response of 16 KiB, including its overhead. */
  function respond(
    address: string,
    socket = new FakeSocket(),
    rawHeaders: readonly string[] = [],
  ): RespondedRequest & { socket: FakeSocket } {
    const message = { socket, rawHeaders, url: '' } as unknown as IncomingMessage;
    const responded = { address, message, response: new EventEmitter() as unknown as ServerResponse };
    unread.add(responded, 12 * KIB);
    return { ...responded, socket };
  }

  it('closes the connection of the oldest response above the limit of an address', () => {
    const responses = Array.from({ length: 5 }, () => respond('192.0.2.1'));
    expect(responses.map(({ socket }) => socket.destroyed)).toEqual([true, false, false, false, false]);
  });

  it('closes no connection of a client that reads its responses', () => {
    const responses = Array.from({ length: 20 }, () => {
      const responded = respond('192.0.2.1');
      responded.response.emit('close');
      return responded;
    });
    expect([responses.some(({ socket }) => socket.destroyed), unread.total]).toEqual([false, 0]);
  });

  it('removes all responses of a connection that it closes', () => {
    const pipelining = new FakeSocket();
    for (let count = 0; count < 4; count++) respond('192.0.2.1', pipelining);
    respond('192.0.2.1');
    expect([pipelining.destroyed, unread.total]).toEqual([true, 16 * KIB]);
  });

  it('closes a connection of the address with the most bytes above the total', () => {
    const few = respond('192.0.2.9');
    const many = ['192.0.2.1', '192.0.2.2'].flatMap((address) => Array.from({ length: 4 }, () => respond(address)));
    expect([few.socket.destroyed, many.map(({ socket }) => socket.destroyed).filter(Boolean)]).toEqual([false, [true]]);
  });

  it('counts the headers of a request as unread bytes', () => {
    respond('192.0.2.1', new FakeSocket(), ['audit-id', 'a'.repeat(15 * KIB)]);
    expect(unread.total).toBeGreaterThan(31 * KIB);
  });
});
