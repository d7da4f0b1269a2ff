// Real hub with many Clusters, a user Alice who sees some of them, and a façade.

import type { User } from '../../apiserver/access/user.ts';
import type { Cluster } from '../../src/api/cluster.gen.ts';
import { ClusterRoles, Clusters } from '../../src/api/resources.ts';
import type { KubeClient } from '../../src/kube/client.ts';
import { allow, base64, ROLE } from './hub.ts';
import { type Served, startFacadeOf, startRealHub } from './hub-with-facade.ts';
import { inParallel } from './in-parallel.ts';

/** Static tokens of the two callers. */
export const ADMIN = 'admintoken';
export const ALICE = 'alicetoken';
/** Query that selects the clusters that Alice sees. */
export const ALICE_SELECTOR = 'labelSelector=slice%3Dsmall';
/** Number of clusters that Alice sees, if there are enough. */
const VISIBLE = 100;

/** Server of lists, and its process. */
export interface ListServer extends Served {
  readonly path: string;
}

export interface RegistryWorld {
  readonly client: KubeClient;
  readonly clusters: number;
  /** Number of clusters that Alice sees. */
  readonly visible: number;
  readonly hub: ListServer;
  readonly facade: ListServer;
  readonly stop: () => Promise<void>;
}

export interface RegistryWorldOptions {
  /** Callers with static tokens, in addition to the test users. */
  readonly callers?: ReadonlyMap<string, User>;
  /** Options of Purser, in addition to those of every bench. */
  readonly options?: readonly string[];
}

/** Starts a hub with some Clusters, and a façade. */
export async function startRegistryWorld(clusters: number, { callers, options }: RegistryWorldOptions = {}): Promise<RegistryWorld> {
  const visible = Math.min(VISIBLE, Math.floor(clusters / 2));
  const seed = (admin: KubeClient) => register(admin, { clusters, visible });
  const { client, hub, facade, stop } = await startFacadeOf(await startRealHub(callers), seed, options);
  const path = '/apis/registry.purser.dev/v1alpha1/clusters';
  return { client, clusters, visible, hub: { ...hub, path }, facade: { ...facade, path: '/auth/v1/clusters' }, stop };
}

/** Grants Alice permission for one more cluster. */
export async function grantNext(client: KubeClient, { visible }: Pick<RegistryWorld, 'visible'>): Promise<void> {
  await client.patch(ClusterRoles, { name: ROLE }, [{ op: 'add', path: '/rules/-', value: rule([nameOf(visible)]) }]);
}

export function nameOf(index: number): string {
  return `cluster-${String(index).padStart(5, '0')}`;
}

async function register(client: KubeClient, { clusters, visible }: Pick<RegistryWorld, 'clusters' | 'visible'>): Promise<void> {
  const names = Array.from({ length: clusters }, (_, index) => nameOf(index));
  await inParallel(names, async (name, index) => void (await client.create(Clusters, clusterOf(name, index, index < visible))));
  await allow(client, [rule(names.slice(0, visible))], [{ kind: 'User', name: 'alice' }]);
}

function rule(resourceNames: readonly string[]) {
  return { apiGroups: ['registry.purser.dev'], resources: ['clusters'], verbs: ['get'], resourceNames: [...resourceNames] };
}

/** Returns a Cluster of about 2.5 kB in the hub's response. */
function clusterOf(name: string, index: number, isVisible: boolean): Cluster {
  const labels = { env: index % 2 === 0 ? 'prod' : 'dev', region: `region-${index % 10}`, ...(isVisible && { slice: 'small' }) };
  const certificate = `-----BEGIN CERTIFICATE-----\n${'TUlJQ2R6Q0NBZCtnQXdJQkFnSVVk'.repeat(36)}\n-----END CERTIFICATE-----\n`;
  const serverEndpoints = ['10.0.0.0/8', '0.0.0.0/0'].map((clientCIDR) => ({
    clientCIDR,
    serverAddress: `https://${name}.example.com:6443`,
  }));
  return {
    apiVersion: 'registry.purser.dev/v1alpha1',
    kind: 'Cluster',
    metadata: { name, labels },
    spec: { orchestratorApiEndpoints: { caBundle: base64(certificate), serverEndpoints } },
  };
}
