import { EventEmitter } from 'node:events';
import type { Server, ServerResponse } from 'node:http';
import type { Socket } from 'node:net';
import { beforeEach, describe, expect, it } from '@jest/globals';
import { bufferBytesOf, Connections, recordBody, recordWrite } from '../../../src/facade/limits/connections.ts';

class FakeSocket extends EventEmitter {
  destroyed = false;
  readonly remoteAddress: string;
  readonly remotePort: number;

  constructor(remoteAddress: string, remotePort: number) {
    super();
    this.remoteAddress = remoteAddress;
    this.remotePort = remotePort;
  }

  destroy(): void {
    this.destroyed = true;
    this.emit('close');
  }

  destroySoon(): void {
    this.destroy();
  }
}

describe('Connections', () => {
  let server: EventEmitter;
  let connections: Connections;
  let ports: number;

  beforeEach(() => {
    server = new EventEmitter();
    ports = 0;
    connections = new Connections({ waiting: 4, total: 100, buffers: 100_000 });
    connections.follow(server as unknown as Server);
  });

  function open(address: string): FakeSocket {
    const socket = new FakeSocket(address, ++ports);
    server.emit('connection', socket);
    return socket;
  }

  /** Begins a request on a connection; returns its response. */
  function request(socket: FakeSocket): EventEmitter & { readonly isServed: boolean } {
    const response = new EventEmitter();
    return Object.assign(response, {
      isServed: connections.begin(socket as unknown as Socket, response as unknown as ServerResponse),
    });
  }

  it('closes the oldest idle connection of the address whose large responses left the most memory in buffers', () => {
    const sockets = ['192.0.2.1', '192.0.2.2', '192.0.2.1', '192.0.2.1'].map(open);
    for (const [index, socket] of sockets.entries()) {
      const response = request(socket);
      recordWrite(socket as unknown as Socket, index === 0 ? 1_000 : 40_000);
      response.emit('close');
    }
    expect(sockets.map(({ destroyed }) => destroyed)).toEqual([false, false, true, false]);
  });

  it('stops counting the buffer of a connection once it serves a request or is closed', () => {
    const respond = (socket: FakeSocket) => {
      const response = request(socket);
      recordWrite(socket as unknown as Socket, 40_000);
      response.emit('close');
    };
    const [first, second, third, fourth] = ['192.0.2.1', '192.0.2.1', '192.0.2.1', '192.0.2.1'].map(open) as [
      FakeSocket,
      FakeSocket,
      FakeSocket,
      FakeSocket,
    ];
    respond(first);
    respond(second);
    first.destroy();
    respond(third);
    request(second);
    respond(fourth);
    expect([second, third, fourth].map(({ destroyed }) => destroyed)).toEqual([false, false, false]);
    expect(bufferBytesOf(second as unknown as Socket)).toBe(40_000);
  });

  it('counts the buffers of long requests, and of requests whose length is unknown', () => {
    const [short, long, unknown] = ['192.0.2.1', '192.0.2.1', '192.0.2.1'].map(open) as unknown as [Socket, Socket, Socket];
    recordBody(short, 8_192);
    recordBody(long, 100_000);
    recordBody(unknown, Infinity);
    recordWrite(long, 20_000);
    expect([short, long, unknown].map(bufferBytesOf)).toEqual([0, 85_536, 65_536]);
  });

  it('closes the oldest idle connection of an address when a new one exceeds the limit', () => {
    const idle = Array.from({ length: 4 }, () => open('192.0.2.1'));
    for (const socket of idle) request(socket).emit('close');
    const newest = open('192.0.2.1');
    expect([newest.destroyed, idle.map(({ destroyed }) => destroyed)]).toEqual([false, [true, false, false, false]]);
  });

  it('closes a connection of the address with the most connections, and of no other address', () => {
    const other = open('192.0.2.2');
    const crowded = Array.from({ length: 4 }, () => open('192.0.2.1'));
    expect([other.destroyed, crowded.map(({ destroyed }) => destroyed)]).toEqual([false, [true, false, false, false]]);
  });

  it('serves at most 32 requests of a connection at a time', () => {
    const socket = open('192.0.2.1');
    const responses = Array.from({ length: 32 }, () => request(socket));
    expect(responses.every(({ isServed }) => isServed)).toBe(true);
    responses[0]?.emit('close');
    expect(request(socket).isServed).toBe(true);
    expect(request(socket).isServed).toBe(false);
  });

  it('closes a connection with too many pipelined requests after the responses in progress', () => {
    const socket = open('192.0.2.1');
    const responses = Array.from({ length: 33 }, () => request(socket));
    for (const response of responses.slice(0, 31)) response.emit('close');
    expect([request(socket).isServed, socket.destroyed]).toEqual([false, false]);
    responses[31]?.emit('close');
    expect(socket.destroyed).toBe(true);
  });

  it('immediately closes a connection with 65 pipelined requests', () => {
    const socket = open('192.0.2.1');
    for (let count = 0; count < 64; count++) request(socket);
    expect(socket.destroyed).toBe(false);
    request(socket);
    expect(socket.destroyed).toBe(true);
  });
});
