// Hub with the objects of a bench, and a façade, as separate processes.

import type { User } from '../../apiserver/access/user.ts';
import type { KubeClient } from '../../src/kube/client.ts';
import { type RealCluster, startRealCluster } from '../support/real-cluster.ts';
import { TEST_USERS } from '../support/users.ts';
import { adminOf, seedHub } from './hub.ts';
import { pidOf } from './process-usage.ts';
import { startPurser } from './purser-process.ts';

/** Server, and its process. */
export interface Served {
  readonly url: string;
  readonly pid: number;
}

/** Hub of a bench. */
export type Hub = Served & Pick<RealCluster, 'kubeconfig' | 'stop'>;

export interface HubWithFacade {
  readonly client: KubeClient;
  readonly hub: Served;
  /** The façade, and the URL of its metrics. */
  readonly facade: Served & { readonly metrics: string };
  readonly stop: () => Promise<void>;
}

/** Starts a real kube-apiserver; `callers` have static tokens, in addition to the test users. */
export async function startRealHub(callers: ReadonlyMap<string, User> = new Map()): Promise<Hub> {
  const { url, port, kubeconfig, stop } = await startRealCluster({ tokens: new Map([...TEST_USERS, ...callers]) });
  return { url, pid: await pidOf(`--secure-port=${port}`), kubeconfig, stop };
}

/** Creates the objects of a hub with `seed`, and starts a façade; `options` of Purser are in addition to those of every bench. */
export async function startFacadeOf(
  hub: Hub,
  seed: (client: KubeClient) => Promise<void>,
  options: readonly string[] = [],
): Promise<HubWithFacade> {
  const client = await adminOf(hub);
  await seedHub(client);
  await seed(client);
  // Without controllers, which are not measured.
  const purser = await startPurser(await hub.kubeconfig('admin'), ['--components', 'facade', ...options]);
  const { facade: url = '', metrics = '' } = await purser.ready;
  const stop = async () => {
    await client.transport.close();
    await purser.stop();
    await hub.stop();
  };
  return { client, hub, facade: { url, metrics, pid: purser.pid }, stop };
}
