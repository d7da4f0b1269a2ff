// Initial objects of local clusters: CustomResourceDefinitions, registered targets, and samples.
// Each start applies them through the API, except samples that were created before; the servers do not write unchanged objects.

import { DefaultNamespace, FederatedServiceAccount } from '../../src/api/names.ts';
import { Clusters, ManagedTokenSets, ManagedTokens, Secrets } from '../../src/api/resources.ts';
import { renderTargetAccess } from '../../src/cli/manifests.ts';
import type { KubeClient } from '../../src/kube/client.ts';
import { waitUntilServed } from '../../src/kube/discovery.ts';
import { applyAll, applyMissing, parseManifests, readManifests } from '../../src/kube/manifests.ts';
import { systemClock } from '../../src/std/clock.ts';
import { FEDERATED_USER, isFederated, type LocalServer } from './servers.ts';

/** Installs Purser's CustomResourceDefinitions and its namespace on the hub, and waits until the kinds are served. */
export async function installOnHub(hub: KubeClient, signal: AbortSignal): Promise<void> {
  await applyAll(hub, await readManifests('crds'));
  await applyMissing(hub, [{ apiVersion: 'v1', kind: 'Namespace', metadata: { name: DefaultNamespace } }]);
  await waitUntilServed(hub, [Clusters, ManagedTokens, ManagedTokenSets], { clock: systemClock, random: Math.random, signal });
}

/** Grants Purser permissions on a target, and registers the target on the hub. Stores a new token, unless the target trusts the hub. */
export async function registerTarget(hub: KubeClient, target: KubeClient, { name, url, ca }: LocalServer): Promise<void> {
  const access = isFederated(name) ? await federate(hub, target) : await issueCredential(target);
  const credential = { namespace: DefaultNamespace, name: `${name}-credential` };
  const values = { ...access, server: url, 'ca.crt': ca, cluster: name };
  const data = Object.fromEntries(Object.entries(values).map(([key, value]) => [key, encodeBase64(value)]));
  await hub.apply(Secrets, { metadata: credential, type: 'Opaque', data }, { force: true });
  await hub.apply(
    Clusters,
    {
      apiVersion: 'registry.purser.dev/v1alpha1',
      kind: 'Cluster',
      metadata: { name },
      spec: {
        orchestratorApiEndpoints: { caBundle: encodeBase64(ca), serverEndpoints: [{ clientCIDR: '0.0.0.0/0', serverAddress: url }] },
        authInfo: { controller: { kind: 'Secret', ...credential } },
      },
    },
    { force: true },
  );
}

/** Creates Purser's service account on a target, with its permissions. Returns the credential Secret's data: a new token. */
async function issueCredential(target: KubeClient): Promise<Readonly<Record<string, string>>> {
  await applyAll(target, await readManifests('deploy/target/access.yaml'));
  const { status } = await target.createToken(SERVICE_ACCOUNT, { audiences: [], expirationSeconds: YEAR_SECONDS });
  return { token: status?.token ?? '' };
}

/** Grants permissions on a target to the federated user, and lets the target read the hub's keys. Returns the credential Secret's data. */
async function federate(hub: KubeClient, target: KubeClient): Promise<Readonly<Record<string, string>>> {
  await applyAll(target, parseManifests(await renderTargetAccess({ user: FEDERATED_USER })));
  const federation = await readManifests('deploy/components/federation/access.yaml');
  // In a local run, Purser is an administrator of the hub and needs no roles there.
  await applyAll(hub, [...federation.filter(({ kind }) => kind === 'ServiceAccount'), ISSUER_DISCOVERY]);
  return { serviceAccount: FederatedServiceAccount };
}

const RBAC_GROUP = 'rbac.authorization.k8s.io';
/** Binding that lets targets read the hub's discovery document and keys without authentication. */
const ISSUER_DISCOVERY = {
  apiVersion: `${RBAC_GROUP}/v1`,
  kind: 'ClusterRoleBinding',
  metadata: { name: 'purser-issuer-discovery' },
  roleRef: { apiGroup: RBAC_GROUP, kind: 'ClusterRole', name: 'system:service-account-issuer-discovery' },
  subjects: [{ kind: 'Group', apiGroup: RBAC_GROUP, name: 'system:unauthenticated' }],
};

/** Creates the samples of the hub. The ManagedTokens among them use the first target. */
export async function addHubSamples(hub: KubeClient): Promise<void> {
  for (const name of SAMPLES) await applyMissing(hub, await readManifests(`deploy/samples/${name}.yaml`));
}

/** Creates the service account that the samples request tokens for. */
export async function addTargetSamples(target: KubeClient): Promise<void> {
  await applyMissing(target, await readManifests('deploy/target/deployer.yaml'));
}

const SAMPLES = ['argo-cd', 'ci-deployer', 'flux', 'managed-token-set', 'revocable'];

const SERVICE_ACCOUNT = { namespace: DefaultNamespace, name: 'purser' };
/** Requested lifetime of Purser's token on a target, in seconds. Each start issues a new token. */
const YEAR_SECONDS = 365 * 24 * 3_600;

function encodeBase64(text: string): string {
  return Buffer.from(text).toString('base64');
}
