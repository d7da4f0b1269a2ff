// A hub with one ManagedToken and two targets on the wire, with permissions by name. The reconciler runs only when a trigger or its own
// requeue time requests it.

import { PROTECTED_NAMESPACES } from '../../src/access/issue-permission.ts';
import type { Cluster } from '../../src/api/cluster.gen.ts';
import type { ManagedToken } from '../../src/api/managed-token.gen.ts';
import type { ApiObject, ClusterRole, ClusterRoleBinding, Secret, ServiceAccount } from '../../src/api/resources.ts';
import { TransportError } from '../../src/kube/transport-error.ts';
import { StatusError } from '../../src/kubernetes/status.ts';
import { systemClock } from '../../src/std/clock.ts';
import { formatTimestamp } from '../../src/std/timestamp.ts';
import { ClusterClients } from '../../src/targets/cluster-clients.ts';
import { IssueError } from '../../src/targets/issue-error.ts';
import { TokenAuthorizer } from '../../src/tokens/authorizer.ts';
import { tokenTriggers } from '../../src/tokens/controller.ts';
import { HubView, type TokenInformers } from '../../src/tokens/informers.ts';
import type { StoredSecret } from '../../src/tokens/policy/secret.ts';
import { reconcileToken } from '../../src/tokens/reconcile.ts';
import { reduceSecret } from '../../src/tokens/reduce.ts';
import { RemovalLimits } from '../../src/tokens/removal-limits.ts';
import type { TokenDeps } from '../../src/tokens/run.ts';
import { TrackedTokens } from '../../src/tokens/tracked-token.ts';
import { Verification } from '../../src/tokens/verification.ts';
import { startWireWorld, type WireWorld } from '../kube/wire-world.ts';
import { HandInformer } from '../runtime/hand-informer.ts';
import { aToken } from '../support/builders.ts';
import { FakeClock } from '../support/clock.ts';
import { silentLog } from '../support/silent-log.ts';
import { stored } from '../support/stored.ts';
import type { WireReply, WireRequest, WireServer } from '../support/wire-server.ts';
import { CREDENTIALS, registered, settings } from '../targets/registration.ts';
import { authority, errorStatus, jwt, startTarget } from '../targets/wire-target.ts';
import { patient } from './patient-clock.ts';
import { ScriptedHub } from './scripted-hub.ts';
import { RECORD_KEY } from './test-reconciler.ts';

/** Names of the Clusters; a third one never exists. */
export const CLUSTERS = ['a', 'b'] as const;
export const MISSING = 'missing';
/** Service accounts; the last one does not exist on the targets. */
export const ACCOUNTS = ['deploy/deployer', 'other/own', 'deploy/absent'] as const;
/** Requesters that exist, each with a role. */
export const REQUESTERS = ['default', 'second'] as const;

const ACCOUNT = /^\/api\/v1\/namespaces\/([^/]+)\/serviceaccounts\/([^/]+)(\/token)?$/;
const SECRET = /^\/api\/v1\/namespaces\/([^/]+)\/secrets(?:\/([^/]+))?$/;

/** A token that a target issued. */
export interface IssuedToken {
  /** Most specific name of the permission: cluster, namespace and service account. */
  readonly name: string;
  readonly text: string;
  readonly anchorUID: string | undefined;
  readonly expiresAt: number;
}

/** One target: service accounts, anchors and tokens. */
export class FleetTarget {
  readonly issued: IssuedToken[] = [];
  readonly anchors = new Map<string, Secret>();
  isDown = false;
  isRejecting = false;
  readonly #cluster: string;
  readonly #clock: FakeClock;

  constructor(cluster: string, clock: FakeClock) {
    this.#cluster = cluster;
    this.#clock = clock;
  }

  handle(request: WireRequest, reply: WireReply): void {
    if (this.isDown) return reply.reset();
    if (this.isRejecting) return reply.json(401, errorStatus(401, 'Unauthorized', { reason: 'Unauthorized' }));
    const [, accountNamespace = '', account = '', subresource] = ACCOUNT.exec(request.path) ?? [];
    if (account !== '') return this.#serveAccount(`${accountNamespace}/${account}`, subresource !== undefined, request, reply);
    const [, namespace = '', name] = SECRET.exec(request.path) ?? [];
    if (namespace !== '') return this.#serveSecret(namespace, name, request, reply);
    return reply.json(404, errorStatus(404, `no ${request.path}`, { reason: 'NotFound' }));
  }

  isAlive({ anchorUID, expiresAt }: IssuedToken): boolean {
    const isBound = anchorUID === undefined || [...this.anchors.values()].some(({ metadata }) => metadata.uid === anchorUID);
    return isBound && expiresAt > this.#clock.now();
  }

  #serveAccount(account: string, isToken: boolean, { body }: WireRequest, reply: WireReply): void {
    if (account === 'deploy/absent') return this.#refuse(reply, 404, 'serviceaccounts');
    const [namespace = '', name = ''] = account.split('/');
    const uid = `uid-${this.#cluster}-${account}`;
    if (!isToken) return reply.json(200, { metadata: { namespace, name, uid } });
    const { spec } = JSON.parse(body) as { spec: { audiences: string[]; expirationSeconds: number; boundObjectRef?: { name: string } } };
    const bound = spec.boundObjectRef;
    const anchor = bound && this.anchors.get(`${namespace}/${bound.name}`);
    if (bound !== undefined && anchor === undefined) return this.#refuse(reply, 404, 'secrets');
    const at = Math.floor(this.#clock.now() / 1_000);
    const expiresAt = (at + spec.expirationSeconds) * 1_000;
    const secret = bound && { secret: { name: bound.name, uid: anchor?.metadata.uid } };
    const text = jwt({
      sub: `system:serviceaccount:${namespace}:${name}`,
      aud: spec.audiences,
      iat: at,
      nbf: at,
      exp: at + spec.expirationSeconds,
      jti: `${this.#cluster}-${this.issued.length}`,
      'kubernetes.io': { namespace, serviceaccount: { name, uid }, ...secret },
    });
    this.issued.push({ name: `${this.#cluster}/${account}`, text, anchorUID: anchor?.metadata.uid, expiresAt });
    const status = { token: text, expirationTimestamp: formatTimestamp(expiresAt) };
    const response = { apiVersion: 'authentication.k8s.io/v1', kind: 'TokenRequest', metadata: { uid }, spec, status };
    reply.json(201, response, { date: new Date(this.#clock.now()).toUTCString() });
  }

  #serveSecret(namespace: string, name: string | undefined, { method, body }: WireRequest, reply: WireReply): void {
    if (name === undefined) {
      const posted = JSON.parse(body) as Secret;
      const key = `${namespace}/${posted.metadata.name}`;
      if (this.anchors.has(key)) return this.#refuse(reply, 409, 'secrets', 'AlreadyExists');
      const created = { ...posted, metadata: { ...posted.metadata, uid: `anchor-${++count}` } };
      this.anchors.set(key, created);
      return reply.json(201, created);
    }
    const anchor = this.anchors.get(`${namespace}/${name}`);
    if (anchor === undefined) return this.#refuse(reply, 404, 'secrets');
    if (method === 'DELETE') this.anchors.delete(`${namespace}/${name}`);
    return reply.json(200, anchor);
  }

  #refuse(reply: WireReply, code: number, kind: string, reason = 'NotFound'): void {
    reply.json(code, errorStatus(code, `scripted ${reason}`, { reason, details: { kind } }));
  }
}

let count = 0;

function tokenOf({ data }: Secret): string {
  return Buffer.from(data?.['token'] ?? '', 'base64').toString();
}

/** Sockets of the hub and the targets, which outlive the worlds of a test file. */
export class FleetWires {
  world: FleetWorld | undefined;
  #hub: WireWorld | undefined;
  readonly #targets = new Map<string, WireServer>();

  static async start(): Promise<FleetWires> {
    const wires = new FleetWires();
    wires.#hub = await startWireWorld((request, reply) => wires.world?.handleHub(request, reply), systemClock as unknown as FakeClock);
    for (const name of CLUSTERS) {
      wires.#targets.set(name, await startTarget((request, reply) => wires.world?.targets[name].handle(request, reply)));
    }
    return wires;
  }

  get client(): WireWorld['client'] {
    return (this.#hub as WireWorld).client;
  }

  addressOf(cluster: string): string {
    return this.#targets.get(cluster)?.url ?? '';
  }

  async close(): Promise<void> {
    await this.#hub?.close();
    for (const target of this.#targets.values()) await target.close();
  }
}

export class FleetWorld {
  readonly clock = new FakeClock(Date.now());
  readonly targets = { a: new FleetTarget('a', this.clock), b: new FleetTarget('b', this.clock) };
  readonly hub = new ScriptedHub(
    aToken()
      .with({ clusterName: 'a', audiences: ['api'], revocation: 'BoundSecret' })
      .build(),
  );
  readonly #wires: FleetWires;
  readonly #allowed = new Map<string, Set<string>>();
  readonly #informers = {
    tokens: new HandInformer<ManagedToken>(),
    secrets: new HandInformer<StoredSecret & ApiObject>(),
    clusters: new HandInformer<Cluster>(),
    credentials: new HandInformer<Secret>(),
    requesters: new HandInformer<ServiceAccount>(),
    roles: new HandInformer<ClusterRole>(),
    bindings: new HandInformer<ClusterRoleBinding>(),
  };
  #clients: ClusterClients | undefined;
  #deps: TokenDeps | undefined;
  #stopTriggers: () => void = () => {};
  #isTriggered = true;
  #dueAt = 0;
  #version = 1;

  constructor(wires: FleetWires) {
    this.#wires = wires;
    wires.world = this;
    for (const informer of Object.values(this.#informers)) (informer as HandInformer<ApiObject>).changes$.subscribe();
    this.#informers.requesters.list(...REQUESTERS.map((name) => ({ metadata: { namespace: 'team-a', name } })));
    const binding = (name: string): ClusterRoleBinding => ({
      metadata: { name },
      roleRef: { apiGroup: 'rbac.authorization.k8s.io', kind: 'ClusterRole', name },
      subjects: [{ kind: 'ServiceAccount', namespace: 'team-a', name }],
    });
    this.#informers.bindings.list(...REQUESTERS.map(binding));
    for (const requester of REQUESTERS) {
      const names = [...CLUSTERS, MISSING].flatMap((cluster) => ACCOUNTS.map((account) => `${cluster}/${account}`));
      this.#allowed.set(requester, new Set(names));
      this.#writeRole(requester);
    }
    for (const name of CLUSTERS) this.register(name);
    this.restart();
  }

  /** Starts a controller without memory. */
  restart(): void {
    this.#stopTriggers();
    this.sync();
    const { clock } = this;
    const hub = this.#wires.client;
    const informers = { ...this.#informers, credentials: [this.#informers.credentials] } as unknown as TokenInformers;
    const view = new HubView(informers);
    const memory = new TrackedTokens();
    const subscription = tokenTriggers(informers, view, memory).subscribe(() => {
      this.#isTriggered = true;
    });
    this.#stopTriggers = () => subscription.unsubscribe();
    this.#clients ??= new ClusterClients(settings(patient(clock)));
    const protectedNamespaces = PROTECTED_NAMESPACES;
    this.#deps = {
      hub,
      clients: this.#clients,
      clock,
      timers: patient(clock),
      view,
      memory,
      startedAt: clock.now(),
      recorder: { record: () => {} },
      log: silentLog,
      auditLog: silentLog,
      settings: { verifyIntervalMs: 0, protectedNamespaces, limits: {}, namespace: CREDENTIALS },
      authorizer: new TokenAuthorizer({ hub, view, memory, clock, protectedNamespaces }),
      recordKey: RECORD_KEY,
      verification: new Verification({ clock, random: () => 0, view, intervalMs: 0 }),
      removals: new RemovalLimits({ hub, view, memory, recordKey: RECORD_KEY, clock, log: silentLog, namespace: CREDENTIALS }),
    };
    this.#isTriggered = true;
  }

  handleHub(request: WireRequest, reply: WireReply): void {
    const { path, body } = request;
    if (path.endsWith('/serviceaccounts'))
      return reply.json(200, { kind: 'ServiceAccountList', apiVersion: 'v1', metadata: {}, items: [] });
    if (!path.endsWith('/subjectaccessreviews')) return void this.hub.handler(request, reply);
    const { spec } = JSON.parse(body) as { spec: { user: string; resourceAttributes: { name: string } } };
    const [, , , requester = ''] = spec.user.split(':');
    const allowed = this.#allowed.get(requester)?.has(spec.resourceAttributes.name) === true;
    return reply.json(201, { apiVersion: 'authorization.k8s.io/v1', kind: 'SubjectAccessReview', spec: {}, status: { allowed } });
  }

  /** Registers a Cluster, with a new UID each time. */
  register(name: (typeof CLUSTERS)[number]): void {
    const controller = { kind: 'Secret', namespace: CREDENTIALS, name } as const;
    const servers = [this.#wires.addressOf(name)];
    const { cluster, credential } = registered({ name, uid: `${name}-${++this.#version}`, servers, ca: authority.certificate, controller });
    const metadata = { ...credential?.metadata, name, uid: `credential-${name}`, resourceVersion: String(++this.#version) };
    this.#informers.credentials.apply({ ...credential, metadata } as Secret);
    this.#informers.clusters.apply({ ...cluster, metadata: { ...cluster.metadata, resourceVersion: String(++this.#version) } });
  }

  unregister(name: string): void {
    const cluster = this.#informers.clusters.store.get(name);
    if (cluster !== undefined) this.#informers.clusters.delete(cluster);
  }

  isRegistered(name: string): boolean {
    return this.#informers.clusters.store.get(name) !== undefined;
  }

  /** Withdraws a permission from one requester, or from all. */
  withdraw(name: string, requesters: readonly string[] = REQUESTERS): void {
    for (const requester of requesters) {
      this.#allowed.get(requester)?.delete(name);
      this.#writeRole(requester);
    }
  }

  /** Delivers all objects of the hub to the informers. */
  sync(): void {
    this.#informers.tokens.list(this.hub.token);
    const labeled = [...this.hub.secrets.values()].filter(({ metadata }) => metadata.labels?.['tokens.purser.dev/managed-by'] === 'purser');
    this.#informers.secrets.list(...labeled.map((secret) => reduceSecret(stored(secret))));
  }

  /** Reconciles if the ManagedToken was triggered or is due. */
  async tick(): Promise<void> {
    this.sync();
    if (!this.#isTriggered && this.#dueAt > this.clock.now()) return;
    this.#isTriggered = false;
    this.#dueAt = Infinity;
    try {
      const { requeueAt } = await reconcileToken(this.#deps as TokenDeps, 'team-a/ci', new AbortController().signal);
      this.#dueAt = requeueAt ?? Infinity;
    } catch (error) {
      if (!(error instanceof IssueError || error instanceof StatusError || error instanceof TransportError)) throw error;
      this.#dueAt = this.clock.now() + 5_000;
    }
    this.sync();
  }

  /** Advances the clock by this time, and runs all reconciles that become due. */
  async settle(ms: number): Promise<void> {
    const end = this.clock.now() + ms;
    while (this.clock.now() < end) {
      await this.tick();
      const nextAt = this.#isTriggered ? this.clock.now() + 100 : Math.min(Math.max(this.#dueAt, this.clock.now() + 1_000), end);
      this.clock.advance(nextAt - this.clock.now());
    }
    await this.tick();
  }

  /** Returns the tokens that targets issued and still accept. */
  alive(): readonly IssuedToken[] {
    return Object.values(this.targets).flatMap((target) => target.issued.filter((issued) => target.isAlive(issued)));
  }

  /** Returns the tokens in Secrets of the hub, as text. */
  stored(): readonly string[] {
    return [...this.hub.secrets.values()].map(tokenOf);
  }

  /** Returns the tokens in Secrets that have an owner. */
  owned(): readonly string[] {
    return [...this.hub.secrets.values()].filter(({ metadata }) => metadata.ownerReferences !== undefined).map(tokenOf);
  }

  async close(): Promise<void> {
    this.#stopTriggers();
    await this.#clients?.close();
  }

  #writeRole(name: string): void {
    const resourceNames = [...(this.#allowed.get(name) ?? [])];
    const rules = [{ apiGroups: ['registry.purser.dev'], resources: ['clusters/token'], verbs: ['issue'], resourceNames }];
    // Without names, the rule would allow all.
    const role: ClusterRole = {
      metadata: { name, resourceVersion: String(++this.#version) },
      rules: resourceNames.length > 0 ? rules : [],
    };
    this.#informers.roles.apply(role);
  }
}
