// A name server on loopback that answers as a test tells it to, or not at all.

import { createSocket } from 'node:dgram';
import { isIPv4 } from 'node:net';

/** The addresses of a name; none for a name that is not there, undefined for silence. */
export type Zone = (name: string) => readonly string[] | undefined;

export interface DnsServer {
  /** As resolvers take it. */
  readonly address: string;
  /** Queried names, in order. */
  readonly queries: readonly string[];
  close(): Promise<void>;
}

/** Listens on a free UDP port. */
export async function startDnsServer(zone: Zone): Promise<DnsServer> {
  const socket = createSocket('udp4');
  const queries: string[] = [];
  socket.on('message', (query, { port, address }) => {
    const { name, type, end } = questionOf(query);
    queries.push(name);
    const addresses = zone(name);
    if (addresses !== undefined) socket.send(reply(query.subarray(0, end), type, addresses), port, address);
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

function questionOf(query: Buffer): { readonly name: string; readonly type: number; readonly end: number } {
  const labels: string[] = [];
  let at = HEADER;
  for (let length = query[at] ?? 0; length > 0; length = query[at] ?? 0) {
    labels.push(query.toString('latin1', at + 1, at + 1 + length));
    at += 1 + length;
  }
  return { name: labels.join('.'), type: query.readUInt16BE(at + 1), end: at + 5 };
}

function reply(question: Buffer, type: number, addresses: readonly string[]): Buffer {
  const wanted = addresses.filter((address) => type === (isIPv4(address) ? A : AAAA));
  const head = Buffer.from(question);
  // An answer, recursion available; "no such name" if there is none of either kind.
  head.writeUInt16BE(addresses.length === 0 ? 0x8183 : 0x8180, 2);
  head.writeUInt16BE(wanted.length, 6);
  head.writeUInt32BE(0, 8);
  return Buffer.concat([head, ...wanted.map((address) => record(type, address))]);
}

/** A record for the name of the question, good for a minute. */
function record(type: number, address: string): Buffer {
  const bytes = type === A ? Buffer.from(address.split('.').map(Number)) : sixteenBytes(address);
  const head = Buffer.from([0xc0, HEADER, 0, type, 0, 1, 0, 0, 0, 60, 0, bytes.length]);
  return Buffer.concat([head, bytes]);
}

function sixteenBytes(address: string): Buffer {
  const [left = '', right = ''] = address.split('::');
  const groups = (text: string) => text.split(':').filter((group) => group !== '');
  const [head, tail] = [groups(left), groups(right)];
  const zeros = Array.from({ length: 8 - head.length - tail.length }, () => '0');
  return Buffer.from([...head, ...zeros, ...tail].map((group) => group.padStart(4, '0')).join(''), 'hex');
}
