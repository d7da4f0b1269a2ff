// A façade for cluster lists on the server under test, with its own informers and TLS socket.

import { Agent } from 'node:https';
import { afterAll, beforeAll } from '@jest/globals';
import { EMPTY, filter, firstValueFrom, merge, Subscription } from 'rxjs';
import { ClusterRoleBindings, ClusterRoles, Clusters } from '../../src/api/resources.ts';
import { createClusterList } from '../../src/facade/clusters/cluster-list.ts';
import { createFacade } from '../../src/facade/facade.ts';
import { KubeClient } from '../../src/kube/client.ts';
import { waitUntilServed } from '../../src/kube/discovery.ts';
import { createInformer } from '../../src/kube/informer.ts';
import { fixedConfig } from '../../src/kube/kube-config.ts';
import { applyAll, readManifests } from '../../src/kube/manifests.ts';
import { createTransport } from '../../src/kube/transport.ts';
import { systemClock as clock } from '../../src/std/clock.ts';
import { createAuthority, issueServerCertificate, LOOPBACK_NAMES } from '../../src/std/x509/certificates.ts';
import { ClusterClients } from '../../src/targets/cluster-clients.ts';
import { sendRequest } from '../support/api-request.ts';
import { silentLog } from '../support/silent-log.ts';
import { settings as targetSettings } from '../targets/registration.ts';
import type { ContractServer } from './server.ts';

/** Façade under test: a server like any other, with a client of its hub. */
export interface ClusterFacade extends Omit<ContractServer, 'forget'> {
  readonly hub: KubeClient;
  readonly agent: Agent;
}

export interface ClusterFacadeOptions {
  /** Installs the Cluster CRD on the hub before the façade starts; default: Purser's own CRDs. */
  readonly install?: (server: ContractServer) => Promise<void>;
  readonly historyCapacity?: number;
}

/** Starts a façade for the tests of one file, after its server and before the first test. */
export function clusterFacade(server: ContractServer, options: ClusterFacadeOptions = {}): ClusterFacade {
  let started: Started | undefined;
  beforeAll(async () => {
    started = await start(server, options);
  }, START_MS);
  afterAll(() => started?.stop(), START_MS);
  return {
    get url() {
      return requireStarted(started).url;
    },
    ca: authority.certificate,
    tokens: server.tokens,
    get hub() {
      return requireStarted(started).hub;
    },
    get agent() {
      return requireStarted(started).agent;
    },
    request: (method, path, request) => sendRequest(requireStarted(started), method, path, request),
  };
}

interface Started {
  readonly url: string;
  readonly agent: Agent;
  readonly hub: KubeClient;
  readonly stop: () => Promise<void>;
}

const START_MS = 120_000;
const authority = createAuthority(Date.now());

function requireStarted(facade: Started | undefined): Started {
  if (facade === undefined) throw new Error('The façade starts in beforeAll.');
  return facade;
}

async function start(server: ContractServer, { install, ...options }: ClusterFacadeOptions): Promise<Started> {
  const cluster = { name: 'hub', server: server.url, caData: Buffer.from(server.ca).toString('base64'), skipTLSVerify: false };
  const transport = createTransport(fixedConfig(cluster, { name: 'purser', token: server.tokens.admin }), { clock });
  const hub = new KubeClient(transport, 'purser');
  await (install?.(server) ?? installDefinitions(hub));
  const source = { client: hub, clock, random: Math.random };
  const clusters = createInformer({ ...source, resource: Clusters });
  const roles = createInformer({ ...source, resource: ClusterRoles });
  const bindings = createInformer({ ...source, resource: ClusterRoleBindings });
  const subscription = new Subscription();
  subscription.add(merge(clusters.batches$, roles.batches$, bindings.batches$).subscribe());
  for (const { synced$ } of [clusters, roles, bindings]) await firstValueFrom(synced$.pipe(filter(Boolean)));
  const list = createClusterList({
    clusters,
    roles,
    bindings,
    hub,
    clock,
    random: Math.random,
    log: silentLog,
    endpointsOf: ({ spec }) => spec.orchestratorApiEndpoints,
    republished$: EMPTY,
    ...options,
  });
  subscription.add(list.run());
  const { certificate: cert, key } = issueServerCertificate(authority, LOOPBACK_NAMES, Date.now());
  const clients = new ClusterClients(targetSettings(clock));
  const facade = createFacade({
    hub,
    clients,
    registered: () => undefined,
    certificate: async () => ({ cert, key }),
    clock,
    log: silentLog,
    settings: { facadePort: 0, bindAddress: '127.0.0.1' },
    routes: list.routes,
  });
  const agent = new Agent({ ca: authority.certificate, keepAlive: true });
  const stop = async () => {
    agent.destroy();
    await facade.close(200);
    subscription.unsubscribe();
    await clients.close();
    await transport.close();
  };
  return { url: await facade.listen(), agent, hub, stop };
}

async function installDefinitions(hub: KubeClient): Promise<void> {
  await applyAll(hub, await readManifests('crds'));
  await waitUntilServed(hub, [Clusters], { clock, random: Math.random, signal: AbortSignal.timeout(30_000) });
}
