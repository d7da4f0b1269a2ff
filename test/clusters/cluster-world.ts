// A hub on the wire, scripted TLS targets, and the Cluster controller between them with a simulated clock.

import type { Cluster } from '../../src/api/cluster.gen.ts';
import type { ManagedToken } from '../../src/api/managed-token.gen.ts';
import { Clusters, Events, ManagedTokens, Namespaces, Secrets } from '../../src/api/resources.ts';
import type { ClusterInformers } from '../../src/clusters/controller.ts';
import { createClusterController } from '../../src/clusters/controller.ts';
import { waitUntilServed } from '../../src/kube/discovery.ts';
import { createInformer } from '../../src/kube/informer.ts';
import { applyAll, readManifests } from '../../src/kube/manifests.ts';
import { Recorder } from '../../src/kube/recorder.ts';
import type { Outcome } from '../../src/runtime/controller.ts';
import { type Clock, systemClock } from '../../src/std/clock.ts';
import { ClusterClients } from '../../src/targets/cluster-clients.ts';
import { turns } from '../kube/eventually.ts';
import { FakeClock } from '../support/clock.ts';
import type { WireHandler, WireServer } from '../support/wire-server.ts';
import { authority, startTarget, withIdentity } from '../targets/wire-target.ts';
import { base64, CREDENTIALS, TestServer } from '../tokens/token-world.ts';

/** Name of the Cluster that represents the hub. */
export const HUB = 'hub';
/** Maximum wait for a condition, in milliseconds of simulated time. */
const PATIENCE_MS = 600_000;
const STEP_MS = 100;

/** Responds like a ready target of this version that allows Purser to issue tokens. */
export function healthy(version = 'v1.36.4', allowed = true): WireHandler {
  return withIdentity((request, reply) => {
    if (request.path === '/readyz') reply.text(200, 'ok');
    else if (request.path === '/version') reply.json(200, { gitVersion: version });
    else reply.json(201, { status: { allowed } });
  });
}

interface Access {
  readonly controller: NonNullable<NonNullable<Cluster['spec']['authInfo']>['controller']>;
  /** Certificate authority, as PEM. */
  readonly ca?: string;
}

/** Starts a hub with Purser's kinds and the namespace of credentials. */
export async function startClusterHub(): Promise<TestServer> {
  const hub = await TestServer.start();
  await applyAll(hub.admin, await readManifests('crds'));
  await hub.admin.create(Namespaces, { metadata: { name: CREDENTIALS } });
  const signal = AbortSignal.timeout(20_000);
  await waitUntilServed(hub.admin, [Clusters, ManagedTokens], { clock: systemClock, random: Math.random, signal });
  return hub;
}

export class ClusterWorld {
  readonly hub: TestServer;
  clock = new FakeClock(Date.now());
  readonly outcomes: Outcome<string>[] = [];
  /** Status and reason of Ready, such as `True ClusterReady`, one for each change, by Cluster. */
  readonly #histories = new Map<string, string[]>();
  readonly #closing: (() => Promise<void>)[] = [];

  private constructor(hub: TestServer) {
    this.hub = hub;
  }

  static async start(): Promise<ClusterWorld> {
    return new ClusterWorld(await startClusterHub());
  }

  async serve(handler: WireHandler): Promise<WireServer> {
    const server = await startTarget(handler);
    this.#closing.push(() => server.close());
    return server;
  }

  /** Registers a Cluster at these addresses. */
  async register(
    name: string,
    servers: readonly string[],
    { token = 'opaque-credential', ca = authority.certificate } = {},
  ): Promise<void> {
    await this.credential(name, { token, server: servers.join('\n'), 'ca.crt': ca });
    await this.add(name, servers, { controller: { kind: 'Secret', namespace: CREDENTIALS, name }, ca });
  }

  /** Creates a Cluster at these addresses. */
  async add(name: string, servers: readonly string[], { controller, ca = authority.certificate }: Access): Promise<void> {
    const cluster: Cluster = {
      apiVersion: 'registry.purser.dev/v1alpha1',
      kind: 'Cluster',
      metadata: { name },
      spec: {
        orchestratorApiEndpoints: {
          caBundle: base64(ca),
          serverEndpoints: servers.map((serverAddress, index) => ({ clientCIDR: `127.0.0.0/${24 - index}`, serverAddress })),
        },
        authInfo: { controller },
      },
    };
    await this.hub.admin.create(Clusters, cluster);
  }

  /** Creates a ManagedToken for a service account in this namespace of a Cluster. */
  async wantToken(clusterName: string, namespace: string): Promise<void> {
    const metadata = { namespace: CREDENTIALS, name: `${clusterName}-${namespace}` };
    const given = { clusterName, serviceAccount: { namespace, name: 'deployer' }, audiences: ['https://target.test'] };
    const spec = given as unknown as ManagedToken['spec'];
    await this.hub.admin.apply(ManagedTokens, { apiVersion: 'tokens.purser.dev/v1alpha1', kind: 'ManagedToken', metadata, spec });
  }

  /** Writes a credential Secret for the Cluster of the same name. */
  async credential(name: string, keys: Readonly<Record<string, string>>): Promise<void> {
    const all = { 'ca.crt': authority.certificate, cluster: name, ...keys };
    const data = Object.fromEntries(Object.entries(all).map(([key, value]) => [key, base64(value)]));
    await this.hub.admin.apply(Secrets, { metadata: { namespace: CREDENTIALS, name }, type: 'Opaque', data }, { force: true });
  }

  /** Ends the current term of the controller, and starts the next one with the same informers. */
  nextTerm = (): void => {};
  /** Number of indexes that the controller added to the ManagedTokens. */
  tokenIndexes = 0;

  /** Runs the controller until the world is closed. */
  run(clock: Clock = this.clock): void {
    const real = { client: this.hub.admin, clock: systemClock, random: Math.random };
    const informers: ClusterInformers = {
      clusters: createInformer({ ...real, resource: Clusters }),
      tokens: createInformer({ ...real, resource: ManagedTokens }),
      credentials: [createInformer({ ...real, resource: Secrets, selection: { namespace: CREDENTIALS } })],
    };
    const places = { allowLoopback: true, credentialNamespaces: [CREDENTIALS], ownAddress: '127.0.0.1' };
    const hub = { clusterName: HUB, client: this.hub.admin, namespace: CREDENTIALS };
    const clients = new ClusterClients({ clock, ...places, hub });
    const recorder = new Recorder({ ...real, component: 'purser', instance: 'test' });
    const settings = { probeIntervalMs: 10_000, accessIntervalMs: 60_000 };
    const controller = createClusterController({ informers, hub: this.hub.admin, clients, recorder, clock, random: () => 0, settings });
    const { store } = informers.tokens;
    const index = store.index.bind(store);
    const counted: typeof index = (valuesOf) => {
      this.tokenIndexes += 1;
      return index(valuesOf);
    };
    Object.assign(store, { index: counted });
    const lead = () => controller(new AbortController().signal).subscribe((outcome) => this.outcomes.push(outcome));
    const remembering = informers.clusters.changes$.subscribe(({ object }) => this.#remember(object));
    let term = lead();
    this.nextTerm = () => {
      term.unsubscribe();
      term = lead();
    };
    this.#closing.unshift(async () => {
      term.unsubscribe();
      remembering.unsubscribe();
      await recorder.flush();
      await clients.close();
    });
  }

  async close(): Promise<void> {
    for (const close of this.#closing) await close();
    await this.hub.admin.transport.close();
    await this.hub.stop();
  }

  /** Returns the Ready conditions so far, one for each change. */
  history(name: string): readonly string[] {
    return this.#histories.get(name) ?? [];
  }

  #remember({ metadata, status }: Cluster): void {
    const ready = status?.conditions?.find(({ type }) => type === 'Ready');
    const known = this.#histories.get(metadata.name ?? '') ?? [];
    const text = `${ready?.status} ${ready?.reason}`;
    if (ready !== undefined && known.at(-1) !== text) this.#histories.set(metadata.name ?? '', [...known, text]);
  }

  get(name: string): Promise<Cluster> {
    return this.hub.admin.get(Clusters, { name });
  }

  /** Returns the conditions, such as `Ready=True ClusterReady`. */
  async conditions(name: string): Promise<readonly string[]> {
    const { status } = await this.get(name);
    return (status?.conditions ?? []).map((condition) => `${condition.type}=${condition.status} ${condition.reason}`);
  }

  /** Waits until a Cluster has this condition; advances the simulated clock. */
  async shows(name: string, condition: string): Promise<void> {
    const end = this.clock.now() + PATIENCE_MS;
    while (!(await this.conditions(name)).includes(condition)) {
      if (this.clock.now() > end) throw new Error(`${name} shows ${String(await this.conditions(name))}`);
      await turns();
      this.clock.advance(STEP_MS);
    }
  }

  /** Advances the simulated clock. */
  async pass(ms: number): Promise<void> {
    for (const end = this.clock.now() + ms; this.clock.now() < end; this.clock.advance(STEP_MS)) await turns();
  }

  /** Returns the reasons of the events about a Cluster. */
  async events(name: string): Promise<readonly string[]> {
    const { items } = await this.hub.admin.list(Events);
    return items.filter(({ involvedObject }) => involvedObject.name === name).map(({ type, reason }) => `${type} ${reason}`);
  }
}
