// Name server on loopback whose responses a test controls.

import { createSocket } from 'node:dgram';
import { isIPv4 } from 'node:net';

/** Returns the addresses of a name: none for NXDOMAIN, undefined for no response. */
export type Zone = (name: string) => readonly string[] | undefined;

export interface DnsServer {
  /** Address and port, as resolvers accept them. */
  readonly address: string;
  /** Names in queries so far, in order. */
  readonly queries: readonly string[];
  close(): Promise<void>;
}

/** Starts a name server on a free UDP port. */
export async function startDnsServer(zone: Zone): Promise<DnsServer> {
  const socket = createSocket('udp4');
  const queries: string[] = [];
  socket.on('message', (query, { port, address }) => {
    const { name, type, end } = decodeQuestion(query);
    queries.push(name);
    const addresses = zone(name);
    if (addresses !== undefined) socket.send(encodeResponse(query.subarray(0, end), type, addresses), port, address);
  });
  await new Promise<void>((resolve) => socket.bind(0, '127.0.0.1', resolve));
  return {
    address: `127.0.0.1:${socket.address().port}`,
    queries,
    close: () => new Promise((resolve) => socket.close(() => resolve())),
  };
}

const HEADER = 12;
const A = 1;
const AAAA = 28;

function decodeQuestion(query: Buffer): { readonly name: string; readonly type: number; readonly end: number } {
  const labels: string[] = [];
  let at = HEADER;
  for (let length = query[at] ?? 0; length > 0; length = query[at] ?? 0) {
    labels.push(query.toString('latin1', at + 1, at + 1 + length));
    at += 1 + length;
  }
  return { name: labels.join('.'), type: query.readUInt16BE(at + 1), end: at + 5 };
}

function encodeResponse(question: Buffer, type: number, addresses: readonly string[]): Buffer {
  const matching = addresses.filter((address) => type === (isIPv4(address) ? A : AAAA));
  const head = Buffer.from(question);
  // Response with recursion available; NXDOMAIN without any address.
  head.writeUInt16BE(addresses.length === 0 ? 0x8183 : 0x8180, 2);
  head.writeUInt16BE(matching.length, 6);
  head.writeUInt32BE(0, 8);
  return Buffer.concat([head, ...matching.map((address) => encodeRecord(type, address))]);
}

/** Encodes an answer record with a TTL of one minute. */
function encodeRecord(type: number, address: string): Buffer {
  const bytes = type === A ? Buffer.from(address.split('.').map(Number)) : encodeIPv6(address);
  const head = Buffer.from([0xc0, HEADER, 0, type, 0, 1, 0, 0, 0, 60, 0, bytes.length]);
  return Buffer.concat([head, bytes]);
}

function encodeIPv6(address: string): Buffer {
  const [left = '', right = ''] = address.split('::');
  const groups = (text: string) => text.split(':').filter((group) => group !== '');
  const [head, tail] = [groups(left), groups(right)];
  const zeros = Array.from({ length: 8 - head.length - tail.length }, () => '0');
  return Buffer.from([...head, ...zeros, ...tail].map((group) => group.padStart(4, '0')).join(''), 'hex');
}
