// Namespaces, service accounts and permissions of hostile and well-behaved tenants, and the Clusters under attack.

import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { type Api, paths } from '../api.ts';
import type { Bench } from '../bench.ts';
import type { BenchCluster } from '../bench-cluster.ts';
import { digestOf } from '../digest.ts';
import type { Reach, Sight } from '../history.ts';
import { textOf } from '../prober.ts';
import {
  applyFile,
  buildCluster,
  buildServiceAccount,
  DEPLOY,
  PURSER_NAMESPACE,
  register,
  requestPurserToken,
  writeCredential,
} from '../seed.ts';
import { type Address, MERGE } from './grammar.ts';
import {
  BUILDER,
  DEPLOYER,
  GUESTS,
  HOSTILE_CALLERS,
  HOSTILE_NAMESPACES,
  INVENTED_CLUSTERS,
  POLITE,
  SANDBOX,
  SLOW_CLUSTER,
  VICTIM_CLUSTERS,
  VICTIMS,
} from './names.ts';

const RBAC = 'rbac.authorization.k8s.io/v1';
const NAMESPACES = [...HOSTILE_NAMESPACES, HOSTILE_CALLERS, POLITE, GUESTS, VICTIMS];

/** Service account on the hub. */
export interface Subject {
  readonly namespace: string;
  readonly name: string;
}

export interface WorldOptions {
  /** True if the hostile writer of ManagedTokens may write their status, which Purser's own roles do not allow. */
  readonly writesStatus: boolean;
  /** API server of the hostile writer of ManagedTokens, which responds slowly. */
  readonly slow: Address;
}

/** Creates all objects on hub and targets; records the permissions of hostile tenants. */
export async function seedTenants(bench: Bench, { writesStatus, slow }: WorldOptions): Promise<void> {
  const { api } = bench.hub;
  await applyFile(api, 'deploy/base/people.yaml');
  for (const name of NAMESPACES) await api.apply(paths.namespaces(name), { apiVersion: 'v1', kind: 'Namespace', metadata: { name } });
  for (const namespace of NAMESPACES) await applyServiceAccount(api, namespace, 'default');
  await seedTargets(bench);
  await seedClusters(bench);
  await seedTokenWriter(bench, writesStatus);
  await seedSlowCluster(bench, slow);
  await seedClusterWriter(api);
  await seedCallers(bench);
}

/** Applies the Clusters under attack as the administrator defined them. Callers repeat this, as a GitOps tool does. */
export async function restoreClusters({ hub, two }: Bench): Promise<void> {
  const objects = { 'two-prod': buildCluster('two-prod', two), 'two-dev': buildCluster('two-dev', two), hub: buildHubCluster(hub) };
  for (const [name, object] of Object.entries(objects)) await hub.api.apply(paths.clusters(name), object);
}

/** Deletes all objects that hostile tenants created. */
export async function clearTenants(bench: Bench): Promise<void> {
  const { api } = bench.hub;
  for (const namespace of HOSTILE_NAMESPACES) await clearNamespace(api, namespace, PURSER_FINALIZERS);
  for (const name of INVENTED_CLUSTERS) await api.delete(paths.clusters(name));
}

/** Deletes the ManagedTokens, Secrets and Clusters of all tenants, which other faults must not find. */
export async function removeTenants(bench: Bench): Promise<void> {
  const { api } = bench.hub;
  for (const namespace of HOSTILE_NAMESPACES) await clearNamespace(api, namespace, '');
  for (const namespace of [POLITE, GUESTS, VICTIMS]) await clearNamespace(api, namespace, PURSER_FINALIZERS);
  for (const name of [...VICTIM_CLUSTERS, SLOW_CLUSTER]) await api.delete(paths.clusters(name));
}

/** Prefix of finalizers that only Purser may remove. */
const PURSER_FINALIZERS = 'tokens.purser.dev/';

/** Deletes all ManagedTokens and Secrets, and removes all finalizers without the prefix `keptPrefix`; an empty prefix removes all. */
async function clearNamespace(api: Api, namespace: string, keptPrefix: string): Promise<void> {
  for (const { metadata } of await api.list(paths.tokens(namespace))) {
    const path = paths.tokens(namespace, metadata.name);
    const finalizers = (metadata.finalizers ?? []).filter((finalizer) => keptPrefix !== '' && finalizer.startsWith(keptPrefix));
    await api.delete(path);
    await api.status('PATCH', path, { metadata: { finalizers } }, MERGE);
  }
  for (const { metadata } of await api.list(paths.secrets(namespace))) {
    await api.status('PATCH', paths.secrets(namespace, metadata.name), { metadata: { finalizers: null } }, MERGE);
    await api.delete(paths.secrets(namespace, metadata.name));
  }
}

async function seedTargets({ one, two, hub }: Bench): Promise<void> {
  // The hub is also a target.
  await applyFile(hub.api, 'deploy/target/access.yaml');
  await hub.api.apply(paths.namespaces(DEPLOY), { apiVersion: 'v1', kind: 'Namespace', metadata: { name: DEPLOY } });
  await two.api.apply(paths.namespaces(SANDBOX), { apiVersion: 'v1', kind: 'Namespace', metadata: { name: SANDBOX } });
  await applyServiceAccount(two.api, SANDBOX, 'default');
  for (const { api } of [one, two, hub]) {
    await applyServiceAccount(api, DEPLOY, DEPLOYER);
    for (const namespace of ['default', 'kube-system']) await applyServiceAccount(api, namespace, 'default');
  }
}

async function seedClusters(bench: Bench): Promise<void> {
  const { hub, one, two, history } = bench;
  await register(hub, 'two-prod', two);
  await writeCredential(hub, 'two-dev', two, { token: await requestPurserToken(two), namespaces: [SANDBOX] });
  await restoreClusters(bench);
  for (const [cluster, benchCluster] of [
    ['one', one],
    ['two', two],
    ['two-prod', two],
    ['two-dev', two],
    ['hub', hub],
  ] as const) {
    history.add({ type: 'pins', cluster, servers: [benchCluster.proxy.url], cas: digestCertificates(benchCluster.proxy.ca) });
    const credential = await readCredential(bench, cluster);
    history.add({ type: 'credential', cluster: benchCluster.name, digest: digestOf(credential) });
  }
}

async function readCredential({ hub, folder }: Bench, cluster: string): Promise<string> {
  if (cluster === 'hub') return (await readFile(join(folder, 'hub.token'), 'utf8')).trim();
  return textOf(await hub.api.get(paths.secrets(PURSER_NAMESPACE, `${cluster}-credential`)));
}

/** Returns digests of all certificates in PEM text. */
export function digestCertificates(pem: string): readonly string[] {
  const blocks = pem.match(/-----BEGIN CERTIFICATE-----[^-]+-----END CERTIFICATE-----/g) ?? [];
  return blocks.map((block) => digestOf(block.replace(/\s/g, '')));
}

function buildHubCluster({ proxy }: BenchCluster): object {
  const metadata = { name: 'hub' };
  const caBundle = Buffer.from(proxy.ca).toString('base64');
  const orchestratorApiEndpoints = { caBundle, serverEndpoints: [{ clientCIDR: '0.0.0.0/0', serverAddress: proxy.url }] };
  const authInfo = { controller: { kind: 'ServiceAccount', namespace: 'purser-system', name: 'purser' } };
  return { apiVersion: 'registry.purser.dev/v1alpha1', kind: 'Cluster', metadata, spec: { orchestratorApiEndpoints, authInfo } };
}

/** Creates the writer of ManagedTokens: editor in two namespaces, with all verbs on Secrets and service accounts there. */
async function seedTokenWriter({ hub, history }: Bench, writesStatus: boolean): Promise<void> {
  const { api } = hub;
  const writer = { namespace: HOSTILE_NAMESPACES[0], name: 'writer' };
  await applyServiceAccount(api, writer.namespace, writer.name);
  await applyServiceAccount(api, writer.namespace, BUILDER);
  const rules = [
    { apiGroups: [''], resources: ['secrets', 'serviceaccounts'], verbs: ['*'] },
    ...(writesStatus ? [{ apiGroups: ['tokens.purser.dev'], resources: ['managedtokens/status'], verbs: ['*'] }] : []),
  ];
  await applyRole(api, 'hostile-writer', rules);
  for (const namespace of HOSTILE_NAMESPACES) {
    for (const role of ['purser-managedtoken-editor', 'hostile-writer']) await bindIn(api, namespace, role, writer);
  }
  await allowBuilder(api);
  history.add({ type: 'authority', holder: 'writer', reach: [ONE_ACCOUNT] });
}

/** Registers the slow API server, for which requesters in both namespaces of the writer of ManagedTokens have permission. */
async function seedSlowCluster({ hub }: Bench, { url, ca }: Address): Promise<void> {
  const target = { proxy: { url, ca } };
  await writeCredential(hub, SLOW_CLUSTER, target, { token: 'credential-of-the-slow-cluster' });
  await hub.api.apply(paths.clusters(SLOW_CLUSTER), buildCluster(SLOW_CLUSTER, target));
  for (const namespace of HOSTILE_NAMESPACES) {
    await applyServiceAccount(hub.api, namespace, SLOW_CLUSTER);
    await allowIssue(hub.api, `slow-${namespace}`, [SLOW_CLUSTER], { namespace, name: SLOW_CLUSTER });
  }
}

/** Grants the hostile requester permission to issue tokens for one service account. */
export async function allowBuilder(api: Api): Promise<void> {
  await allowIssue(api, 'hostile-builder', [`one/${DEPLOY}/${DEPLOYER}`], { namespace: HOSTILE_NAMESPACES[0], name: BUILDER });
}

/** Only service account for which hostile tenants have permission. */
export const ONE_ACCOUNT: Reach = { cluster: 'one', namespace: DEPLOY, account: DEPLOYER };

async function seedClusterWriter(api: Api): Promise<void> {
  await applyServiceAccount(api, HOSTILE_CALLERS, 'registrar');
  const rules = [
    { apiGroups: ['registry.purser.dev'], resources: ['clusters'], verbs: ['get', 'list', 'watch', 'create', 'update', 'patch', 'delete'] },
  ];
  await applyRole(api, 'hostile-registrar', rules);
  await bind(api, 'hostile-registrar', 'hostile-registrar', { namespace: HOSTILE_CALLERS, name: 'registrar' });
}

async function seedCallers({ hub, history }: Bench): Promise<void> {
  const { api } = hub;
  await applyServiceAccount(api, HOSTILE_CALLERS, 'caller');
  const caller = { namespace: HOSTILE_CALLERS, name: 'caller' };
  await allowIssue(api, 'hostile-caller', ['one/deploy/deployer', 'two-dev', 'dev'], caller);
  history.add({ type: 'authority', holder: 'caller', reach: [ONE_ACCOUNT, { cluster: 'two', namespace: SANDBOX }] });
  await allowIssue(api, 'polite-tenants', [`one/${DEPLOY}`, `two/${DEPLOY}`], { namespace: POLITE, name: 'default' });
  await allowIssue(api, 'victim-tenants', [`two-prod/${DEPLOY}`, `hub/${DEPLOY}`], { namespace: VICTIMS, name: 'default' });
}

/** Allows a service account on the hub to issue tokens for the clusters and service accounts in `resourceNames`. */
export async function allowIssue(api: Api, name: string, resourceNames: readonly string[], subject: Subject): Promise<void> {
  await applyRole(api, name, [{ apiGroups: ['registry.purser.dev'], resources: ['clusters/token'], resourceNames, verbs: ['issue'] }]);
  await bind(api, name, name, subject);
}

/** Objects that the administrator lets the hostile caller see through the façade from time to time: by a ClusterRole, and by a Role. */
export const CALLER_SIGHTS: readonly Sight[] = [
  { resource: 'managedtokens', namespace: POLITE },
  { resource: 'managedtokens', namespace: GUESTS, name: 'guest-1' },
];

/** Binding of a permission of the hostile caller in the namespace of a sight. */
const SIGHT = 'hostile-sight';

/** Lets the hostile caller see objects. */
export async function allowSight(api: Api, { resource, namespace, name }: Sight): Promise<void> {
  const subject = { namespace: HOSTILE_CALLERS, name: 'caller' };
  const path = paths.rbac(`namespaces/${namespace}/rolebindings`, SIGHT);
  const metadata = { namespace, name: SIGHT };
  if (name === undefined) return void (await api.apply(path, buildBinding('RoleBinding', metadata, 'purser-managedtoken-viewer', subject)));
  const rules = [{ apiGroups: ['tokens.purser.dev'], resources: [resource], resourceNames: [name], verbs: ['get'] }];
  await api.apply(paths.rbac(`namespaces/${namespace}/roles`, SIGHT), { apiVersion: RBAC, kind: 'Role', metadata, rules });
  await api.apply(path, { ...buildBinding('RoleBinding', metadata, SIGHT, subject), roleRef: { ...ROLE_REF, kind: 'Role', name: SIGHT } });
}

/** Withdraws the permission that `allowSight` granted. */
export async function withdrawSight(api: Api, { namespace }: Sight): Promise<void> {
  await api.delete(paths.rbac(`namespaces/${namespace}/rolebindings`, SIGHT));
}

/** Withdraws the permission that `allowIssue` granted. */
export async function withdrawIssue(api: Api, name: string): Promise<void> {
  await api.delete(paths.rbac('clusterrolebindings', name));
}

async function applyServiceAccount(api: Api, namespace: string, name: string): Promise<void> {
  await api.apply(paths.serviceAccounts(namespace, name), buildServiceAccount(namespace, name));
}

async function applyRole(api: Api, name: string, rules: readonly object[]): Promise<void> {
  await api.apply(paths.rbac('clusterroles', name), { apiVersion: RBAC, kind: 'ClusterRole', metadata: { name }, rules });
}

async function bind(api: Api, name: string, role: string, subject: Subject): Promise<void> {
  await api.apply(paths.rbac('clusterrolebindings', name), buildBinding('ClusterRoleBinding', { name }, role, subject));
}

async function bindIn(api: Api, namespace: string, role: string, subject: Subject): Promise<void> {
  await api.apply(
    paths.rbac(`namespaces/${namespace}/rolebindings`, role),
    buildBinding('RoleBinding', { namespace, name: role }, role, subject),
  );
}

const ROLE_REF = { apiGroup: 'rbac.authorization.k8s.io', kind: 'ClusterRole' };

function buildBinding(kind: string, metadata: object, role: string, subject: Subject): object {
  const roleRef = { ...ROLE_REF, name: role };
  return { apiVersion: RBAC, kind, metadata, roleRef, subjects: [{ kind: 'ServiceAccount', ...subject }] };
}
