// Starts a façade on a hub, with its own informers and TLS socket.

import { Agent } from 'node:https';
import { filter, firstValueFrom, merge, Subscription } from 'rxjs';
import { ClusterRoleBindings, ClusterRoles, Clusters } from '../../src/api/resources.ts';
import { CLUSTER_LIST } from '../../src/facade/clusters/cluster-list.ts';
import { createFacade, type FacadeOptions, type FacadeSettings } from '../../src/facade/facade.ts';
import { computeWatchLimits } from '../../src/facade/limits/concurrency.ts';
import { createLists, createListsOnDemand } from '../../src/facade/lists.ts';
import { KubeClient } from '../../src/kube/client.ts';
import { createInformer } from '../../src/kube/informer.ts';
import { createFixedConfig } from '../../src/kube/kube-config.ts';
import { createTransport } from '../../src/kube/transport.ts';
import { systemClock as clock } from '../../src/std/clock.ts';
import { createAuthority, issueServerCertificate, LOOPBACK_NAMES } from '../../src/std/x509/certificates.ts';
import { ClusterClients } from '../../src/targets/cluster-clients.ts';
import { silentLog } from '../support/silent-log.ts';
import { base64, settings as targetSettings } from '../targets/registration.ts';
import type { ContractServer } from './server.ts';

export interface StartedFacade {
  readonly url: string;
  readonly agent: Agent;
  readonly hub: KubeClient;
  readonly stop: () => Promise<void>;
}

export interface StartFacadeOptions {
  /** Installs the Cluster CRD on the hub before the façade starts. */
  readonly install: (hub: KubeClient) => Promise<void>;
  readonly historyCapacity?: number | undefined;
  /** Clusters that tokens are issued for; none by default. */
  readonly findRegistration?: FacadeOptions['findRegistration'];
  readonly settings?: Partial<FacadeSettings>;
}

/** Authority of the certificates of all façades of this process. */
export const authority = createAuthority(Date.now());

/** Starts a façade with the lists of a hub, as the hub's administrator. */
export async function startFacade(
  server: Pick<ContractServer, 'url' | 'ca' | 'tokens'>,
  options: StartFacadeOptions,
): Promise<StartedFacade> {
  const { historyCapacity, findRegistration = () => undefined, settings } = options;
  const cluster = { name: 'hub', server: server.url, caData: base64(server.ca), skipTLSVerify: false };
  const transport = createTransport(createFixedConfig(cluster, { name: 'purser', token: server.tokens.admin }), { clock });
  const hub = new KubeClient(transport, 'purser');
  await options.install(hub);
  const source = { client: hub, clock, random: Math.random };
  const clusters = createInformer({ ...source, resource: Clusters });
  const roles = createInformer({ ...source, resource: ClusterRoles });
  const bindings = createInformer({ ...source, resource: ClusterRoleBindings });
  const subscription = new Subscription();
  subscription.add(merge(clusters.batches$, roles.batches$, bindings.batches$).subscribe());
  for (const { synced$ } of [clusters, roles, bindings]) await firstValueFrom(synced$.pipe(filter(Boolean)));
  const lists = createLists({
    lists: { clusters: CLUSTER_LIST },
    informers: { clusters },
    listsOnDemand: createListsOnDemand({ hub, clock, random: Math.random, log: silentLog, onProblem: () => {} }),
    watchLimits: computeWatchLimits(undefined),
    roles,
    bindings,
    hub,
    clock,
    random: Math.random,
    log: silentLog,
    historyCapacity,
  });
  const { certificate: cert, key } = issueServerCertificate(authority, LOOPBACK_NAMES, Date.now());
  const clients = new ClusterClients(targetSettings(clock));
  const facade = createFacade({
    hub,
    clients,
    findRegistration,
    certificate: async () => ({ cert, key }),
    clock,
    log: silentLog,
    settings: { facadePort: 0, bindAddress: '127.0.0.1', ...settings },
    lists,
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
