// Initial objects of local clusters: CustomResourceDefinitions, registered targets, and samples.
// Each start applies them through the API; the servers do not write unchanged objects.

import { DefaultNamespace } from '../../src/api/names.ts';
import { Clusters, ManagedTokens, Secrets } from '../../src/api/resources.ts';
import type { KubeClient } from '../../src/kube/client.ts';
import { waitUntilServed } from '../../src/kube/discovery.ts';
import { applyAll, applyMissing, readManifests } from '../../src/kube/manifests.ts';
import { systemClock } from '../../src/std/clock.ts';
import type { LocalServer } from './servers.ts';

/** Installs Purser's CustomResourceDefinitions on the hub, and waits until their kinds are served. */
export async function installOnHub(hub: KubeClient, signal: AbortSignal): Promise<void> {
  await applyAll(hub, await readManifests('crds'));
  await applyMissing(hub, [{ apiVersion: 'v1', kind: 'Namespace', metadata: { name: DefaultNamespace } }]);
  await waitUntilServed(hub, [Clusters, ManagedTokens], { clock: systemClock, random: Math.random, signal });
}

/** Creates Purser's service account on a target, and registers the target on the hub with a new token. */
export async function registerTarget(hub: KubeClient, target: KubeClient, { name, url, ca }: LocalServer): Promise<void> {
  await applyAll(target, await readManifests('deploy/target/access.yaml'));
  const { status } = await target.createToken(SERVICE_ACCOUNT, { audiences: [], expirationSeconds: YEAR_SECONDS });
  const credential = { namespace: DefaultNamespace, name: `${name}-credential` };
  const values = { token: status?.token ?? '', server: url, 'ca.crt': ca, cluster: name };
  const data = Object.fromEntries(Object.entries(values).map(([key, value]) => [key, base64(value)]));
  await hub.apply(Secrets, { metadata: credential, type: 'Opaque', data }, { force: true });
  await hub.apply(
    Clusters,
    {
      apiVersion: 'registry.purser.dev/v1alpha1',
      kind: 'Cluster',
      metadata: { name },
      spec: {
        orchestratorApiEndpoints: { caBundle: base64(ca), serverEndpoints: [{ clientCIDR: '0.0.0.0/0', serverAddress: url }] },
        authInfo: { controller: { kind: 'Secret', ...credential } },
      },
    },
    { force: true },
  );
}

/** Creates the sample namespaces, permissions and ManagedTokens; omits kinds that a local run registers itself, does not support or does not use. */
export async function addHubSamples(hub: KubeClient): Promise<void> {
  const samples = await readManifests('deploy/samples');
  await applyMissing(
    hub,
    samples.filter(({ kind = '' }) => !EXCLUDED_KINDS.has(kind)),
  );
}

/** Creates the service account on a target for which the samples request tokens. */
export async function addTargetSamples(target: KubeClient): Promise<void> {
  await applyMissing(target, await readManifests('deploy/target/deployer.yaml'));
}

const EXCLUDED_KINDS = new Set(['Cluster', 'ConfigMap', 'Secret', 'ResourceQuota']);

const SERVICE_ACCOUNT = { namespace: DefaultNamespace, name: 'purser' };
/** Lifetime of Purser's token on a target. Each start issues a new token. */
const YEAR_SECONDS = 365 * 24 * 3_600;

function base64(text: string): string {
  return Buffer.from(text).toString('base64');
}
