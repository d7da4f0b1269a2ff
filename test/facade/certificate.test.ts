// The façade's certificate in files, as new connections receive it after a replacement.

import { once } from 'node:events';
import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { connect, type TLSSocket } from 'node:tls';
import { afterEach, beforeEach, describe, expect, it } from '@jest/globals';
import { createFileCertificateSource, logFailureOnce, type ServingCertificate } from '../../src/facade/certificate.ts';
import { createAuthority, issueServerCertificate, LOOPBACK_NAMES } from '../../src/std/x509/certificates.ts';
import { createLogger } from '../../src/telemetry/logger.ts';
import { eventually } from '../kube/eventually.ts';
import { FakeClock } from '../support/clock.ts';
import { newFolder } from '../support/folders.ts';
import { bytesOf, FacadeWorld } from './facade-world.ts';

const authority = createAuthority(Date.now());
const CHECK_MS = 10_000;

let clock: FakeClock;
let certFile: string;
let keyFile: string;
let world: FacadeWorld;
/** Number of times that the files have been read. */
let fileReads: number;

beforeEach(async () => {
  clock = new FakeClock(Date.now());
  const folder = await newFolder();
  certFile = join(folder, 'tls.crt');
  keyFile = join(folder, 'tls.key');
  await replace('first.test');
  const files = createFileCertificateSource(certFile, keyFile);
  fileReads = 0;
  const certificate = async () => {
    const found = await files();
    fileReads += 1;
    return found;
  };
  world = await FacadeWorld.start({ clock, certificate });
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

/** Returns the first name in the certificate that a new connection receives. */
async function servedName(): Promise<string> {
  const socket = await open();
  const { subjectaltname = '' } = socket.getPeerCertificate();
  socket.destroy();
  return /^DNS:([^,]+)/.exec(subjectaltname)?.[1] ?? '';
}

/** Lets the façade check its files; resolves when its log contains the message. */
async function checkUntilLogged(line: string): Promise<void> {
  const { length } = world.lines;
  clock.advance(CHECK_MS);
  await eventually(() => expect(world.lines.slice(length).join()).toContain(line));
}

/** Lets the façade check its unchanged files this many times. */
async function checkFiles(count: number): Promise<void> {
  for (let round = 0; round < count; round++) {
    const before = fileReads;
    clock.advance(CHECK_MS);
    await eventually(() => expect(fileReads).toBeGreaterThan(before));
  }
}

describe('createFileCertificateSource', () => {
  it('uses a replaced certificate for new connections and keeps open connections', async () => {
    const old = await open();
    expect(await servedName()).toBe('first.test');
    await replace('second.test');
    expect(await servedName()).toBe('first.test');

    await checkUntilLogged('serving certificate replaced');
    expect(await servedName()).toBe('second.test');
    old.write(bytesOf());
    expect(String((await once(old, 'data'))[0])).toMatch(/^HTTP\/1\.1 201 /);
    old.destroy();
  });

  it.each([
    ['is not a certificate', async () => writeFile(certFile, 'nonsense')],
    ['does not match the private key', async () => writeFile(keyFile, issueServerCertificate(authority, ['x'], Date.now()).key)],
  ])('keeps the serving certificate and logs a warning if the new one %s', async (_how, damage) => {
    await damage();
    await checkUntilLogged('cannot use new serving certificate; keeping the current one');
    expect(await servedName()).toBe('first.test');
    const { length } = world.lines;
    await checkFiles(2);
    expect(world.lines.slice(length)).toEqual([]);

    await replace('third.test');
    await checkUntilLogged('serving certificate replaced');
    expect(await servedName()).toBe('third.test');
  });
});

describe('logFailureOnce', () => {
  it('logs a failure to read the certificate once, and again after a success', async () => {
    const lines: string[] = [];
    const log = createLogger({ level: 'info', readable: false, write: (line) => void lines.push(line) });
    let found: ServingCertificate | undefined;
    const source = logFailureOnce(async () => {
      if (found === undefined) throw new Error('the hub is away');
      return found;
    }, log);
    const readTimes = async (count: number) => await Promise.allSettled(Array.from({ length: count }, source));

    await readTimes(2);
    await readTimes(2);
    expect(lines).toEqual([expect.stringMatching(/the hub is away.*cannot read serving certificate/)]);
    found = { cert: 'found', key: 'key' };
    expect(await source()).toBe(found);
    found = undefined;
    await readTimes(2);
    expect(lines).toHaveLength(2);
  });
});
