import { EventEmitter } from 'node:events';
import type { Server } from 'node:http';
import { beforeEach, describe, expect, it } from '@jest/globals';
import { Connections, toAddressKey } from '../../../src/facade/limits/connections.ts';

class FakeSocket extends EventEmitter {
  destroyed = false;
  isReading = true;
  readonly remoteAddress: string;
  readonly remotePort: number;

  constructor(remoteAddress: string, remotePort: number) {
    super();
    this.remoteAddress = remoteAddress;
    this.remotePort = remotePort;
  }

  pause(): void {
    this.isReading = false;
  }

  resume(): void {
    this.isReading = true;
  }

  destroy(): void {
    this.destroyed = true;
    this.emit('close');
  }
}

describe('Connections', () => {
  let server: EventEmitter;
  let ports: number;

  beforeEach(() => {
    server = new EventEmitter();
    ports = 0;
    new Connections({ waiting: 4, total: 100 }).follow(server as unknown as Server);
  });

  function open(address: string): FakeSocket {
    const socket = new FakeSocket(address, ++ports);
    server.emit('connection', socket);
    return socket;
  }

  /** Begins a request on a connection; returns its response. */
  function request(socket: FakeSocket): EventEmitter {
    const response = new EventEmitter();
    server.emit('request', { socket }, response);
    return response;
  }

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

  it('reads at most 64 requests of a connection ahead of their responses', () => {
    const socket = open('192.0.2.1');
    const responses = Array.from({ length: 63 }, () => request(socket));
    expect(socket.isReading).toBe(true);
    responses.push(request(socket));
    expect(socket.isReading).toBe(false);
    responses[0]?.emit('close');
    expect([socket.isReading, socket.destroyed]).toEqual([true, false]);
  });
});

describe('toAddressKey', () => {
  it.each([
    ['10.1.2.3', '10.1.2.3'],
    ['::ffff:10.1.2.3', '10.1.2.3'],
    ['2001:db8:1:2:3:4:5:6', '2001:db8:1:2::/64'],
    ['2001:db8:1:2::9', '2001:db8:1:2::/64'],
    ['2001:0db8::1', '2001:db8:0:0::/64'],
    ['::1', '0:0:0:0::/64'],
    ['fe80::1%eth0', 'fe80:0:0:0::/64'],
    [undefined, ''],
  ])('returns for the address %s the key %s', (address, key) => {
    expect(toAddressKey(address)).toBe(key);
  });
});
