import { getCACertificates, setDefaultCACertificates } from 'node:tls';
import { inspect } from 'node:util';
import { afterEach, describe, expect, it } from '@jest/globals';
import { createAuthority, issueServerCertificate, LOOPBACK_NAMES } from '../../src/std/x509/certificates.ts';
import { createProxyPolicy, type ProxySettings } from '../../src/targets/dial-policy.ts';
import type { RegisteredCluster } from '../../src/targets/registry.ts';
import { freePorts } from '../support/ports.ts';
import type { WireHandler } from '../support/wire-server.ts';
import { type ConnectProxy, type ConnectProxyOptions, startConnectProxy } from './connect-proxy.ts';
import { IssuerWorld } from './issuer-world.ts';
import { aCredential, CREDENTIAL, registered } from './registration.ts';
import { authority, errorStatus, grant, SUBJECT } from './wire-target.ts';

const NAME = 'prod.example.test';
const BASIC = `Basic ${Buffer.from('purser:pass-of-proxy').toString('base64')}`;
const ROOTS = getCACertificates('default');

let world: IssuerWorld | undefined;
let proxy: ConnectProxy | undefined;

afterEach(async () => {
  await world?.close();
  await proxy?.close();
  setDefaultCACertificates(ROOTS);
});

const respond: WireHandler = (request, reply) => {
  if (request.path.endsWith('/token')) grant(request, reply);
  else reply.json(404, errorStatus(404, 'not found'));
};

const portOf = (target: string) => Number(target.split(':')[1]);

/** Starts a target that only a proxy can reach: its name does not resolve. */
async function serveTarget(options: { readonly allowLoopback: boolean; readonly env?: ProxySettings }) {
  const { allowLoopback, env = {} } = options;
  world = new IssuerWorld({ allowLoopback, proxyFor: createProxyPolicy(env) });
  const target = await world.serve(respond, [NAME]);
  const { port } = new URL(target.url);
  return { world, target, host: `${NAME}:${port}`, url: `https://${NAME}:${port}` };
}

describe('createTarget with a proxy in the environment', () => {
  /** Starts a target behind the proxy of the environment; dialing loopback is not allowed. */
  async function createProxiedTarget({ noProxy = '', isRejecting = false } = {}) {
    proxy = await startConnectProxy((target) => (isRejecting ? undefined : portOf(target)));
    const httpsProxy = `http://purser:pass-of-proxy@127.0.0.1:${proxy.port}`;
    return { proxy, ...(await serveTarget({ allowLoopback: false, env: { httpsProxy, noProxy } })) };
  }

  it('sends requests through a tunnel that the proxy cannot read', async () => {
    const { world: issuing, proxy: tunnel, target, host, url } = await createProxiedTarget();
    const { token } = await issuing.issue(registered({ servers: [url], ca: authority.certificate }));

    expect(token.reveal()).toMatch(/^eyJ/);
    expect(target.requests.map(({ headers }) => headers.authorization)).toEqual([`Bearer ${CREDENTIAL}`, `Bearer ${CREDENTIAL}`]);
    expect(tunnel.requests).toEqual([{ target: host, authorization: BASIC }]);
    expect(tunnel.passed()).not.toContain(CREDENTIAL);
  });

  it('rejects a server behind the proxy with an untrusted certificate', async () => {
    const { world: issuing, target, url } = await createProxiedTarget();
    const other = createAuthority(Date.now()).certificate;
    const failure = await issuing.failure(registered({ servers: [url], ca: other }));

    expect([failure.reason, target.requests]).toEqual(['TLSVerifyFailed', []]);
  });

  it('reports ClusterUnreachable without the proxy password when the proxy rejects the tunnel', async () => {
    const { world: issuing, url } = await createProxiedTarget({ isRejecting: true });
    const failure = await issuing.failure(registered({ servers: [url], ca: authority.certificate }));

    expect(failure.reason).toBe('ClusterUnreachable');
    expect(inspect(failure, { depth: 20 })).not.toContain('pass-of-proxy');
  });

  it('dials a server in NO_PROXY directly', async () => {
    const { world: issuing, proxy: tunnel, url } = await createProxiedTarget({ noProxy: '.example.test' });
    const failure = await issuing.failure(registered({ servers: [url], ca: authority.certificate }));

    // The name does not exist; a resolver may take longer to report this than a request may take.
    expect(failure.reason).toMatch(/^Cluster(Unreachable|Timeout)$/);
    expect(tunnel.requests).toEqual([]);
  });

  it.each(['https://169.254.169.254', 'https://127.0.0.1:6443', 'https://localhost:6443'])(
    'rejects the address %s before the proxy is dialed',
    async (server) => {
      const { world: issuing, proxy: tunnel } = await createProxiedTarget();
      const failure = await issuing.failure(registered({ servers: [server], ca: authority.certificate }));

      expect([failure.reason, tunnel.requests]).toEqual(['AddressNotAllowed', []]);
    },
  );
});

describe('createTarget with a proxy in the credential', () => {
  const certificate = issueServerCertificate(authority, LOOPBACK_NAMES, Date.now());
  const tls = { cert: certificate.certificate, key: certificate.key };

  function atProxy(servers: readonly string[], proxyUrl: string): RegisteredCluster {
    const credential = aCredential({ token: CREDENTIAL, server: servers.join('\n'), proxy: proxyUrl });
    return registered({ servers, ca: authority.certificate, credential });
  }

  /** Starts a target behind a proxy on loopback, which the dial rules allow. */
  async function serveBehindProxy(options: ConnectProxyOptions = {}, portFor: (target: string) => number | undefined = portOf) {
    proxy = await startConnectProxy(portFor, options);
    return { proxy, ...(await serveTarget({ allowLoopback: true })) };
  }

  it('sends token requests, reviews and anchor requests through the proxy despite HTTPS_PROXY and NO_PROXY', async () => {
    proxy = await startConnectProxy(portOf);
    const [unusedPort] = await freePorts(1);
    const env = { httpsProxy: `http://127.0.0.1:${unusedPort}`, noProxy: '*' };
    const { world: issuing, target, url, host } = await serveTarget({ allowLoopback: true, env });
    const cluster = atProxy([url], `http://127.0.0.1:${proxy.port}`);
    const { signal } = new AbortController();
    const { token } = await issuing.issue(cluster);
    await issuing.issuer.review(cluster, { token, audiences: [], subject: SUBJECT }, signal).catch(() => undefined);
    await issuing.issuer.deleteAnchor(cluster, { namespace: 'deploy', name: 'anchor' }, signal).catch(() => undefined);

    const paths = target.requests.map(({ method, path }) => `${method} ${path.split('/').at(-1)}`);
    expect(paths).toEqual(['POST selfsubjectreviews', 'POST token', 'POST tokenreviews', 'GET anchor']);
    expect(new Set(proxy.requests)).toEqual(new Set([{ target: host, authorization: undefined }]));
    expect(proxy.passed()).not.toContain(CREDENTIAL);
  });

  it('sends requests to a loopback server through the proxy', async () => {
    const { world: issuing, proxy: tunnel, target } = await serveBehindProxy();
    const failure = await issuing.failure(atProxy([target.url], `http://127.0.0.1:${tunnel.port}`));

    // The certificate of the server is for another name.
    expect([failure.reason, tunnel.requests.length]).toEqual(['TLSVerifyFailed', 1]);
  });

  it.each(['localhost', '127.0.0.1'])('sends user and password to the https proxy %s with a trusted certificate', async (proxyHost) => {
    setDefaultCACertificates([authority.certificate]);
    const { world: issuing, proxy: tunnel, url, host } = await serveBehindProxy({ tls });
    const { token } = await issuing.issue(atProxy([url], `https://purser:pass-of-proxy@${proxyHost}:${tunnel.port}`));

    expect(token.reveal()).toMatch(/^eyJ/);
    expect(tunnel.requests).toEqual([{ target: host, authorization: BASIC }]);
  });

  it('does not trust the certificate authority of the cluster for the proxy', async () => {
    const { world: issuing, proxy: tunnel, url } = await serveBehindProxy({ tls });
    const failure = await issuing.failure(atProxy([url], `https://purser:pass-of-proxy@localhost:${tunnel.port}`));

    expect(failure).toMatchObject({ reason: 'ClusterUnreachable', code: 'ERR_PROXY_UNREACHABLE' });
    expect(failure.detail).toMatch(/connection to the proxy failed with \w+_\w*VERIFY\w*$/);
    expect(tunnel.requests).toEqual([]);
  });

  it('rejects a certificate of the proxy for another name', async () => {
    const other = issueServerCertificate(authority, ['proxy.example.test'], Date.now());
    setDefaultCACertificates([authority.certificate]);
    const { world: issuing, proxy: tunnel, url } = await serveBehindProxy({ tls: { cert: other.certificate, key: other.key } });
    const failure = await issuing.failure(atProxy([url], `https://localhost:${tunnel.port}`));

    expect(failure).toMatchObject({ reason: 'ClusterUnreachable', code: 'ERR_PROXY_UNREACHABLE' });
    expect(tunnel.requests).toEqual([]);
  });

  it.each([
    [407, 'ERR_PROXY_REJECTED', 'the proxy rejected the tunnel with status 407'],
    [302, 'ERR_PROXY_REJECTED', 'the proxy rejected the tunnel with status 302'],
    [503, 'ERR_PROXY_TUNNEL_FAILED', 'the proxy could not connect to the cluster, and responded with status 503'],
  ])('reports status %i from the proxy as %s without the address of the proxy', async (rejection, code, detail) => {
    const { world: issuing, proxy: tunnel, target, url } = await serveBehindProxy({ rejection }, () => undefined);
    const failure = await issuing.failure(atProxy([url], `http://127.0.0.1:${tunnel.port}`));

    expect(failure).toMatchObject({ reason: 'ClusterUnreachable', code });
    expect(failure.detail).toMatch(new RegExp(`: ${detail}$`));
    expect(inspect(failure, { depth: 20 })).not.toContain(`${tunnel.port}`);
    expect(target.requests).toEqual([]);
  });

  it('reports a stopped proxy as ERR_PROXY_UNREACHABLE without its address and password', async () => {
    const { world: issuing, proxy: tunnel, url } = await serveBehindProxy({ tls });
    const cluster = atProxy([url], `https://purser:pass-of-proxy@127.0.0.1:${tunnel.port}`);
    await tunnel.close();
    const failure = await issuing.failure(cluster);

    expect(failure).toMatchObject({ reason: 'ClusterUnreachable', code: 'ERR_PROXY_UNREACHABLE' });
    expect(failure.detail).toMatch(/connection to the proxy failed with ECONNREFUSED$/);
    expect(inspect(failure, { depth: 20 })).not.toMatch(new RegExp(`pass-of-proxy|${tunnel.port}`));
  });

  it('tries another address of the cluster after the proxy rejects one', async () => {
    const { world: issuing, proxy: tunnel, url } = await serveBehindProxy({}, (name) => (name.startsWith(NAME) ? portOf(name) : undefined));
    const { token } = await issuing.issue(atProxy(['https://elsewhere.example.test', url], `http://127.0.0.1:${tunnel.port}`));

    expect(token.reveal()).toMatch(/^eyJ/);
    expect(tunnel.requests.map(({ target }) => target)).toEqual(['elsewhere.example.test:443', new URL(url).host]);
  });

  it.each(['http://127.0.0.1:3128', 'http://localhost:3128', 'https://[::1]', 'http://169.254.169.254', 'https://[fd00:ec2::254]'])(
    'rejects the address of the proxy %s',
    async (proxyUrl) => {
      const { world: issuing, url } = await serveTarget({ allowLoopback: false });
      const failure = await issuing.failure(atProxy([url], proxyUrl));

      expect(failure.reason).toBe('AddressNotAllowed');
      expect(failure.detail).toMatch(/connections to the address of the proxy are not allowed$/);
    },
  );
});
