// Secrets as their consumers decode them. Each decoder follows the type definitions of its consumer: `Cluster` and `ClusterConfig` of
// Argo CD (pkg/apis/application/v1alpha1/types.go, read by util/db/cluster.go), the reference to a kubeconfig of Flux
// (fluxcd/pkg apis/meta and runtime/client), and `Config` of client-go.

import { describe, expect, it } from '@jest/globals';
import { parse, parseAllDocuments } from 'yaml';
import type { Secret } from '../../../src/api/resources.ts';
import { aCluster, aGrant, aToken, SERVER, type TokenBuilder, writtenSecret } from '../../support/builders.ts';
import { readText } from '../../support/repository.ts';

const PEM = '-----BEGIN CERTIFICATE-----\nMIIB\n-----END CERTIFICATE-----\n';

function written(token: TokenBuilder, labels: Readonly<Record<string, string>> = {}): Secret {
  const { metadata, ...cluster } = aCluster();
  return writtenSecret({ token: token.build(), cluster: { ...cluster, metadata: { ...metadata, labels } }, secret: undefined }, aGrant());
}

function valueOf({ data = {} }: Secret, key: string): string | undefined {
  return Object.hasOwn(data, key) ? Buffer.from(data[key] ?? '', 'base64').toString() : undefined;
}

/** Fields of `ClusterConfig` that Argo CD needs for a bearer token; it ignores no other field that Purser writes. */
interface ArgoConnection {
  readonly bearerToken: string;
  readonly tlsClientConfig: { readonly insecure: boolean; readonly caData?: string };
}

/** Decodes a cluster as Argo CD does; undefined if Argo CD does not recognize the Secret. */
function argoCluster(secret: Secret) {
  const { 'argocd.argoproj.io/secret-type': type, ...labels } = secret.metadata.labels ?? {};
  if (type !== 'cluster') return undefined;
  const shard = valueOf(secret, 'shard');
  return {
    server: valueOf(secret, 'server')?.replace(/\/+$/, ''),
    name: valueOf(secret, 'name'),
    config: JSON.parse(valueOf(secret, 'config') ?? '{}') as ArgoConnection,
    namespaces: (valueOf(secret, 'namespaces') ?? '')
      .split(',')
      .map((each) => each.trim())
      .filter((each) => each !== ''),
    clusterResources: valueOf(secret, 'clusterResources') === 'true',
    shard: shard === undefined || !/^[+-]?\d+$/.test(shard) ? undefined : Number(shard),
    project: valueOf(secret, 'project') ?? '',
    labels,
  };
}

describe('the Secret of the output ArgoCD', () => {
  const argo = (settings?: object) => aToken().writing({ outputs: ['ArgoCD'], ...(settings && { argocd: settings }) });

  it('describes a cluster of Argo CD without restrictions by default', () => {
    const secret = written(argo());
    expect(argoCluster(secret)).toEqual({
      server: SERVER,
      name: 'prod-eu',
      config: { bearerToken: aGrant().text(), tlsClientConfig: { insecure: false, caData: Buffer.from(PEM).toString('base64') } },
      namespaces: [],
      clusterResources: false,
      shard: undefined,
      project: '',
      labels: { 'tokens.purser.dev/managed-by': 'purser' },
    });
    expect(Object.keys(secret.data ?? {}).sort()).toEqual(['config', 'name', 'server', 'token']);
  });

  it('contains the settings of spec.secret.argocd', () => {
    const settings = { project: 'platform', namespaces: ['apps', 'jobs'], clusterResources: true, shard: 0 };
    expect(argoCluster(written(argo(settings)))).toMatchObject(settings);
  });

  it('has no key for a setting that is false, like a Secret that Argo CD writes', () => {
    expect(Object.keys(written(argo({ clusterResources: false })).data ?? {})).not.toContain('clusterResources');
  });

  it('contains the labels of the Cluster that labelsFromCluster names, for generators of ApplicationSets', () => {
    const token = argo({ labelsFromCluster: ['env', 'region', 'tier'] }).writing({ labels: { env: 'spec' } });
    const { labels } = argoCluster(written(token, { env: 'prod', region: 'eu', owner: 'x' })) ?? {};
    expect(labels).toEqual({ env: 'spec', region: 'eu', 'tokens.purser.dev/managed-by': 'purser' });
  });

  it("keeps the Secret's own labels regardless of the Cluster's labels", () => {
    const names = ['argocd.argoproj.io/secret-type', 'tokens.purser.dev/managed-by', 'registry.purser.dev/set', '__proto__', 'toString'];
    const forged = Object.fromEntries(names.slice(0, 3).map((name) => [name, 'forged']));
    expect(written(argo({ labelsFromCluster: names }), forged).metadata.labels).toEqual({
      'argocd.argoproj.io/secret-type': 'cluster',
      'tokens.purser.dev/managed-by': 'purser',
    });
  });
});

/** Fields of client-go's kubeconfig that Flux uses. */
interface Kubeconfig {
  readonly 'current-context': string;
  readonly clusters: readonly { readonly name: string; readonly cluster: Readonly<Record<string, string>> }[];
  readonly users: readonly { readonly name: string; readonly user: Readonly<Record<string, string>> }[];
  readonly contexts: readonly { readonly name: string; readonly context: Readonly<Record<string, string>> }[];
}

/** Returns the connection that a kubeconfig selects. Flux drops exec plugins and insecure TLS, so neither may be needed. */
function connectionOf(text: string) {
  const config = parse(text) as Kubeconfig;
  const { context } = config.contexts.find(({ name }) => name === config['current-context']) ?? {};
  const { cluster } = config.clusters.find(({ name }) => name === context?.['cluster']) ?? {};
  const { user } = config.users.find(({ name }) => name === context?.['user']) ?? {};
  return { host: cluster?.['server'], ca: Buffer.from(cluster?.['certificate-authority-data'] ?? '', 'base64').toString(), ...user };
}

/** Returns the connection that Flux uses for `spec.kubeConfig.secretRef`: of the named key, or else of `value` or `value.yaml`. */
function fluxConnection(secret: Secret, key?: string) {
  const text = key === undefined ? (valueOf(secret, 'value') ?? valueOf(secret, 'value.yaml')) : valueOf(secret, key);
  return text === undefined ? undefined : connectionOf(text);
}

/** Returns whether the label selector by which Flux watches Secrets matches. */
function isWatchedByFlux({ metadata }: Secret): boolean {
  return metadata.labels?.['reconcile.fluxcd.io/watch'] === 'Enabled';
}

describe('the Secret of the output Kubeconfig', () => {
  const connection = { host: SERVER, ca: PEM, token: aGrant().text() };

  it.each([undefined, 'value', 'kubeconfig'])('contains a kubeconfig for Flux under the key %p', (key) => {
    expect(fluxConnection(written(aToken().writing({ outputs: ['Kubeconfig'] })), key)).toEqual(connection);
  });

  it('has the label reconcile.fluxcd.io/watch, by which Flux watches Secrets', () => {
    const labels = { 'reconcile.fluxcd.io/watch': 'Enabled' };
    expect(isWatchedByFlux(written(aToken().writing({ outputs: ['Kubeconfig'], labels })))).toBe(true);
    expect(isWatchedByFlux(written(aToken().writing({ outputs: ['Kubeconfig'] })))).toBe(false);
  });
});

describe('the Secret with spec.secret.keys', () => {
  it('contains the keys token and caBundle that Karmada reads', () => {
    const secret = written(aToken().writing({ keys: [{ key: 'caBundle', from: 'CA' }] }));
    expect([valueOf(secret, 'token'), valueOf(secret, 'caBundle')]).toEqual([aGrant().text(), PEM]);
  });

  it('contains a kubeconfig under the name of the cluster, and the label that Istio watches', () => {
    const secret = written(aToken().writing({ labels: { 'istio/multiCluster': 'true' }, keys: [{ key: 'prod-eu', from: 'Kubeconfig' }] }));
    expect(secret.metadata.labels).toHaveProperty(['istio/multiCluster'], 'true');
    expect(connectionOf(valueOf(secret, 'prod-eu') ?? '')).toMatchObject({ host: SERVER, token: aGrant().text() });
  });
});

/** Decodes a ConfigMap for `spec.kubeConfig.configMapRef` as the generic provider of Flux does. */
function fluxProvider({ data }: { readonly data: Readonly<Record<string, string>> }) {
  const audiences = (data['audiences'] ?? '')
    .split('\n')
    .map((each) => each.trim())
    .filter((each) => each !== '');
  const address = data['address'] ?? '';
  return {
    provider: data['provider'],
    address,
    ca: data['ca.crt'],
    audiences: audiences.length > 0 ? audiences : [address],
    serviceAccountName: data['serviceAccountName'],
  };
}

describe('deploy/samples/flux-generic-provider.yaml', () => {
  const objects = parseAllDocuments(readText('deploy/samples/flux-generic-provider.yaml')).map(
    (document) => document.toJS() as { kind: string; metadata: { name: string; namespace?: string }; data: Record<string, string> },
  );
  const find = (wanted: string) => objects.find(({ kind }) => kind === wanted);

  it('makes Flux use a service account of the sample, with an audience of one cluster that is not reserved for Purser', () => {
    const config = find('ConfigMap');
    const { serviceAccountName, audiences, ca, ...rest } = fluxProvider(config ?? { data: {} });
    expect(rest).toEqual({ provider: 'generic', address: 'https://target-1.example.com:6443' });
    expect(ca).toMatch(/^-----BEGIN CERTIFICATE-----\n[^]*-----END CERTIFICATE-----\n$/);
    expect(audiences).toEqual(['https://target-1.example.com:6443']);
    expect(find('ServiceAccount')?.metadata).toEqual({ name: serviceAccountName, namespace: config?.metadata.namespace });
    expect(Object.keys(config?.data ?? {}).sort()).toEqual(['address', 'audiences', 'ca.crt', 'provider', 'serviceAccountName']);
  });
});
