// Real hub and target cluster, with namespaces full of ManagedTokens.

import { readFile } from 'node:fs/promises';
import type { Cluster } from '../../src/api/cluster.gen.ts';
import type { ManagedToken } from '../../src/api/managed-token.gen.ts';
import { Clusters, ManagedTokens, Namespaces, Secrets, ServiceAccounts } from '../../src/api/resources.ts';
import type { KubeClient } from '../../src/kube/client.ts';
import { type RealCluster, startRealCluster } from '../support/real-cluster.ts';
import { adminOf, allow, base64, NAMESPACE, seedHub } from './hub.ts';
import { inParallel } from './in-parallel.ts';

/** Purser's user name on the hub and on the target. */
export const PURSER_USER = 'purser';
const PER_NAMESPACE = 100;

export interface TokenWorld {
  readonly hub: RealCluster;
  readonly target: RealCluster;
  readonly client: KubeClient;
  /** Path of Purser's kubeconfig for the hub. */
  readonly kubeconfig: string;
  readonly stop: () => Promise<void>;
}

/** ManagedTokens to create. */
export interface TokenBatch {
  /** Prefix of namespaces. */
  readonly prefix: string;
  readonly count: number;
  readonly expirationSeconds: number;
  readonly renewBefore: string;
}

/** Starts the clusters, by default with audit logs, and registers the target under the name `target`. */
export async function startTokenWorld({ audit = true } = {}): Promise<TokenWorld> {
  // The maximum size exceeds that of any log of a bench, because a rotation of the log would lose entries.
  const options = audit ? { audit, flags: ['--audit-log-maxsize=100000'] } : {};
  const [hub, target] = await Promise.all([startRealCluster(options), startRealCluster(options)]);
  const client = await adminOf(hub);
  const stop = async () => {
    await client.transport.close();
    await Promise.all([hub.stop(), target.stop()]);
  };
  try {
    await seedTarget(target);
    await seedHub(client);
    await register(client, target);
    return { hub, target, client, kubeconfig: await hub.kubeconfig(PURSER_USER, ['system:masters']), stop };
  } catch (error) {
    await stop();
    throw error;
  }
}

/** Creates ManagedTokens, and returns them as stored. */
export async function createTokens(
  client: KubeClient,
  { prefix, count, expirationSeconds, renewBefore }: TokenBatch,
): Promise<ManagedToken[]> {
  const namespaces = Array.from({ length: Math.ceil(count / PER_NAMESPACE) }, (_, index) => `${prefix}-${index}`);
  await inParallel(namespaces, async (name) => {
    await client.create(Namespaces, { metadata: { name } });
    await client.create(ServiceAccounts, { metadata: { namespace: name, name: 'default' } });
  });
  const created: ManagedToken[] = [];
  await inParallel(Array.from({ length: count }), async (_, index) => {
    const metadata = { namespace: namespaces[Math.floor(index / PER_NAMESPACE)] as string, name: `token-${index}` };
    const spec = {
      clusterName: 'target',
      serviceAccount: { namespace: 'deploy', name: 'deployer' },
      audiences: ['https://kubernetes.default.svc'],
      expirationSeconds,
      rotation: { renewBefore },
    };
    // The API server sets the defaults.
    created[index] = await client.create(ManagedTokens, { metadata, spec } as unknown as ManagedToken);
  });
  return created;
}

async function seedTarget(target: RealCluster): Promise<void> {
  const client = await adminOf(target);
  await client.create(Namespaces, { metadata: { name: 'deploy' } });
  await client.create(ServiceAccounts, { metadata: { namespace: 'deploy', name: 'deployer' } });
  await client.transport.close();
}

async function register(client: KubeClient, target: RealCluster): Promise<void> {
  const rules = [{ apiGroups: ['registry.purser.dev'], resources: ['clusters/token'], resourceNames: ['target'], verbs: ['issue'] }];
  const subjects = [{ apiGroup: 'rbac.authorization.k8s.io', kind: 'Group', name: 'system:serviceaccounts' }];
  await allow(client, rules, subjects);
  await client.create(Secrets, {
    metadata: { namespace: NAMESPACE, name: 'target' },
    type: 'Opaque',
    data: await credentialOf(target),
  });
  await client.create(Clusters, clusterOf(target));
}

async function credentialOf(target: RealCluster): Promise<Record<string, string>> {
  const { certificate, key } = await clientCertificate(target, PURSER_USER);
  const pins = { server: base64(target.url), 'ca.crt': base64(target.ca), cluster: base64('target') };
  return { 'tls.crt': base64(certificate), 'tls.key': base64(key), ...pins };
}

/** Returns a client certificate with all permissions on a cluster. */
export async function clientCertificate(cluster: RealCluster, user: string): Promise<Readonly<Record<'certificate' | 'key', string>>> {
  const path = await cluster.kubeconfig(user, ['system:masters']);
  const { users } = JSON.parse(await readFile(path, 'utf8')) as {
    readonly users: readonly [{ readonly user: Readonly<Record<'client-certificate-data' | 'client-key-data', string>> }];
  };
  const { 'client-certificate-data': certificate, 'client-key-data': key } = users[0].user;
  return { certificate: fromBase64(certificate), key: fromBase64(key) };
}

function clusterOf({ url, ca }: RealCluster): Cluster {
  const serverEndpoints = [{ clientCIDR: '0.0.0.0/0', serverAddress: url }];
  return {
    apiVersion: 'registry.purser.dev/v1alpha1',
    kind: 'Cluster',
    metadata: { name: 'target' },
    spec: {
      orchestratorApiEndpoints: { caBundle: base64(ca), serverEndpoints },
      authInfo: { controller: { kind: 'Secret', namespace: NAMESPACE, name: 'target' } },
    },
  };
}

function fromBase64(text: string): string {
  return Buffer.from(text, 'base64').toString();
}
