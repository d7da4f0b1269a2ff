// A façade on a real TLS socket, with a scripted hub and target.

import { Subscription } from 'rxjs';
import type { CertificateSource } from '../../src/facade/certificate.ts';
import { createFacade, type Facade, type FacadeOptions, type FacadeSettings } from '../../src/facade/facade.ts';
import { ALL_LISTS } from '../../src/facade/lists.ts';
import { KubeClient } from '../../src/kube/client.ts';
import { createFixedConfig } from '../../src/kube/kube-config.ts';
import { createTransport } from '../../src/kube/transport.ts';
import { type Clock, systemClock } from '../../src/std/clock.ts';
import { createAuthority, issueServerCertificate, LOOPBACK_NAMES } from '../../src/std/x509/certificates.ts';
import { ClusterClients } from '../../src/targets/cluster-clients.ts';
import type { RegisteredCluster } from '../../src/targets/registry.ts';
import { createLogger } from '../../src/telemetry/logger.ts';
import { Metrics } from '../../src/telemetry/metrics.ts';
import type { ApiRequest, ApiResponse } from '../support/api-request.ts';
import { type Metric, parseExposition } from '../support/exposition.ts';
import { startWireServer, type WireHandler, type WireServer } from '../support/wire-server.ts';
import { registered, settings as targetSettings } from '../targets/registration.ts';
import { ACCOUNT_UID, authority, errorStatus, grant, startTarget } from '../targets/wire-target.ts';
import { isWhole, RawConnection, type RawResponse, responseOf } from './raw-connection.ts';

export interface FacadeWorldOptions extends Pick<FacadeOptions, 'connections' | 'keepAliveMs' | 'arrivalMs'> {
  readonly hub?: WireHandler;
  readonly target?: WireHandler;
  readonly settings?: Partial<FacadeSettings>;
  readonly clock?: Clock;
  readonly certificate?: CertificateSource;
}

const facadeAuthority = createAuthority(Date.now());

export class FacadeWorld {
  readonly hub: WireServer;
  readonly target: WireServer;
  readonly lines: string[] = [];
  readonly clients: ClusterClients;
  port = 0;
  clusters = new Map<string, RegisteredCluster>();
  readonly #metrics = new Metrics({
    build: { version: '1.2.3', node: 'v24' },
    tokens: { list: () => [] },
    sets: { list: () => [] },
    clusters: { list: () => [], has: (name) => this.clusters.has(name) },
  });
  readonly #closing: (() => Promise<unknown>)[] = [];
  #facade: Facade | undefined;

  private constructor(hub: WireServer, target: WireServer, clock: Clock) {
    this.hub = hub;
    this.target = target;
    this.clients = new ClusterClients(targetSettings(clock));
    this.clusters.set('prod-eu', registered({ name: 'prod-eu', servers: [target.url], ca: authority.certificate }));
    this.#closing.push(
      () => target.close(),
      () => hub.close(),
      () => this.clients.close(),
    );
  }

  static async start(options: FacadeWorldOptions = {}): Promise<FacadeWorld> {
    const { hub, target, settings, certificate, clock = systemClock, ...limits } = options;
    const world = new FacadeWorld(await startWireServer(hub ?? allowingHub()), await startTarget(target ?? issuingTarget()), clock);
    const cluster = { name: 'hub', server: world.hub.url, skipTLSVerify: false };
    const transport = createTransport(createFixedConfig(cluster, { name: 'purser', token: 'hub-credential' }), { clock });
    world.#closing.push(() => transport.close());
    const { certificate: cert, key } = issueServerCertificate(facadeAuthority, LOOPBACK_NAMES, Date.now());
    const facade = createFacade({
      hub: new KubeClient(transport, 'purser'),
      clients: world.clients,
      findRegistration: (name) => world.clusters.get(name),
      certificate: certificate ?? (async () => ({ cert, key })),
      clock,
      log: createLogger({ level: 'info', readable: false, write: (line) => world.lines.push(line) }),
      settings: { ...DEFAULTS, ...settings },
      metrics: world.#metrics,
      lists: { listings: ALL_LISTS, routes: [], run: () => new Subscription() },
      ...limits,
    });
    world.#facade = facade;
    world.#closing.push(() => facade.close(200));
    world.port = Number(new URL(await facade.listen()).port);
    return world;
  }

  /** Sends a request on its own connection. */
  async request(method: string, path: string, { headers = {}, body = '' }: ApiRequest = {}): Promise<ApiResponse> {
    const lines = ['Host: facade.test', ...Object.entries(headers).map(([name, value]) => `${name}: ${[value].flat().join(', ')}`)];
    return responseOf(await this.raw(bytesOf({ method, target: path, lines, body })));
  }

  /** Requests a token as a caller with permission. */
  post(
    body: unknown = TOKEN_REQUEST,
    { path = TOKEN_PATH, headers = {} }: { path?: string; headers?: Readonly<Record<string, string>> } = {},
  ): Promise<ApiResponse> {
    const text = typeof body === 'string' ? body : JSON.stringify(body);
    return this.request('POST', path, {
      headers: { authorization: `Bearer ${ALLOWED}`, 'content-type': 'application/json', ...headers },
      body: text,
    });
  }

  /** Opens a connection, to a proxy if `port` is its port, and from another loopback address if `localAddress` is set. */
  open({ port = this.port, localAddress }: { readonly port?: number; readonly localAddress?: string } = {}): Promise<RawConnection> {
    return RawConnection.open({ port, ca: facadeAuthority.certificate, localAddress });
  }

  /** Writes bytes, and reads until the response is complete or the connection is closed. */
  async raw(
    bytes: string | Buffer,
    { isEnough = isWhole, localAddress }: { isEnough?: (text: string) => boolean; localAddress?: string | undefined } = {},
  ): Promise<RawResponse> {
    const connection = await this.open({ ...(localAddress && { localAddress }) });
    void connection.write(bytes);
    return connection.read(isEnough).finally(() => connection.destroy());
  }

  /** Last path segments of the requests to the hub: the resources of its reviews. */
  get reviews(): readonly string[] {
    return this.hub.requests.map(({ path }) => path.split('/').at(-1) ?? '');
  }

  get tokenRequests(): WireServer['requests'] {
    return this.target.requests.filter(({ path }) => path.endsWith('/token'));
  }

  /** Returns the metrics by name. */
  async scrape(): Promise<ReadonlyMap<string, Metric>> {
    return parseExposition((await Array.fromAsync(this.#metrics.text())).join(''));
  }

  stop(graceMs: number): Promise<void> {
    return this.#facade?.close(graceMs) ?? Promise.resolve();
  }

  async close(): Promise<void> {
    for (const close of this.#closing.reverse()) await close();
  }
}

/** Bearer token of a caller with all permissions. */
export const ALLOWED = 'good-token';
/** Bearer token of a caller without permissions. */
export const DENIED = 'poor-token';
export const TOKEN_PATH = '/orchestrator/prod-eu/api/v1/namespaces/deploy/serviceaccounts/deployer/token';
export const TOKEN_REQUEST = { apiVersion: 'authentication.k8s.io/v1', kind: 'TokenRequest', spec: { audiences: ['api'] } };

const DEFAULTS: FacadeSettings = { facadePort: 0, bindAddress: '127.0.0.1', protectedNamespaces: ['kube-system'] };

/** Returns a hub that accepts two users, one of whom has all permissions. The hub publishes no signing keys. */
export function allowingHub(change: Partial<Record<'TokenReview' | 'SubjectAccessReview', (body: Review) => unknown>> = {}): WireHandler {
  return (request, reply) => {
    if (request.method === 'GET') return reply.json(404, {});
    const body = JSON.parse(request.body) as Review;
    const response =
      change[body.kind]?.(body) ?? (body.kind === 'TokenReview' ? toAuthenticated(body) : { allowed: body.spec.user === 'alice' });
    reply.json(201, { ...body, status: response });
  };
}

export interface Review {
  readonly kind: 'TokenReview' | 'SubjectAccessReview';
  readonly spec: {
    readonly token: string;
    readonly audiences?: readonly string[];
    readonly user: string;
    readonly resourceAttributes: Readonly<Record<string, string>>;
  };
}

function toAuthenticated({ spec }: Review): object {
  const username = { [ALLOWED]: 'alice', [DENIED]: 'bob' }[spec.token];
  if (username === undefined) return { user: {}, error: 'invalid bearer token' };
  return { authenticated: true, user: { username, uid: `${username}-uid`, groups: ['system:authenticated'] }, audiences: ['hub'] };
}

/** Returns a target that issues every requested token with a valid lifetime, and has every requested object. */
export function issuingTarget(): WireHandler {
  return (request, reply) => {
    if (request.method !== 'GET') {
      const { expirationSeconds } = (JSON.parse(request.body) as { spec: { expirationSeconds: number } }).spec;
      const isGranted = expirationSeconds >= 600 && expirationSeconds <= 2 ** 32;
      return isGranted ? grant(request, reply) : reply.json(422, errorStatus(422, 'no such lifetime', { reason: 'Invalid' }));
    }
    const spec = { serviceAccountName: 'deployer' };
    reply.json(200, { apiVersion: 'v1', kind: 'Object', metadata: { name: request.path.split('/').at(-1), uid: ACCOUNT_UID }, spec });
  };
}

export interface RawRequest {
  readonly method?: string;
  readonly target?: string;
  readonly version?: string;
  /** Header lines that replace those of a valid request. */
  readonly lines?: readonly string[];
  /** Further header lines. */
  readonly more?: readonly string[];
  readonly body?: string | Buffer;
}

/** Header lines of a valid request. */
export const VALID_LINES: readonly string[] = ['Host: facade.test', `Authorization: Bearer ${ALLOWED}`, 'Content-Type: application/json'];

/** Returns the bytes of a valid request with these changes. */
export function bytesOf(request: RawRequest = {}): Buffer {
  const {
    method = 'POST',
    target = TOKEN_PATH,
    version = '1.1',
    lines = VALID_LINES,
    more = [],
    body = JSON.stringify(TOKEN_REQUEST),
  } = request;
  const isFramed = [...lines, ...more].some((line) => /^(content-length|transfer-encoding)/i.test(line));
  const framing = isFramed ? [] : [`Content-Length: ${Buffer.byteLength(body)}`];
  const head = [`${method} ${target} HTTP/${version}`, ...lines, ...more, ...framing, '', ''].join('\r\n');
  return Buffer.concat([Buffer.from(head, 'latin1'), Buffer.from(body)]);
}
