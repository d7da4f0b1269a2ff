// A hub and a façade as commands see them, with scripted responses, and a kubeconfig of a user.

import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import type { CommandHost } from '../../../src/cli/command.ts';
import { createAuthority, issueServerCertificate, LOOPBACK_NAMES } from '../../../src/std/x509/certificates.ts';
import { FakeClock } from '../../support/clock.ts';
import { newFolder } from '../../support/folders.ts';
import { type CommandResult, runPurser } from '../../support/run-purser.ts';
import { startWireServer, type WireHandler, type WireRequest, type WireServer } from '../../support/wire-server.ts';
import { errorStatus, jwt } from '../../targets/wire-target.ts';

const authority = createAuthority(Date.now());
const { certificate: cert, key } = issueServerCertificate(authority, [...LOOPBACK_NAMES, 'purser.purser-system.svc'], Date.now());
const CALLER = 'caller-token';
const HUB_TOKEN = 'hub-token-of-service-account';
export const AUDIENCE = 'https://kubernetes.default.svc';

/** Users of the kubeconfig, each with a context of the same name. */
const USERS = {
  token: { token: CALLER },
  certificate: {},
  basic: { username: 'a', password: 'b' },
  impersonating: { token: CALLER, as: 'other' },
};

export class CallerWorld {
  readonly folder: string;
  readonly kubeconfig: string;
  readonly authorityFile: string;
  readonly hub: WireServer;
  readonly facade: WireServer;
  readonly clock: FakeClock;
  /** Data of the ConfigMap; undefined if it does not exist. */
  published: Readonly<Record<string, string>> | undefined;
  apiAudiences: readonly string[] | undefined = [AUDIENCE];
  /** Time by which the clock of the façade and the cluster is ahead of the caller's clock, in milliseconds. */
  skewMs = 0;
  /** Handler that replaces the responses from the façade; undefined for valid responses. */
  rejection: WireHandler | undefined;
  issued = 0;

  private constructor(folder: string, hub: WireServer, facade: WireServer, clock: FakeClock) {
    this.folder = folder;
    this.kubeconfig = join(folder, 'config');
    this.authorityFile = join(folder, 'ca.crt');
    this.hub = hub;
    this.facade = facade;
    this.clock = clock;
    this.published = { 'ca.crt': authority.certificate, server: facade.url, path: 'orchestrator' };
    hub.handle((request, reply) => this.#respondAsHub(request, reply));
    facade.handle((request, reply) => (this.rejection ?? this.#respond)(request, reply));
  }

  static async start(now?: number): Promise<CallerWorld> {
    const hub = await startWireServer(() => {});
    const facade = await startWireServer(() => {}, { tls: { cert, key } });
    const world = new CallerWorld(await newFolder(), hub, facade, new FakeClock(now));
    await writeFile(world.authorityFile, authority.certificate);
    await world.writeKubeconfig();
    return world;
  }

  /** Writes the kubeconfig of the user; `token` replaces the token of the current context. */
  async writeKubeconfig(token = CALLER): Promise<void> {
    const users = Object.entries({ ...USERS, token: { token } }).map(([name, user]) => ({ name, user }));
    const contexts = users.map(({ name }) => ({ name, context: { cluster: 'hub', user: name } }));
    const clusters = [{ name: 'hub', cluster: { server: this.hub.url } }];
    await writeFile(this.kubeconfig, JSON.stringify({ clusters, users, contexts, 'current-context': 'token' }));
  }

  /** Environment of commands. */
  get env(): Readonly<Record<string, string>> {
    return { KUBECONFIG: this.kubeconfig, XDG_CACHE_HOME: join(this.folder, 'cache'), HOME: this.folder };
  }

  async run(line: string, host: Partial<CommandHost> = {}): Promise<CommandResult> {
    return await runPurser(line.split(' '), { clock: this.clock, env: this.env, ...host });
  }

  /** Requests for tokens that the façade received. */
  get tokenRequests(): readonly WireRequest[] {
    return this.facade.requests.filter(({ method }) => method === 'POST');
  }

  async close(): Promise<void> {
    await this.hub.close();
    await this.facade.close();
  }

  readonly #respondAsHub: WireHandler = ({ method, path }, reply) => {
    const metadata = { namespace: 'purser-system', name: path.split('/').at(-1), uid: 'u', resourceVersion: '1' };
    if (path.endsWith('/configmaps/purser-facade-ca') && this.published !== undefined)
      return reply.json(200, { metadata, data: this.published });
    if (method === 'POST' && path === '/api/v1/namespaces/team-a/serviceaccounts/ci/token')
      return reply.json(201, { status: { token: HUB_TOKEN } });
    reply.json(404, errorStatus(404, `${path} not found`, { reason: 'NotFound' }));
  };

  readonly #respond: WireHandler = ({ method, path, body, headers }, reply) => {
    const date = { date: new Date(this.#serverAt).toUTCString() };
    const isKnown = [CALLER, HUB_TOKEN, 'second-token'].some((token) => headers.authorization === `Bearer ${token}`);
    if (!isKnown) return reply.json(401, errorStatus(401, 'Unauthorized', { reason: 'Unauthorized' }));
    if (method === 'GET' && path === '/auth/v1/clusters/target-1') return reply.json(200, this.#cluster, date);
    const [, account] =
      /^\/orchestrator\/target-1\/api\/v1\/namespaces\/deploy\/serviceaccounts\/(deployer|other)\/token$/.exec(path) ?? [];
    if (method !== 'POST' || account === undefined) return reply.json(404, errorStatus(404, `"${path}" not found`, { reason: 'NotFound' }));
    this.issued += 1;
    const { spec } = JSON.parse(body) as { readonly spec: { readonly expirationSeconds?: number; readonly audiences: readonly string[] } };
    const seconds = spec.expirationSeconds ?? 3_600;
    const issuedAt = Math.floor(this.#serverAt / 1_000);
    const claims = {
      sub: `system:serviceaccount:deploy:${account}`,
      aud: spec.audiences,
      iat: issuedAt,
      exp: issuedAt + seconds,
      n: this.issued,
    };
    const status = { token: jwt(claims), expirationTimestamp: `${new Date((issuedAt + seconds) * 1_000).toISOString().slice(0, 19)}Z` };
    const warning = seconds > 3_600 ? { warning: '299 - "requested expiration shortened"' } : {};
    reply.json(201, { kind: 'TokenRequest', apiVersion: 'authentication.k8s.io/v1', metadata: {}, spec, status }, { ...date, ...warning });
  };

  get #serverAt(): number {
    return this.clock.now() + this.skewMs;
  }

  get #cluster(): object {
    return {
      apiVersion: 'registry.purser.dev/v1alpha1',
      kind: 'Cluster',
      metadata: { name: 'target-1' },
      spec: {
        orchestratorApiEndpoints: {
          caBundle: 'Y2E=',
          serverEndpoints: [
            { clientCIDR: '192.0.2.0/24', serverAddress: 'https://elsewhere.example.com' },
            { clientCIDR: '127.0.0.0/8', serverAddress: 'https://127.0.0.1:6443' },
          ],
        },
      },
      ...(this.apiAudiences && { status: { apiAudiences: this.apiAudiences } }),
    };
  }
}
