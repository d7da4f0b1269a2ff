import { X509Certificate } from 'node:crypto';
import { once } from 'node:events';
import { type AddressInfo, connect as connectSocket } from 'node:net';
import { connect, createServer, type TLSSocket } from 'node:tls';
import { describe, expect, it } from '@jest/globals';
import {
  type Certificate,
  createAuthority,
  issueClientCertificate,
  issueServerCertificate,
  LOOPBACK_NAMES,
} from '../../../src/std/x509/certificates.ts';

const now = Date.now();
const authority = createAuthority(now);
const server = issueServerCertificate(authority, [...LOOPBACK_NAMES, '2001:db8::ff00:42:8329', '::ffff:10.0.0.1'], now);
const client = issueClientCertificate(authority, { name: 'jörg', groups: ['system:masters', 'team-a'] }, now);

describe('certificates', () => {
  it('issues certificates of the authority with the stated validity', () => {
    for (const { certificate, expiresAt } of [authority, server, client]) {
      const parsed = new X509Certificate(certificate);
      expect(parsed.verify(new X509Certificate(authority.certificate).publicKey)).toBe(true);
      expect(Math.floor(expiresAt / 1000)).toBe(Date.parse(parsed.validTo) / 1000);
    }
    expect(new X509Certificate(authority.certificate).ca).toBe(true);
    expect(new X509Certificate(server.certificate).ca).toBe(false);
  });

  it('limits certificates to the validity of the authority', () => {
    expect(issueServerCertificate(authority, ['localhost'], authority.expiresAt - 1000).expiresAt).toBe(authority.expiresAt);
  });

  it('includes DNS names and addresses', () => {
    const parsed = new X509Certificate(server.certificate);
    expect(parsed.checkHost('kubernetes.default.svc')).toBe('kubernetes.default.svc');
    expect(['127.0.0.1', '::1', '2001:db8::ff00:42:8329', '::ffff:10.0.0.1'].map((ip) => parsed.checkIP(ip))).not.toContain(undefined);
  });

  it('supports expiry after 2049', () => {
    const distant = createAuthority(Date.UTC(2060, 0));
    expect(new X509Certificate(distant.certificate).validTo).toContain('2069');
  });
});

describe('client certificates in a TLS handshake', () => {
  it('presents the subject to a server that trusts the authority', async () => {
    const { groups } = { groups: ['system:masters', 'team-a'] };
    const fingerprint = new X509Certificate(client.certificate).fingerprint256.replaceAll(':', '').toLowerCase();
    expect(await presentCertificate(client)).toEqual({ trusted: true, commonName: 'jörg', organizations: groups, fingerprint });
  });

  it('reports a certificate of another authority as untrusted', async () => {
    const stranger = issueClientCertificate(createAuthority(now), { name: 'admin', groups: [] }, now);
    expect(await presentCertificate(stranger)).toMatchObject({ trusted: false, commonName: 'admin', organizations: [] });
  });

  it('reports a certificate without client usage as untrusted', async () => {
    expect(await presentCertificate(server)).toMatchObject({ trusted: false });
  });

  it('presents no certificate if the client has none', async () => {
    expect(await presentCertificate(undefined)).toBeUndefined();
  });
});

/** Returns a client's certificate as the server receives it in a real handshake. */
async function presentCertificate(certificate: Certificate | undefined): Promise<ClientCertificate | undefined> {
  const tls = createServer({
    cert: server.certificate,
    key: server.key,
    ca: authority.certificate,
    requestCert: true,
    rejectUnauthorized: false,
  });
  tls.listen(0, '127.0.0.1');
  await once(tls, 'listening');
  const { port } = tls.address() as AddressInfo;
  const accepted = once(tls, 'secureConnection') as Promise<[TLSSocket]>;
  const socket = connect({
    socket: connectSocket(port, '127.0.0.1'),
    host: 'localhost',
    servername: 'localhost',
    ca: authority.certificate,
    ...(certificate && { cert: certificate.certificate, key: certificate.key }),
  });
  const [peer] = await accepted;
  const seen = clientCertificateOf(peer);
  socket.destroy();
  peer.destroy();
  tls.close();
  return seen;
}

interface ClientCertificate {
  readonly trusted: boolean;
  readonly commonName: string;
  readonly organizations: readonly string[];
  /** SHA-256 of the certificate, in lowercase hexadecimal. */
  readonly fingerprint: string;
}

/** Returns the certificate that a client presented; undefined if it presented none. */
function clientCertificateOf(socket: TLSSocket): ClientCertificate | undefined {
  const { subject, fingerprint256 } = socket.getPeerCertificate();
  if ((subject as unknown) === undefined) return undefined;
  return {
    trusted: socket.authorized,
    commonName: [subject.CN].flat().at(-1) ?? '',
    organizations: [subject.O ?? []].flat(),
    fingerprint: fingerprint256.replaceAll(':', '').toLowerCase(),
  };
}
