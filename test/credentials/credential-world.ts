// An embedded hub, scripted targets, and the credential and Cluster controllers between them with a simulated clock.

import { NEVER, type Subscription } from 'rxjs';
import type { Cluster, ClusterCredential } from '../../src/api/cluster.gen.ts';
import { Clusters, Events, ManagedTokens, type Secret, Secrets, type Stored } from '../../src/api/resources.ts';
import { createClusterController } from '../../src/clusters/controller.ts';
import { createCredentialController } from '../../src/credentials/controller.ts';
import type { KubeClient } from '../../src/kube/client.ts';
import { createInformer, createReducedInformer } from '../../src/kube/informer.ts';
import { Recorder } from '../../src/kube/recorder.ts';
import { hasReason, StatusError } from '../../src/kubernetes/status.ts';
import type { Outcome } from '../../src/runtime/controller.ts';
import { report } from '../../src/runtime/report.ts';
import { systemClock } from '../../src/std/clock.ts';
import { issueServerCertificate, LOOPBACK_NAMES } from '../../src/std/x509/certificates.ts';
import { ClusterClients } from '../../src/targets/cluster-clients.ts';
import { computeRenewalSlotAt } from '../../src/targets/policy/renewal.ts';
import { parseRenewal } from '../../src/targets/policy/renewed-secret.ts';
import { reduceCredential } from '../../src/targets/registry.ts';
import { createLogger } from '../../src/telemetry/logger.ts';
import { startClusterHub } from '../clusters/cluster-world.ts';
import { turns } from '../kube/eventually.ts';
import { FakeClock } from '../support/clock.ts';
import type { WireHandler, WireServer } from '../support/wire-server.ts';
import { startWireServer } from '../support/wire-server.ts';
import { authority } from '../targets/wire-target.ts';
import { patient } from '../tokens/patient-clock.ts';
import { base64, CREDENTIALS, type TestServer } from '../tokens/token-world.ts';
import { ScriptedCluster } from './scripted-cluster.ts';

/** Maximum wait for a state, in milliseconds of simulated time. */
const PATIENCE_MS = 120_000;
const STEP_MS = 500;

/** A process that renews credentials. */
export interface Replica {
  readonly outcomes: readonly Outcome<string>[];
  stop(): Promise<void>;
}

export interface ReplicaOptions {
  /** Client of the hub; the administrator by default. */
  readonly hub?: KubeClient;
  /** False if the replica only probes, like a follower. */
  readonly isLeader?: boolean;
  /** False if the replica does not probe, so all requests to the target belong to renewals. */
  readonly isProbing?: boolean;
}

export class CredentialWorld {
  readonly hub: TestServer;
  readonly clock = new FakeClock(Math.floor(Date.now() / 1_000) * 1_000);
  readonly logged: string[] = [];
  /** The target of the current test. */
  target: ScriptedCluster = new ScriptedCluster(this.clock);
  /** Name of the Cluster and of its Secret of the current test. */
  name = '';
  #server: WireServer | undefined;
  #replicas: Replica[] = [];
  #count = 0;

  private constructor(hub: TestServer) {
    this.hub = hub;
  }

  static async start(): Promise<CredentialWorld> {
    const world = new CredentialWorld(await startClusterHub());
    const { certificate: cert, key } = issueServerCertificate(authority, LOOPBACK_NAMES, Date.now());
    world.#server = await startWireServer((request, reply) => world.pass(world.target.handler, request, reply), { tls: { cert, key } });
    return world;
  }

  /** Passes requests to the target; tests replace it to lose requests or responses. */
  pass: (handler: WireHandler, ...exchange: Parameters<WireHandler>) => void | Promise<void> = (handler, request, reply) =>
    handler(request, reply);

  get url(): string {
    return this.#server?.url ?? '';
  }

  /** Registers a Cluster at a new target with a token for a year, and returns the token. */
  async begin(credential?: Partial<ClusterCredential>): Promise<string> {
    this.target = new ScriptedCluster(this.clock);
    this.name = `c${++this.#count}`;
    const token = this.target.issueToken();
    await this.register(token);
    await this.addCluster(this.name, credential);
    return token;
  }

  async addCluster(name: string, credential?: Partial<ClusterCredential>, secretName = this.name): Promise<void> {
    const cluster: Cluster = {
      apiVersion: 'registry.purser.dev/v1alpha1',
      kind: 'Cluster',
      metadata: { name },
      spec: {
        orchestratorApiEndpoints: {
          caBundle: base64(authority.certificate),
          serverEndpoints: [{ clientCIDR: '0.0.0.0/0', serverAddress: this.url }],
        },
        authInfo: { controller: { kind: 'Secret', namespace: CREDENTIALS, name: secretName } },
        ...(credential && { credential: credential as ClusterCredential }),
      },
    };
    await this.hub.admin.create(Clusters, cluster);
  }

  /** Writes a token into the registered Secret. */
  async register(token: string, clusters: readonly string[] = [this.name]): Promise<void> {
    const keys = { token, server: this.url, 'ca.crt': authority.certificate, cluster: clusters.join(' ') };
    const data = Object.fromEntries(Object.entries(keys).map(([key, value]) => [key, base64(value)]));
    await this.hub.admin.apply(Secrets, { metadata: { namespace: CREDENTIALS, name: this.name }, type: 'Opaque', data }, { force: true });
  }

  /** Starts a process; returns after its caches are synced. */
  async run({ hub = this.hub.admin, isLeader = true, isProbing = true }: ReplicaOptions = {}): Promise<Replica> {
    const real = { client: this.hub.admin, clock: systemClock, random: Math.random };
    const informers = {
      clusters: createInformer({ ...real, resource: Clusters }),
      tokens: createInformer({ ...real, resource: ManagedTokens }),
      credentials: [createReducedInformer({ ...real, resource: Secrets, selection: { namespace: CREDENTIALS } }, reduceCredential)],
    };
    const clock = patient(this.clock);
    const clients = new ClusterClients({
      clock,
      allowLoopback: true,
      credentialNamespaces: [CREDENTIALS],
      ownAddress: '127.0.0.1',
      hub: { client: hub, namespace: 'elsewhere' },
    });
    const recorder = new Recorder({ ...real, clock: this.clock, component: 'purser', instance: 'test' });
    const log = createLogger({ level: 'trace', readable: false, write: (line) => this.logged.push(line) });
    const common = { informers, hub, clients, recorder, clock: this.clock, random: () => 0, log };
    const credentials = createCredentialController({ ...common, settings: { probeIntervalMs: 10_000 } });
    const settings = { probeIntervalMs: 10_000, accessIntervalMs: 60_000 };
    const clusters = createClusterController({ ...common, settings, renewals: credentials });
    const outcomes: Outcome<string>[] = [];
    const stopping = new AbortController();
    const metrics = { recordRun: () => {} };
    const subscription: Subscription = (isProbing ? clusters(stopping.signal) : NEVER).subscribe();
    if (isLeader) {
      const outcomes$ = credentials.run(stopping.signal).pipe(report({ controller: 'credential', log, metrics, clock: this.clock }));
      subscription.add(outcomes$.subscribe((outcome) => outcomes.push(outcome)));
    }
    const replica: Replica = {
      outcomes,
      stop: async () => {
        this.#replicas = this.#replicas.filter((each) => each !== replica);
        subscription.unsubscribe();
        await recorder.flush();
        await clients.close();
      },
    };
    this.#replicas.push(replica);
    while (!informers.clusters.synced || informers.credentials.some(({ synced }) => !synced)) await turns();
    return replica;
  }

  /** Stops all processes and deletes the objects of the test. */
  async end(): Promise<void> {
    for (const replica of this.#replicas) await replica.stop();
    this.logged.length = 0;
    for (const { metadata } of (await this.hub.admin.list(Clusters)).items) await this.hub.admin.delete(Clusters, { name: metadata.name });
    for (const { metadata } of (await this.hub.admin.list(Secrets, { namespace: CREDENTIALS })).items)
      await this.hub.admin.delete(Secrets, { namespace: CREDENTIALS, name: metadata.name }).catch(ignoreNotFound);
  }

  async close(): Promise<void> {
    await this.#server?.close();
    await this.hub.admin.transport.close();
    await this.hub.stop();
  }

  /** Returns the Secret with the renewed token; undefined if it does not exist. */
  async renewed(): Promise<Stored<Secret> | undefined> {
    return await this.hub.admin.get(Secrets, { namespace: CREDENTIALS, name: `${this.name}-renewed` }).catch(ignoreNotFound);
  }

  /** Returns the time of the next renewal. */
  async renewAt(): Promise<number> {
    const [renewed, registered] = [await this.renewed(), await this.hub.admin.get(Secrets, { namespace: CREDENTIALS, name: this.name })];
    const record = renewed && parseRenewal(renewed, registered.metadata.uid);
    if (record === undefined) throw new Error('no renewed token');
    return computeRenewalSlotAt({ issuedAt: record.renewedAt, expiresAt: record.expiresAt }, registered.metadata.uid) ?? 0;
  }

  /** Advances the simulated clock to the time of the next renewal, and waits for the new token. */
  async renewal(): Promise<string> {
    const before = await this.renewedToken();
    await this.wait((await this.renewAt()) - this.clock.now() - 1_000, 30_000);
    return await this.nextToken(before);
  }

  /** Returns the token in the Secret with the renewed token; empty without one. */
  async renewedToken(): Promise<string> {
    return textOf(await this.renewed());
  }

  /** Waits until the hub has a different renewed token than this, and returns it. */
  async nextToken(before = ''): Promise<string> {
    let token = before;
    await this.until(async () => {
      token = await this.renewedToken();
      return token !== '' && token !== before;
    });
    return token;
  }

  /** Returns the CredentialFresh condition, such as `True CredentialValid: …`. */
  async fresh(name = this.name): Promise<string> {
    return await this.condition('CredentialFresh', name);
  }

  async condition(type: string, name = this.name): Promise<string> {
    const { status } = await this.hub.admin.get(Clusters, { name });
    const found = status?.conditions?.find((each) => each.type === type);
    return found === undefined ? '' : `${found.status} ${found.reason}: ${found.message}`;
  }

  /** Waits until a condition begins with this text. */
  async shows(text: string, type = 'CredentialFresh', patienceMs = PATIENCE_MS): Promise<string> {
    await this.until(async () => (await this.condition(type)).startsWith(text), patienceMs);
    return await this.condition(type);
  }

  async events(): Promise<readonly string[]> {
    const { items } = await this.hub.admin.list(Events);
    return items.filter(({ involvedObject }) => involvedObject.name === this.name).map(({ type, reason }) => `${type} ${reason}`);
  }

  /** Waits until `check` passes; advances the simulated clock. */
  async until(check: () => Promise<boolean> | boolean, patienceMs = PATIENCE_MS): Promise<void> {
    for (const end = this.clock.now() + patienceMs; !(await check()); this.clock.advance(STEP_MS)) {
      if (this.clock.now() > end) throw new Error(`not in time; ${await this.fresh()}`);
      await turns();
    }
  }

  /** Advances the simulated clock in steps, so that due work completes. */
  async wait(ms: number, stepMs = STEP_MS): Promise<void> {
    for (const end = this.clock.now() + ms; this.clock.now() < end; this.clock.advance(Math.min(stepMs, end - this.clock.now())))
      await turns();
    await turns();
  }

  /** Returns tokens that appear in the log, in events or in a status. */
  async leaks(): Promise<readonly string[]> {
    const [events, clusters] = [await this.hub.admin.list(Events), await this.hub.admin.list(Clusters)];
    const texts = [...this.logged, JSON.stringify(events), JSON.stringify(clusters)].join('\n');
    return [...this.target.issued.keys()].filter((token) => texts.includes(token) || texts.includes(base64(token)));
  }
}

/** Returns a client whose creations and updates of Secrets fail with this code while `isFailing` returns true. */
export function failingHub({ hub }: CredentialWorld, code: number, isFailing: () => boolean): KubeClient {
  return new Proxy(hub.admin, {
    get: (client, name) => {
      const member: unknown = Reflect.get(client, name, client);
      if (typeof member !== 'function') return member;
      if (name !== 'create' && name !== 'update') return member.bind(client);
      return (resource: unknown, ...rest: readonly unknown[]) => {
        if (resource !== Secrets || !isFailing()) return member.call(client, resource, ...rest) as unknown;
        return Promise.reject(
          new StatusError({ kind: 'Status', apiVersion: 'v1', metadata: {}, status: 'Failure', code, message: 'no space left' }),
        );
      };
    },
  });
}

export function textOf(secret: Secret | undefined): string {
  return Buffer.from(secret?.data?.['token'] ?? '', 'base64').toString();
}

function ignoreNotFound(error: unknown): undefined {
  if (!hasReason(error, 'NotFound')) throw error;
}
