// The façade's certificate in files that somebody replaces, as new connections see it.

import { once } from 'node:events';
import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { connect, type TLSSocket } from 'node:tls';
import { afterEach, beforeEach, describe, expect, it } from '@jest/globals';
import { createAuthority, issueServerCertificate, LOOPBACK_NAMES } from '../../src/std/x509/certificates.ts';
import { eventually } from '../kube/eventually.ts';
import { FakeClock } from '../support/clock.ts';
import { newFolder } from '../support/folders.ts';
import { bytesOf, FacadeWorld } from './facade-world.ts';

const authority = createAuthority(Date.now());
const LOOK_MS = 10_000;

let clock: FakeClock;
let certFile: string;
let keyFile: string;
let world: FacadeWorld;

beforeEach(async () => {
  clock = new FakeClock(Date.now());
  const folder = await newFolder();
  certFile = join(folder, 'tls.crt');
  keyFile = join(folder, 'tls.key');
  await replace('first.test');
  world = await FacadeWorld.start({ clock, settings: { facadeTlsCert: certFile, facadeTlsKey: keyFile } });
});
afterEach(() => world.close());

async function replace(name: string): Promise<void> {
  const { certificate, key } = issueServerCertificate(authority, [name, ...LOOPBACK_NAMES], Date.now());
  await writeFile(keyFile, key);
  await writeFile(certFile, certificate);
}

async function open(): Promise<TLSSocket> {
  const socket = connect({ port: world.port, host: '127.0.0.1', ca: authority.certificate, ALPNProtocols: ['http/1.1'] });
  await once(socket, 'secureConnect');
  return socket;
}

/** The first name in the certificate that a new connection is shown. */
async function shown(): Promise<string> {
  const socket = await open();
  const { subjectaltname = '' } = socket.getPeerCertificate();
  socket.destroy();
  return /^DNS:([^,]+)/.exec(subjectaltname)?.[1] ?? '';
}

/** The façade looks at its files; resolves when it has found what is told in its log. */
async function looked(line: string): Promise<void> {
  const { length } = world.lines;
  clock.advance(LOOK_MS);
  await eventually(() => expect(world.lines.slice(length).join()).toContain(line));
}

describe('a certificate in files', () => {
  it('is shown to new connections once it is replaced, and old ones go on', async () => {
    const old = await open();
    expect(await shown()).toBe('first.test');
    await replace('second.test');
    expect(await shown()).toBe('first.test');

    await looked('there is a new certificate');
    expect(await shown()).toBe('second.test');
    old.write(bytesOf());
    expect(String((await once(old, 'data'))[0])).toMatch(/^HTTP\/1\.1 201 /);
    old.destroy();
  });

  it.each([
    ['is no certificate', async () => writeFile(certFile, 'nonsense')],
    [
      'is half replaced: the key is that of another one',
      async () => writeFile(keyFile, issueServerCertificate(authority, ['x'], Date.now()).key),
    ],
  ])('stays while the new one cannot be used, which is told, where it %s', async (_how, damage) => {
    await damage();
    await looked('the new certificate cannot be used, the old one stays');
    expect(await shown()).toBe('first.test');

    await replace('third.test');
    await looked('there is a new certificate');
    expect(await shown()).toBe('third.test');
  });
});
