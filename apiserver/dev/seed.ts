// Initial content of local clusters: Purser's custom resources, the registered targets, and the samples.
// It is written through the API at each start; unchanged objects are not written.

import { DefaultNamespace } from '../../src/api/names.ts';
import { Clusters, ManagedTokens, Secrets } from '../../src/api/resources.ts';
import type { KubeClient } from '../../src/kube/client.ts';
import { untilServed } from '../../src/kube/discovery.ts';
import { applyAll, applyMissing, readManifests } from '../../src/kube/manifests.ts';
import { systemClock } from '../../src/std/clock.ts';
import type { LocalServer } from './servers.ts';

/** Installs Purser's custom resources on the hub and waits until they are served. */
export async function installOnHub(hub: KubeClient, signal: AbortSignal): Promise<void> {
  await applyAll(hub, await readManifests('crds'));
  await applyMissing(hub, [{ apiVersion: 'v1', kind: 'Namespace', metadata: { name: DefaultNamespace } }]);
  await untilServed(hub, [Clusters, ManagedTokens], { clock: systemClock, random: Math.random, signal });
}

/** Gives Purser an account on a target and registers the target, with a new token of that account, on the hub. */
export async function registerTarget(hub: KubeClient, target: KubeClient, { name, url, ca }: LocalServer): Promise<void> {
  await applyAll(target, await readManifests('deploy/target/access.yaml'));
  const { status } = await target.createToken(ACCOUNT, { audiences: [], expirationSeconds: YEAR_SECONDS });
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

/**
 * The sample namespaces, permissions and ManagedTokens. The sample Cluster is left out, because targets register themselves, and the quota,
 * because the local server has none.
 */
export async function addHubSamples(hub: KubeClient): Promise<void> {
  const samples = await readManifests('deploy/samples');
  await applyMissing(
    hub,
    samples.filter(({ kind = '' }) => !LEFT_OUT.has(kind)),
  );
}

/** Returns the account on a target that the samples' tokens are for. */
export async function addTargetSamples(target: KubeClient): Promise<void> {
  await applyMissing(target, await readManifests('deploy/target/deployer.yaml'));
}

const LEFT_OUT = new Set(['Cluster', 'Secret', 'ResourceQuota']);

const ACCOUNT = { namespace: DefaultNamespace, name: 'purser' };
/** Long enough for any run; every start renews it. */
const YEAR_SECONDS = 365 * 24 * 3_600;

function base64(text: string): string {
  return Buffer.from(text).toString('base64');
}
