import { X509Certificate } from 'node:crypto';
import { once } from 'node:events';
import type { AddressInfo } from 'node:net';
import { connect, createServer } from 'node:tls';
import { afterAll, beforeAll, beforeEach, describe, expect, it } from '@jest/globals';
import { type ApiServer, startApiServer } from '../../apiserver/server.ts';
import { FacadeConfigMap } from '../../src/api/names.ts';
import { ConfigMaps, Namespaces, Secrets } from '../../src/api/resources.ts';
import { createHubCertificateSource, type HubCertificateOptions } from '../../src/facade/certificate-secret.ts';
import { KubeClient } from '../../src/kube/client.ts';
import { createFixedConfig } from '../../src/kube/kube-config.ts';
import { createTransport } from '../../src/kube/transport.ts';
import { systemClock } from '../../src/std/clock.ts';
import { createAuthority, issueServerCertificate } from '../../src/std/x509/certificates.ts';
import { createLogger } from '../../src/telemetry/logger.ts';
import { FakeClock } from '../support/clock.ts';
import { newFolder } from '../support/folders.ts';
import { TEST_USERS } from '../support/users.ts';
import { FOREIGN_AUTHORITIES } from './foreign-authorities.ts';

const NAME = 'purser-facade-tls';
const DAY_MS = 86_400_000;

let server: ApiServer;
let hub: KubeClient;
let namespace = '';
let clock: FakeClock;
let logged: string[] = [];

beforeAll(async () => {
  const options = { port: 0, issuer: 'https://hub.test', tokens: TEST_USERS, report: (error: unknown) => expect(error).toBeUndefined() };
  server = await startApiServer({ folder: await newFolder(), ...options });
  const cluster = { name: 'hub', server: server.url, skipTLSVerify: false, caData: Buffer.from(server.ca).toString('base64') };
  const config = createFixedConfig(cluster, { name: 'admin', token: 'admintoken' });
  hub = new KubeClient(createTransport(config, { clock: systemClock }), 'tests');
});

beforeEach(async () => {
  const { metadata } = await hub.create(Namespaces, { metadata: { generateName: 'purser-' } });
  namespace = metadata.name ?? '';
  clock = new FakeClock(Date.now());
  logged = [];
});

afterAll(async () => {
  await hub.transport.close();
  await server.close();
});

const source = (options: Partial<HubCertificateOptions> = {}) =>
  createHubCertificateSource({
    hub,
    namespace,
    name: NAME,
    mayIssue: true,
    access: { path: 'orchestrator', audiences: [] },
    clock,
    log: createLogger({ level: 'warn', readable: false, write: (line) => void logged.push(line) }),
    ...options,
  });
const secret = () => hub.get(Secrets, { namespace, name: NAME });
const settings = async () => (await hub.get(ConfigMaps, { namespace, name: FacadeConfigMap.name })).data;
const published = async () => (await settings())?.['ca.crt'] ?? '';

describe('createHubCertificateSource', () => {
  it('issues one certificate for all replicas, valid for the name of the Service', async () => {
    const certificates = await Promise.all([1, 2, 3, 4].map(() => source()()));
    expect(new Set(certificates.map(({ cert }) => cert)).size).toBe(1);

    const ca = await published();
    const listening = createServer({ cert: certificates[0]?.cert, key: certificates[0]?.key }).listen(0, '127.0.0.1');
    await once(listening, 'listening');
    const { port } = listening.address() as AddressInfo;
    const socket = connect({ port, host: '127.0.0.1', servername: `purser.${namespace}.svc`, ca });
    await once(socket, 'secureConnect');
    expect(socket.authorized).toBe(true);
    socket.destroy();
    listening.close();
  });

  it('rejects if the Secret does not exist and the process issues no certificate', async () => {
    await expect(source({ mayIssue: false })()).rejects.toThrow(`Secret ${namespace}/${NAME} was not found`);
    const first = await source()();
    expect(await source({ mayIssue: false })()).toEqual(first);
  });

  it('keeps a certificate of another issuer and publishes its CA', async () => {
    const data = { 'tls.crt': base64('other'), 'tls.key': base64('key'), 'ca.crt': base64('authority') };
    await hub.create(Secrets, { metadata: { namespace, name: NAME }, data });
    expect(await source()()).toEqual({ cert: 'other', key: 'key' });
    expect(await published()).toBe('authority');
  });

  it('removes the published CA if the Secret has no CA certificate', async () => {
    await hub.create(Secrets, {
      metadata: { namespace, name: NAME },
      data: { 'tls.crt': base64('other'), 'tls.key': base64('key') },
    });
    await source()();
    expect(await published()).toBe('');
    await hub.update(ConfigMaps, { metadata: { namespace, name: FacadeConfigMap.name }, data: { 'ca.crt': 'another authority' } });
    await source()();
    expect(await published()).toBe('');
  });

  it('publishes the address, the path and the accepted audiences together with the CA, and updates them', async () => {
    const data = { 'tls.crt': base64('other'), 'tls.key': base64('key'), 'ca.crt': base64('authority') };
    await hub.create(Secrets, { metadata: { namespace, name: NAME }, data });
    await source()();
    expect(await settings()).toEqual({ 'ca.crt': 'authority', path: 'orchestrator' });
    const access = { server: 'https://purser.example.com', path: 'kubernetes', audiences: ['facade', 'other'] };
    await source({ access })();
    expect(await settings()).toEqual({
      'ca.crt': 'authority',
      server: 'https://purser.example.com',
      path: 'kubernetes',
      audiences: 'facade,other',
    });
    await source()();
    expect(await settings()).toEqual({ 'ca.crt': 'authority', path: 'orchestrator' });
  });

  it("keeps another issuer's certificate if the Secret also has the key of Purser's CA", async () => {
    await source()();
    const otherAuthority = createAuthority(Date.now());
    const { certificate, key } = issueServerCertificate(otherAuthority, ['purser'], Date.now());
    // cert-manager keeps unknown keys of the Secret.
    const data = { 'tls.crt': base64(certificate), 'tls.key': base64(key), 'ca.crt': base64(otherAuthority.certificate) };
    await hub.apply(Secrets, { metadata: { namespace, name: NAME }, data }, { force: true });
    expect((await secret()).data).toHaveProperty(['ca.key']);

    for (const days of [0, 300]) {
      clock.advance(days * DAY_MS);
      expect(await source()()).toEqual({ cert: certificate, key });
      expect(await published()).toBe(otherAuthority.certificate);
    }
  });

  it.each(['tls.crt', 'tls.key'])('rejects while the Secret has no %s', async (missing) => {
    const certificate = source();
    const first = await certificate();
    const { [missing]: _, ...data } = (await secret()).data ?? {};
    await hub.delete(Secrets, { namespace, name: NAME });
    await hub.create(Secrets, { metadata: { namespace, name: NAME }, data });

    expect(await certificate()).toEqual(first);
    clock.advance(600_000);
    await expect(certificate()).rejects.toThrow(`Secret ${namespace}/${NAME} has no ${missing}`);
  });

  it('reads the Secret once for concurrent calls, and again after a failure', async () => {
    let reads = 0;
    const methods = { create: hub.create.bind(hub), update: hub.update.bind(hub), get: hub.get.bind(hub) };
    const get: typeof hub.get = async (resource, ...rest) => {
      if (resource === (Secrets as unknown)) reads += 1;
      return await hub.get(resource, ...rest);
    };
    const certificate = source({ hub: { ...methods, get }, mayIssue: false });
    const all = await Promise.allSettled([certificate(), certificate()]);
    expect([reads, all.map(({ status }) => status)]).toEqual([1, ['rejected', 'rejected']]);
    await source()();
    await Promise.all([certificate(), certificate()]);
    expect(reads).toBe(2);
  });

  it('reads the Secret again after ten minutes', async () => {
    const certificate = source();
    const first = await certificate();
    await hub.update(Secrets, { ...(await secret()), data: { 'tls.crt': base64('other'), 'tls.key': base64('key') } });
    expect(await certificate()).toEqual(first);
    clock.advance(600_000);
    expect(await certificate()).toEqual({ cert: 'other', key: 'key' });
  });

  it('renews the certificate before expiry with the same CA', async () => {
    const first = await source()();
    const ca = await published();
    clock.advance(274 * DAY_MS);
    expect(await source()()).toEqual(first);
    clock.advance(2 * DAY_MS);
    const second = await source()();

    expect(second.cert).not.toBe(first.cert);
    expect(new X509Certificate(second.cert).verify(new X509Certificate(ca).publicKey)).toBe(true);
    expect(await published()).toBe(ca);
  });

  it('serves the current certificate if its renewal fails, logs the failure once, and tries again after a minute', async () => {
    const first = await source()();
    clock.advance(276 * DAY_MS);
    const failing = new Set<unknown>([Secrets]);
    const certificate = source({ hub: hubWithoutUpdates(failing) });
    expect(await certificate()).toEqual(first);
    clock.advance(60_000);
    expect(await certificate()).toEqual(first);
    expect(logged).toEqual([expect.stringContaining('cannot renew serving certificate; serving the current one')]);

    failing.clear();
    expect(await certificate()).toEqual(first);
    clock.advance(60_000);
    expect((await certificate()).cert).not.toBe(first.cert);
    expect(logged).toHaveLength(1);
  });

  it('logs a failed renewal and a failed publication separately', async () => {
    await source()();
    clock.advance(276 * DAY_MS);
    const failing = new Set<unknown>([ConfigMaps]);
    const certificate = source({ hub: hubWithoutUpdates(failing), access: { path: 'changed', audiences: [] } });
    await certificate();
    failing.add(Secrets);
    clock.advance(280 * DAY_MS);
    await certificate();
    expect(logged).toEqual([
      expect.stringContaining('cannot publish address and CA of the façade; retrying'),
      expect.stringContaining('cannot renew serving certificate; serving the current one'),
    ]);
  });

  it('keeps the certificate whose CA is published until the CA of a new certificate is published', async () => {
    const failing = new Set<unknown>();
    const certificate = source({ hub: hubWithoutUpdates(failing) });
    const first = await certificate();
    const ca = await published();
    await hub.delete(Secrets, { namespace, name: NAME });
    failing.add(ConfigMaps);
    clock.advance(600_000);
    expect(await certificate()).toEqual(first);
    expect(await published()).toBe(ca);

    failing.clear();
    clock.advance(60_000);
    const second = await certificate();
    expect(second.cert).not.toBe(first.cert);
    expect(new X509Certificate(second.cert).verify(new X509Certificate(await published()).publicKey)).toBe(true);
  });

  it.each([
    ['a conflict', 400, false],
    ['the end of the published certificate', 366 * 24 * 60, true],
  ])('treats a new CA as unpublished after %s', async (_, minutes, isNew) => {
    const failing = new Set<unknown>();
    const conflicting: typeof hub.update = async (resource, object, ...rest) => {
      if (failing.has(resource))
        await hub.patch(ConfigMaps, { namespace, name: FacadeConfigMap.name }, { metadata: { labels: { a: 'b' } } });
      return await hub.update(resource, object, ...rest);
    };
    const certificate = source({ hub: { create: hub.create.bind(hub), get: hub.get.bind(hub), update: conflicting } });
    const first = await certificate();
    await hub.delete(Secrets, { namespace, name: NAME });
    failing.add(ConfigMaps);
    clock.advance(minutes * 60_000);
    const second = await certificate();
    expect(second.cert !== first.cert).toBe(isNew);
    expect(logged).toEqual([expect.stringContaining('cannot publish address and CA')]);
  });

  it('serves a certificate at the start even if the hub fails after the first request', async () => {
    await source()();
    let requests = 0;
    const get: typeof hub.get = async (...args) => {
      if (++requests > 1) throw new Error('hub is down');
      return await hub.get(...args);
    };
    const certificate = source({ hub: { create: hub.create.bind(hub), update: hub.update.bind(hub), get } });
    const first = await certificate();
    expect(await certificate()).toEqual(first);
  });

  it('reports a conflict after which the certificate is still due for renewal', async () => {
    const first = await source()();
    clock.advance(276 * DAY_MS);
    const update: typeof hub.update = async (resource, object, ...rest) => {
      await hub.patch(Secrets, { namespace, name: NAME }, { metadata: { labels: { changed: 'true' } } });
      return await hub.update(resource, object, ...rest);
    };
    const certificate = source({ hub: { create: hub.create.bind(hub), get: hub.get.bind(hub), update } });
    expect(await certificate()).toEqual(first);
    expect(logged).toEqual([expect.stringContaining('cannot renew serving certificate')]);
  });

  it('rejects if the renewal fails after the certificate has expired', async () => {
    await source()();
    clock.advance(366 * DAY_MS);
    await expect(source({ hub: hubWithoutUpdates(new Set<unknown>([Secrets])) })()).rejects.toThrow('no permission');
  });

  it.each([
    ['has lost its CA certificate', () => null],
    ['has the CA certificate of another key', () => base64(createAuthority(Date.now()).certificate)],
    ['has a malformed CA certificate', () => base64('junk')],
  ])('renews the certificate with the CA in the chain of the old certificate if the Secret %s', async (_, certificate) => {
    const first = await source()();
    const ca = await published();
    await hub.patch(Secrets, { namespace, name: NAME }, { data: { 'ca.crt': certificate() } });
    clock.advance(276 * DAY_MS);
    const { cert } = await source()();

    expect(cert).not.toBe(first.cert);
    expect(await published()).toBe(ca);
    expect(new X509Certificate(cert).verify(new X509Certificate(ca).publicKey)).toBe(true);
  });

  it('keeps other keys of the Secret when it renews the certificate', async () => {
    await source()();
    await hub.patch(Secrets, { namespace, name: NAME }, { data: { extra: base64('kept') } });
    clock.advance(276 * DAY_MS);
    await source()();
    expect((await secret()).data?.['extra']).toBe(base64('kept'));
  });

  it('renews the certificate with a new CA if the Secret contains the CA certificate nowhere', async () => {
    const first = await source()();
    const ca = await published();
    const leaf = first.cert.slice(0, first.cert.indexOf('-----END CERTIFICATE-----') + '-----END CERTIFICATE-----'.length);
    await hub.patch(Secrets, { namespace, name: NAME }, { data: { 'ca.crt': null, 'tls.crt': base64(leaf) } });
    clock.advance(276 * DAY_MS);
    const { cert } = await source()();

    expect(await published()).not.toBe(ca);
    expect(new X509Certificate(cert).verify(new X509Certificate(await published()).publicKey)).toBe(true);
  });

  it('keeps certificates that administrators have added to ca.crt, in any order, and renews with the same CA', async () => {
    await source()();
    const bundle = `${FOREIGN_AUTHORITIES[0].authority}${await published()}`;
    await hub.patch(Secrets, { namespace, name: NAME }, { data: { 'ca.crt': base64(bundle) } });
    const { resourceVersion } = (await secret()).metadata;
    await source()();
    expect((await secret()).metadata.resourceVersion).toBe(resourceVersion);
    clock.advance(276 * DAY_MS);
    const { cert } = await source()();

    expect(await published()).toBe(bundle);
    expect(cert.match(/BEGIN CERTIFICATE/g)).toHaveLength(2);
    expect(new X509Certificate(cert).verify(new X509Certificate(bundle.slice(FOREIGN_AUTHORITIES[0].authority.length)).publicKey)).toBe(
      true,
    );
  });

  it.each(FOREIGN_AUTHORITIES)('does not replace a certificate of another CA, $name, whose key is in the Secret', async (foreign) => {
    const { certificate, authority, authorityKey } = foreign;
    const texts = { 'tls.crt': certificate, 'tls.key': 'key', 'ca.crt': authority, 'ca.key': authorityKey };
    const data = Object.fromEntries(Object.entries(texts).map(([key, text]) => [key, base64(text)]));
    await hub.create(Secrets, { metadata: { namespace, name: NAME }, type: 'kubernetes.io/tls', data });
    clock.advance(new X509Certificate(certificate).validToDate.getTime() - 30 * DAY_MS - clock.now());
    expect(await source()()).toEqual({ cert: certificate, key: 'key' });
  });

  it('replaces and publishes the CA before it expires', async () => {
    await source()();
    const ca = await published();
    clock.advance(9.5 * 365 * DAY_MS);
    const { cert } = await source()();

    expect(await published()).not.toBe(ca);
    expect(new X509Certificate(cert).verify(new X509Certificate(await published()).publicKey)).toBe(true);
  });
});

/** Returns the hub; updates of the resources in `failing` fail. */
function hubWithoutUpdates(failing: ReadonlySet<unknown>): HubCertificateOptions['hub'] {
  const update: typeof hub.update = async (resource, ...rest) => {
    if (failing.has(resource)) throw new Error('no permission');
    return await hub.update(resource, ...rest);
  };
  return { create: hub.create.bind(hub), get: hub.get.bind(hub), update };
}

function base64(text: string): string {
  return Buffer.from(text).toString('base64');
}
