// A hub and targets, all of them embedded API servers on the wire, and the controller between them with a simulated clock. Servers
// and informers use real time.

import { randomBytes } from 'node:crypto';
import { EMPTY, type Subscription } from 'rxjs';
import { type ApiServer, startApiServer } from '../../apiserver/server.ts';
import { PROTECTED_NAMESPACES } from '../../src/access/issue-permission.ts';
import type { Cluster } from '../../src/api/cluster.gen.ts';
import type { ManagedToken, ManagedTokenSpec } from '../../src/api/managed-token.gen.ts';
import { SetFieldManager } from '../../src/api/names.ts';
import {
  type ClusterRole,
  ClusterRoleBindings,
  ClusterRoles,
  Clusters,
  type Event,
  Events,
  ManagedTokenSets,
  ManagedTokens,
  Namespaces,
  type Role,
  type RoleBinding,
  RoleBindings,
  Roles,
  type Secret,
  Secrets,
  ServiceAccounts,
} from '../../src/api/resources.ts';
import type { ObjectMeta } from '../../src/api/wire.ts';
import { createHubInformers } from '../../src/app/app.ts';
import { createClusterController } from '../../src/clusters/controller.ts';
import { KubeClient } from '../../src/kube/client.ts';
import { waitUntilServed } from '../../src/kube/discovery.ts';
import { createFixedConfig } from '../../src/kube/kube-config.ts';
import { applyAll, readManifests } from '../../src/kube/manifests.ts';
import { Recorder } from '../../src/kube/recorder.ts';
import { TokenReviews } from '../../src/kube/reviews.ts';
import { createTransport } from '../../src/kube/transport.ts';
import { hasReason } from '../../src/kubernetes/status.ts';
import type { Outcome } from '../../src/runtime/controller.ts';
import { report } from '../../src/runtime/report.ts';
import { createSetController } from '../../src/sets/controller.ts';
import { systemClock } from '../../src/std/clock.ts';
import { ClusterClients } from '../../src/targets/cluster-clients.ts';
import { createLogger } from '../../src/telemetry/logger.ts';
import type { Metrics, OrphanedAnchor } from '../../src/telemetry/metrics.ts';
import { createTokenController } from '../../src/tokens/controller.ts';
import type { TokenSettings } from '../../src/tokens/run.ts';
import { eventually } from '../contract/eventually.ts';
import { turns } from '../kube/eventually.ts';
import { FakeClock } from '../support/clock.ts';
import { newFolder } from '../support/folders.ts';
import { TEST_USERS } from '../support/users.ts';
import { NO_METRICS } from './no-metrics.ts';
import { patient } from './patient-clock.ts';
import { WireCalls } from './wire-calls.ts';

export const AUDIENCE = 'https://kubernetes.default.svc';
export const CREDENTIALS = 'purser-system';
export const RECORD_KEY = { namespace: CREDENTIALS, name: 'purser-record-key' };
/** Requests that do not belong to one ManagedToken. */
const UNCOUNTED = /events|^GET configmaps\/purser-removal-limit$/;
/** Simulated time before a wait fails, in milliseconds. */
const PATIENCE_MS = 300_000;
const STEP_MS = 50;
/** Steps, with and without an advance of the clock, before a wait fails. */
const MAX_STEPS = PATIENCE_MS / STEP_MS;
/** Real time before a wait fails, in milliseconds: the disk of a busy machine responds late, and steps without requests take microseconds. */
const REAL_PATIENCE_MS = 60_000;
/** Number of steps after which a condition is checked although no request was sent: it may be about the controller itself. */
const STEPS_PER_CHECK = 5;
/** Time after which the clock advances in coarse steps: each step costs a request. */
const FINE_MS = 5_000;
const COARSE_STEP_MS = 500;
const PROBING = { probeIntervalMs: 10_000, accessIntervalMs: 60_000 };
const SETTINGS: TokenSettings = {
  verifyIntervalMs: 0,
  protectedNamespaces: PROTECTED_NAMESPACES,
  limits: { credentialNamespaces: [CREDENTIALS] },
  namespace: CREDENTIALS,
};
/** Bearer token of the controller on the hub. */
const PURSER = 'pursertoken';

/** An embedded server and its administrator. */
export class TestServer {
  readonly url: string;
  readonly ca: string;
  readonly admin: KubeClient;
  readonly #folder: string;
  readonly #port: number;
  #server: ApiServer | undefined;

  private constructor(server: ApiServer, folder: string) {
    this.#server = server;
    this.#folder = folder;
    this.#port = server.port;
    this.url = server.url;
    this.ca = server.ca;
    this.admin = this.client('admintoken');
  }

  static async start(): Promise<TestServer> {
    const folder = await newFolder();
    return new TestServer(await serve(folder, 0), folder);
  }

  client(token: string): KubeClient {
    const cluster = { name: 'test', server: this.url, caData: base64(this.ca), skipTLSVerify: false };
    return new KubeClient(createTransport(createFixedConfig(cluster, { name: 'test', token }), { clock: systemClock }), 'tests');
  }

  /** Stops the server and keeps its data. */
  async stop(): Promise<void> {
    await this.#server?.close();
    this.#server = undefined;
  }

  /** Restarts a stopped server at the same address. */
  async restart(): Promise<void> {
    this.#server ??= await serve(this.#folder, this.#port);
  }
}

function serve(folder: string, port: number): Promise<ApiServer> {
  const users = new Map([...TEST_USERS, [PURSER, { name: 'purser', groups: ['purser-hub'] }] as const]);
  return startApiServer({ folder, port, issuer: AUDIENCE, tokens: users, report: console.error });
}

export interface RunOptions {
  readonly settings?: Partial<TokenSettings>;
  readonly hub?: KubeClient;
  /** True if the controller of ManagedTokenSets runs as well. */
  readonly hasSets?: boolean;
  /** Metrics of the controller of ManagedTokenSets. */
  readonly setMetrics?: Metrics;
  /** True if the Cluster controller runs as well. */
  readonly isProbing?: boolean;
  /** Name of the Cluster that is the hub. */
  readonly hubCluster?: string;
  readonly logLevel?: 'trace' | 'error';
}

/** A running controller. */
export interface RunningController {
  readonly outcomes: Outcome<string>[];
  /** Lines that the controller logged. */
  readonly logged: string[];
  /** Orphaned anchors in the metrics. */
  readonly orphans: readonly OrphanedAnchor[];
  stop(): Promise<void>;
}

let count = 0;

/** One hub, its targets, and test actions on them. */
export class TokenWorld {
  readonly calls = new WireCalls();
  readonly hub: TestServer;
  readonly targets: readonly TestServer[];
  /** Simulated clock, which starts at the real time so that the servers' tokens are valid. */
  clock = new FakeClock(Date.now());
  /** Namespace of this test's ManagedTokens. */
  namespace = '';
  cluster = '';
  credential = '';
  running: RunningController[] = [];
  /** Tokens that the test has read from Secrets. */
  readonly seenTokens = new Set<string>();
  readonly #hubClient: KubeClient;

  private constructor(hub: TestServer, targets: readonly TestServer[]) {
    this.hub = hub;
    this.targets = targets;
    this.#hubClient = hub.client(PURSER);
  }

  static async start(targets = 1): Promise<TokenWorld> {
    const servers = await Promise.all(Array.from({ length: targets + 1 }, () => TestServer.start()));
    const [hub, ...others] = servers as [TestServer, ...TestServer[]];
    const world = new TokenWorld(hub, others);
    await applyAll(hub.admin, [...(await readManifests('crds')), ...(await hubAccess())]);
    await grantOwnNamespace(hub.admin);
    // The first controller of a hub creates the record key; tests count the requests of later ones.
    await hub.admin.create(Secrets, { metadata: RECORD_KEY, type: 'Opaque', data: { key: randomBytes(32).toString('base64') } });
    await waitUntilServed(hub.admin, [Clusters, ManagedTokens, ManagedTokenSets], {
      clock: systemClock,
      random: Math.random,
      signal: AbortSignal.timeout(20_000),
    });
    for (const { admin } of others) await applyAll(admin, await readManifests('deploy/target'));
    return world;
  }

  async close(): Promise<void> {
    this.calls.stop();
    for (const { admin } of [this.hub, ...this.targets]) await admin.transport.close();
    await this.#hubClient.transport.close();
    await Promise.all([this.hub, ...this.targets].map((server) => server.stop()));
  }

  /** Creates a namespace, a registered Cluster and the permission to use it for one test. */
  async begin(): Promise<void> {
    const id = `t${++count}`;
    this.namespace = `team-${id}`;
    this.cluster = `cluster-${id}`;
    this.clock = new FakeClock(Date.now());
    await this.hub.admin.create(Namespaces, { metadata: { name: this.namespace } });
    await this.eventually(async () => void (await this.hub.admin.get(ServiceAccounts, { namespace: this.namespace, name: 'default' })));
    this.credential = await this.register(this.cluster);
    await this.allow(this.cluster);
    this.calls.clear();
  }

  /** Stops the controllers and deletes the objects of one test. */
  async end(): Promise<void> {
    const logs = this.running.flatMap(({ logged }) => logged);
    for (const controller of this.running.splice(0)) await controller.stop();
    for (const server of [this.hub, ...this.targets]) await server.restart();
    const { items } = await this.hub.admin.list(ManagedTokens);
    const leaked = await this.leaks([...logs, JSON.stringify(items)]);
    if (leaked.length > 0) throw new Error(`a token was found in ${leaked.join('; ')}`);
    for (const { metadata } of (await this.hub.admin.list(ManagedTokenSets)).items) {
      await this.hub.admin.delete(ManagedTokenSets, { namespace: metadata.namespace, name: metadata.name }).catch(ignoreGone);
    }
    const remove = async ({ metadata }: ManagedToken) => {
      const name = { namespace: metadata.namespace, name: metadata.name ?? '' };
      if (metadata.finalizers) await this.hub.admin.patch(ManagedTokens, name, { metadata: { finalizers: null } });
      await this.hub.admin.delete(ManagedTokens, name).catch(ignoreGone);
    };
    await Promise.all(items.map(remove));
    for (const { metadata } of (await this.hub.admin.list(Clusters)).items)
      await this.hub.admin.delete(Clusters, { name: metadata.name ?? '' });
  }

  /** Returns those of the strings and of the events on the hub that hold part of a token's signature, plain or encoded. */
  async leaks(texts: readonly string[]): Promise<readonly string[]> {
    const { items } = await this.hub.admin.list(Events);
    const parts = [...this.seenTokens].flatMap((token) => {
      const signature = token.slice(token.lastIndexOf('.') + 1);
      return [signature.slice(0, 24), signature.slice(-24), base64(token).slice(-40, -4)];
    });
    return [...texts, JSON.stringify(items)].filter((each) => parts.some((part) => part !== '' && each.includes(part)));
  }

  /** Runs the controller as leader. */
  async run({
    settings = {},
    hub = this.#hubClient,
    hasSets = false,
    setMetrics,
    isProbing = false,
    hubCluster,
    logLevel = 'trace',
  }: RunOptions = {}): Promise<RunningController> {
    const real = { client: hub, clock: systemClock, random: () => 0 };
    const { sets, ...informers } = createHubInformers({ ...real, credentialNamespaces: [CREDENTIALS] });
    const clients = new ClusterClients({
      clock: patient(this.clock),
      allowLoopback: true,
      credentialNamespaces: [CREDENTIALS],
      ownAddress: '127.0.0.1',
      hub: { clusterName: hubCluster, client: hub, namespace: CREDENTIALS },
    });
    const logged: string[] = [];
    const orphans: OrphanedAnchor[] = [];
    const log = createLogger({ level: logLevel, readable: false, write: (line) => logged.push(line) });
    const recorder = new Recorder({ ...real, random: Math.random, component: 'purser', instance: 'test' });
    const controller = createTokenController({
      informers,
      hub,
      clients,
      recorder,
      clock: this.clock,
      timers: patient(this.clock),
      random: () => 0,
      log,
      metrics: { ...NO_METRICS, recordOrphan: (orphan) => void orphans.push(orphan) },
      settings: { ...SETTINGS, ...settings },
    });
    const probing = { informers, hub: this.hub.admin, clients, recorder, clock: this.clock, random: () => 0, settings: PROBING };
    const probes$ = isProbing ? createClusterController(probing) : () => EMPTY;
    const setHub = new KubeClient(hub.transport, SetFieldManager);
    const setSettings = { protectedNamespaces: PROTECTED_NAMESPACES, credentialNamespaces: [CREDENTIALS] };
    const setOptions = {
      informers: { ...informers, sets },
      hub: setHub,
      clients,
      recorder,
      clock: this.clock,
      timers: patient(this.clock),
      random: () => 0,
      log,
      ...(setMetrics && { metrics: setMetrics }),
    };
    const sets$ = hasSets ? createSetController({ ...setOptions, settings: setSettings }) : () => EMPTY;
    const outcomes: Outcome<string>[] = [];
    const stopping = new AbortController();
    const defects: unknown[] = [];
    const runs = { recordRun: () => {} };
    const outcomes$ = controller(stopping.signal).pipe(report({ controller: 'managed-token', log, metrics: runs, clock: this.clock }));
    const subscription: Subscription = outcomes$.subscribe({
      next: (outcome) => outcomes.push(outcome),
      error: (error) => defects.push(error),
    });
    subscription.add(probes$(stopping.signal).subscribe());
    const setOutcomes$ = sets$(stopping.signal).pipe(report({ controller: 'managed-token-set', log, metrics: runs, clock: this.clock }));
    subscription.add(setOutcomes$.subscribe({ next: (outcome) => outcomes.push(outcome), error: (error) => defects.push(error) }));
    const running: RunningController = {
      outcomes,
      logged,
      orphans,
      stop: async () => {
        const ended = new Promise<void>((resolve) => subscription.add(resolve));
        stopping.abort();
        await ended;
        await recorder.flush();
        await clients.close();
        if (defects.length > 0) throw defects[0];
      },
    };
    this.running.push(running);
    await this.eventually(async () => {
      if (!informers.tokens.synced || !informers.secrets.synced || !informers.bindings.synced || (hasSets && !sets.synced))
        throw new Error('not synced');
    });
    return running;
  }

  /** Registers a Cluster at a target and returns the bearer of the credential. */
  async register(name: string, target: Pick<TestServer, 'admin' | 'ca' | 'url'> = this.target): Promise<string> {
    const { status } = await target.admin.createToken(
      { namespace: 'purser-system', name: 'purser' },
      { audiences: [], expirationSeconds: 86_400 },
    );
    const token = status?.token ?? '';
    const data = { token: base64(token), server: base64(target.url), 'ca.crt': base64(target.ca), cluster: base64(name) };
    const secret = { namespace: CREDENTIALS, name: `${name}-credential` };
    await this.hub.admin.apply(Secrets, { metadata: secret, type: 'Opaque', data }, { force: true });
    const cluster: Cluster = {
      apiVersion: 'registry.purser.dev/v1alpha1',
      kind: 'Cluster',
      metadata: { name },
      spec: {
        orchestratorApiEndpoints: {
          caBundle: base64(target.ca),
          serverEndpoints: [{ clientCIDR: '0.0.0.0/0', serverAddress: target.url }],
        },
        authInfo: { controller: { kind: 'Secret', ...secret } },
      },
    };
    await this.hub.admin.create(Clusters, cluster);
    return token;
  }

  get target(): TestServer {
    return this.targets[0] as TestServer;
  }

  /** Permits a service account, by default in the test's namespace, to issue tokens under this name. */
  async allow(resourceName: string, { requester = 'default', name = this.namespace, namespace = this.namespace } = {}): Promise<void> {
    const rules = [{ apiGroups: ['registry.purser.dev'], resources: ['clusters/token'], resourceNames: [resourceName], verbs: ['issue'] }];
    const role: ClusterRole = { metadata: { name }, rules };
    await this.hub.admin.apply(ClusterRoles, role, { force: true });
    await this.hub.admin.apply(
      ClusterRoleBindings,
      {
        metadata: { name },
        roleRef: { apiGroup: 'rbac.authorization.k8s.io', kind: 'ClusterRole', name },
        subjects: [{ kind: 'ServiceAccount', namespace, name: requester }],
      },
      { force: true },
    );
  }

  async forbid(name = this.namespace): Promise<void> {
    await this.hub.admin.delete(ClusterRoleBindings, { name });
  }

  /** Creates a ManagedToken for deploy/deployer. */
  async create(name = 'ci', spec: Partial<ManagedTokenSpec> = {}, metadata: ObjectMeta = {}): Promise<ManagedToken> {
    const token = {
      apiVersion: 'tokens.purser.dev/v1alpha1' as const,
      kind: 'ManagedToken' as const,
      metadata: { name, namespace: this.namespace, ...metadata },
      spec: { clusterName: this.cluster, serviceAccount: { namespace: 'deploy', name: 'deployer' }, audiences: [AUDIENCE], ...spec },
    };
    return await this.hub.admin.create(ManagedTokens, token as unknown as ManagedToken);
  }

  async patch(name: string, patch: object): Promise<ManagedToken> {
    return await this.hub.admin.patch(ManagedTokens, { namespace: this.namespace, name }, patch as Readonly<Record<string, unknown>>);
  }

  get(name = 'ci'): Promise<ManagedToken> {
    return this.hub.admin.get(ManagedTokens, { namespace: this.namespace, name });
  }

  /** Returns the Secret; undefined if it does not exist. */
  async secret(name = 'ci'): Promise<Secret | undefined> {
    return await this.hub.admin.get(Secrets, { namespace: this.namespace, name }).catch((error: unknown) => {
      if (hasReason(error, 'NotFound')) return undefined;
      throw error;
    });
  }

  /** Returns the token in the Secret; empty without one. */
  async tokenText(name = 'ci'): Promise<string> {
    const token = text(await this.secret(name), 'token');
    if (token !== '') this.seenTokens.add(token);
    return token;
  }

  async condition(type: string, name = 'ci'): Promise<string | undefined> {
    return conditionOf(await this.get(name), type);
  }

  /** Returns both conditions as one text. */
  async conditions(name = 'ci'): Promise<string> {
    const token = await this.get(name);
    return `Ready=${conditionOf(token, 'Ready')} RotationFailing=${conditionOf(token, 'RotationFailing')}`;
  }

  /** Waits until the ManagedToken is ready, and returns it. */
  async waitUntilReady(name = 'ci'): Promise<ManagedToken> {
    await this.until(async () => (await this.condition('Ready', name)) === 'True Issued');
    return await this.get(name);
  }

  /** Waits until the Secret holds another token than `before`, and returns that token. */
  async waitForNewToken(before: string, name = 'ci'): Promise<string> {
    let now = '';
    await this.until(async () => {
      now = await this.tokenText(name);
      return now !== '' && now !== before;
    });
    return now;
  }

  /** Returns whether a target accepts a token. */
  async isAccepted(token: string, target = this.target): Promise<boolean> {
    // The API server rejects a review of an empty token.
    if (token === '') return false;
    const { status } = await target.admin.createReview(TokenReviews, { spec: { token, audiences: [AUDIENCE] } });
    return status?.authenticated === true;
  }

  /** Returns the events about a ManagedToken as `type reason`. */
  async events(name = 'ci'): Promise<readonly string[]> {
    return (await this.eventObjects(name)).map(({ type, reason }) => `${type} ${reason}`);
  }

  async eventObjects(name = 'ci'): Promise<readonly Event[]> {
    const { items } = await this.hub.admin.list(Events, { namespace: this.namespace });
    return items
      .filter(({ involvedObject }) => involvedObject.name === name)
      .toSorted((a, b) => Number(a.metadata.resourceVersion) - Number(b.metadata.resourceVersion));
  }

  /** Waits for one more reconcile of a ManagedToken, after everything that happened so far. */
  async waitForReconcile(name = 'ci'): Promise<void> {
    const [controller] = this.running;
    const key = `${this.namespace}/${name}`;
    const runs = () => controller?.outcomes.filter((outcome) => outcome.key === key).length ?? 0;
    const before = runs();
    await this.patch(name, { metadata: { annotations: { 'tokens.purser.dev/poke': String(Math.random()) } } });
    await this.until(async () => runs() > before);
  }

  /** Returns the requests of the controller to the hub and to the target. */
  sent(): { readonly hub: readonly string[]; readonly target: readonly string[] } {
    return { hub: this.calls.by(PURSER).filter((call) => !UNCOUNTED.test(call)), target: this.calls.by(this.credential) };
  }

  /** Returns the requests of the controller to hub and target in the order of sending, without events. */
  callsInOrder(): readonly string[] {
    return this.calls.by(PURSER, this.credential).filter((call) => !UNCOUNTED.test(call));
  }

  async eventually(check: () => Promise<void>): Promise<void> {
    await eventually(check);
  }

  /**
   * Waits for a condition while the simulated clock advances. With `waitsForRequests`, the clock stands still while a request is in
   * progress, so that a busy machine does not delay the controller in simulated time; every request must then get a response.
   */
  async until(isSo: () => Promise<boolean>, { waitsForRequests = false } = {}): Promise<void> {
    const [start, end] = [this.clock.now(), performance.now() + REAL_PATIENCE_MS];
    let checkedAt = 0;
    // Without a completed request, objects have not changed: most of the time of a test would be spent on reading them.
    const hasChanged = (steps: number) => steps % STEPS_PER_CHECK === 0 || this.calls.completed > checkedAt;
    const check = async () => {
      const result = await isSo().catch(ignoreGone);
      checkedAt = this.calls.completed;
      return result;
    };
    for (let steps = 0; !hasChanged(steps) || !(await check()); steps++) {
      if (steps > MAX_STEPS && performance.now() > end) throw new Error(`the condition did not become true; ${await this.#evaluated()}`);
      await turns();
      const waitedMs = this.clock.now() - start;
      const mayAdvance = waitedMs < PATIENCE_MS && !(waitsForRequests && this.calls.hasOpen);
      if (mayAdvance) this.clock.advance(waitedMs < FINE_MS ? STEP_MS : COARSE_STEP_MS);
    }
  }

  /** Waits for exactly these events about a ManagedToken. */
  async expectEvents(expected: readonly string[], name = 'ci'): Promise<void> {
    await this.until(async () => (await this.events(name)).length >= expected.length);
    if (String(await this.events(name)) !== String(expected)) throw new Error(`the events are ${String(await this.events(name))}`);
  }

  async #evaluated(): Promise<string> {
    const log = this.running.flatMap(({ logged }) => logged.slice(-8)).map((line) => line.slice(0, 400));
    return [await this.conditions().catch(String), ...this.sent().hub.slice(-20), ...log].join('\n');
  }

  /** Advances the clock step by step, so that work that becomes due runs in between. */
  async pass(ms: number, stepMs = ms): Promise<void> {
    for (let passed = 0; passed < ms; passed += stepMs) {
      this.clock.advance(Math.min(stepMs, ms - passed));
      await turns();
    }
  }
}

function conditionOf({ status }: ManagedToken, type: string): string | undefined {
  const found = status?.conditions?.find((condition) => condition.type === type);
  return found && `${found.status} ${found.reason}`;
}

export function text(secret: Secret | undefined, key: string): string {
  return Buffer.from(secret?.data?.[key] ?? '', 'base64').toString();
}

export function base64(value: string): string {
  return Buffer.from(value).toString('base64');
}

function ignoreGone(error: unknown): false {
  if (hasReason(error, 'NotFound')) return false;
  throw error;
}

/** Returns the shipped cluster-wide roles of the controller, bound to the group of the test controller. */
async function hubAccess() {
  const manifests = (await readShippedManifests()).filter(
    ({ kind, metadata }) => kind !== 'Role' && kind !== 'RoleBinding' && metadata.name !== 'purser-facade',
  );
  return manifests.map((manifest) => (manifest.kind === 'ClusterRoleBinding' ? { ...manifest, subjects: SUBJECTS } : manifest));
}

/** Creates the shipped roles for Purser's own namespace. */
async function grantOwnNamespace(admin: KubeClient): Promise<void> {
  for (const manifest of await readShippedManifests()) {
    if (manifest.kind === 'Role') await admin.apply(Roles, manifest as Role, { force: true });
    if (manifest.kind === 'RoleBinding')
      await admin.apply(RoleBindings, { ...(manifest as RoleBinding), subjects: SUBJECTS }, { force: true });
  }
}

const SUBJECTS = [{ apiGroup: 'rbac.authorization.k8s.io', kind: 'Group', name: 'purser-hub' }];

async function readShippedManifests() {
  return [...(await readManifests('deploy/base/namespace.yaml')), ...(await readManifests('deploy/base/access.yaml'))];
}
