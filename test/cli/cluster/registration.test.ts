import { describe, expect, it } from '@jest/globals';
import type { Cluster } from '../../../src/api/cluster.gen.ts';
import type { Secret } from '../../../src/api/resources.ts';
import {
  isSameCluster,
  isSameData,
  isSameSpec,
  resolveSecretName,
  type TargetRegistration,
  toCluster,
  toSecret,
  withKeptAuthorities,
} from '../../../src/cli/cluster/registration.ts';
import { createAuthority } from '../../../src/std/x509/certificates.ts';

const NOW = Date.parse('2026-11-16T12:00:00Z');
const CA = createAuthority(NOW).certificate;
const OTHER_CA = createAuthority(NOW).certificate;
const SECRET = { namespace: 'purser-system', name: 'eu-credential' };
const EU: TargetRegistration = {
  name: 'eu',
  namespace: 'purser-system',
  server: 'https://eu.example.com:6443',
  ca: CA,
  proxy: undefined,
  namespaces: undefined,
  labels: {},
};
const TOKEN = { token: 'opaque' };

function decode({ data = {} }: Secret): Readonly<Record<string, string>> {
  return Object.fromEntries(Object.entries(data).map(([key, value]) => [key, Buffer.from(value, 'base64').toString()]));
}

function secretWith(keys: Readonly<Record<string, string>>): Secret {
  const data = Object.fromEntries(Object.entries(keys).map(([key, value]) => [key, Buffer.from(value).toString('base64')]));
  return { metadata: { ...SECRET, uid: 'u', resourceVersion: '7', annotations: { note: 'kept' } }, data };
}

describe('toSecret', () => {
  it('returns a Secret with the token and with all pins that limit its use', () => {
    const secret = toSecret({ ...EU, namespaces: ['a', 'b'], proxy: 'https://proxy.example.com:3128' }, SECRET, TOKEN);
    expect(secret.metadata).toEqual(SECRET);
    expect(decode(secret)).toEqual({
      token: 'opaque',
      cluster: 'eu',
      server: EU.server,
      'ca.crt': CA,
      namespaces: 'a\nb',
      proxy: 'https://proxy.example.com:3128',
    });
  });

  it('names public CAs for a context without a certificate authority', () => {
    expect(decode(toSecret({ ...EU, ca: undefined }, SECRET, TOKEN))['ca.crt']).toBe('system');
  });

  it('replaces the credential and the namespaces of an existing Secret, and keeps additional Clusters, addresses, proxy and metadata', () => {
    const found = secretWith({
      'tls.crt': 'x',
      'tls.key': 'y',
      cluster: 'eu eu-2',
      server: `${EU.server}/ https://10.0.0.1`,
      'ca.crt': CA,
      namespaces: 'a',
      proxy: 'https://proxy.example.com:3128',
    });
    const secret = toSecret(EU, SECRET, { serviceAccount: 'purser-federated' }, found);
    expect(secret.metadata).toEqual(found.metadata);
    expect(decode(secret)).toEqual({
      serviceAccount: 'purser-federated',
      cluster: 'eu eu-2',
      server: `${EU.server}/ https://10.0.0.1`,
      'ca.crt': CA,
      proxy: 'https://proxy.example.com:3128',
    });
  });

  it.each([
    [
      'another Cluster',
      secretWith({ cluster: 'us', server: EU.server, 'ca.crt': CA }),
      /credential for us, https:\/\/eu\.example\.com:6443, not for eu at/,
    ],
    [
      'another server',
      secretWith({ cluster: 'eu', server: 'https://us.example.com', 'ca.crt': CA }),
      /credential for eu, https:\/\/us\.example\.com, not/,
    ],
    ['no cluster', secretWith({}), /already exists without a credential for a cluster/],
    ['no readable authority', secretWith({ cluster: 'eu', server: EU.server, 'ca.crt': '-----' }), /credential for eu, not for eu at/],
  ])('refuses an existing Secret that describes %s', (_, found, problem) => {
    expect(() => toSecret(EU, SECRET, TOKEN, found)).toThrow(problem);
    expect(() => toSecret(EU, SECRET, TOKEN, found)).toThrow(
      /Choose another name for the Cluster, or delete the Secret if it is not in use$/,
    );
  });

  it('refuses the Secret of a ManagedToken, and a Secret that is being deleted', () => {
    const found = secretWith({ cluster: 'eu', server: EU.server, 'ca.crt': CA });
    const managed = { ...found, metadata: { ...found.metadata, labels: { 'tokens.purser.dev/managed-by': 'purser' } } };
    expect(() => toSecret(EU, SECRET, TOKEN, managed)).toThrow(/belongs to a ManagedToken/);
    const deleted = { ...found, metadata: { ...found.metadata, deletionTimestamp: '2026-11-16T12:00:00Z' } };
    expect(() => toSecret(EU, SECRET, TOKEN, deleted)).toThrow(/is being deleted\. Run the command again later/);
  });

  it.each([
    ['socks5://proxy.example.com', /the proxy key of the Secret is not the URL of a proxy/],
    ['http://user:secret@proxy.example.com', /contains a user or password, so the URL must start with https/],
  ])('refuses the proxy %s without repeating it', (proxy, problem) => {
    expect(() => toSecret({ ...EU, proxy }, SECRET, TOKEN)).toThrow(problem);
    expect(() => toSecret({ ...EU, proxy }, SECRET, TOKEN)).toThrow(/Correct the options$/);
    expect(() => toSecret({ ...EU, proxy }, SECRET, TOKEN)).not.toThrow(/secret@/);
  });
});

describe('toSecret with an unusable existing Secret', () => {
  const found = secretWith({ cluster: 'eu', server: EU.server, 'ca.crt': CA });

  it('names the keys of the Secret as a remedy', () => {
    expect(() => toSecret(EU, SECRET, { token: 'a b' }, found)).toThrow(
      /^the registration of Cluster eu is not usable: the token .* Correct the options, or the keys of the existing Secret$/,
    );
  });

  it('adds no second remedy', () => {
    expect(() => toSecret(EU, SECRET, { serviceAccount: 'purser' }, found)).toThrow(/Use another one, without permissions on the hub$/);
  });
});

describe('withKeptAuthorities', () => {
  it('keeps the authorities of an existing Secret that include those of the context', () => {
    const both = `${CA}${OTHER_CA}`;
    expect(withKeptAuthorities(EU, secretWith({ 'ca.crt': both })).ca).toBe(both);
  });

  it.each([
    ['other authorities', OTHER_CA],
    ['public CAs', 'system'],
    ['text that is not PEM', 'x'],
  ])('replaces %s in an existing Secret with the authorities of the context', (_, text) => {
    expect(withKeptAuthorities(EU, secretWith({ 'ca.crt': text })).ca).toBe(CA);
  });
});

describe('toCluster', () => {
  it('returns a Cluster with the address, the authority, the Secret and the labels', () => {
    expect(toCluster({ ...EU, labels: { env: 'prod' } }, SECRET)).toEqual({
      apiVersion: 'registry.purser.dev/v1alpha1',
      kind: 'Cluster',
      metadata: { name: 'eu', labels: { env: 'prod' } },
      spec: {
        orchestratorApiEndpoints: {
          caBundle: Buffer.from(CA).toString('base64'),
          serverEndpoints: [{ clientCIDR: '0.0.0.0/0', serverAddress: EU.server }],
        },
        authInfo: { controller: { kind: 'Secret', ...SECRET } },
      },
    });
  });

  it('keeps the labels, addresses, spec.credential and spec.authInfo.user of an existing Cluster', () => {
    const found = withSpec(toCluster({ ...EU, labels: { region: 'eu' } }, SECRET));
    const cluster = toCluster({ ...EU, ca: undefined, labels: { env: 'prod' } }, SECRET, found);
    expect(cluster.metadata.labels).toEqual({ region: 'eu', env: 'prod' });
    expect(cluster.spec).toEqual({
      ...found.spec,
      orchestratorApiEndpoints: { serverEndpoints: found.spec.orchestratorApiEndpoints.serverEndpoints },
    });
    expect([isSameSpec(found, cluster), isSameCluster(found, cluster)]).toEqual([false, false]);
    expect(isSameCluster(found, toCluster(EU, SECRET, found))).toBe(true);
  });
});

function withSpec(cluster: Cluster): Cluster {
  const { orchestratorApiEndpoints: endpoints, authInfo } = cluster.spec;
  const serverEndpoints = [{ clientCIDR: '10.0.0.0/8', serverAddress: 'https://10.0.0.1' }, ...endpoints.serverEndpoints];
  return {
    ...cluster,
    spec: {
      orchestratorApiEndpoints: { ...endpoints, serverEndpoints },
      authInfo: { ...authInfo, user: { kind: 'Group', name: 'admins' } },
      credential: { renewal: 'Auto', lifetime: '24h', overlap: '1m' },
    },
  };
}

describe('resolveSecretName', () => {
  it('returns the Secret of an existing Cluster with the same address, or else a name derived from the Cluster', () => {
    expect(resolveSecretName(EU, undefined)).toEqual(SECRET);
    const found = toCluster(EU, { namespace: 'fleet', name: 'shared' });
    expect(resolveSecretName({ ...EU, server: `${EU.server}/` }, found)).toEqual({ namespace: 'fleet', name: 'shared' });
    const { authInfo: _, ...spec } = found.spec;
    expect(resolveSecretName(EU, { ...found, spec })).toEqual(SECRET);
  });

  it('refuses a Cluster that has another address, represents the hub or is being deleted', () => {
    const found = toCluster(EU, SECRET);
    expect(() => resolveSecretName({ ...EU, server: 'https://us.example.com' }, found)).toThrow(
      'Cluster eu already exists with the address https://eu.example.com:6443, not https://us.example.com. Choose another name, or run purser cluster remove eu first',
    );
    const hub = { ...found, spec: { ...found.spec, authInfo: { controller: { ...SECRET, kind: 'ServiceAccount' as const } } } };
    expect(() => resolveSecretName(EU, hub)).toThrow(/represents the hub/);
    const deleted = { ...found, metadata: { ...found.metadata, deletionTimestamp: '2026-11-16T12:00:00Z' } };
    expect(() => resolveSecretName(EU, deleted)).toThrow(/is being deleted/);
  });
});

describe('isSameData', () => {
  it('compares the keys of Secrets in any order', () => {
    expect(isSameData(secretWith({ a: '1', b: '2' }), secretWith({ b: '2', a: '1' }))).toBe(true);
    expect(isSameData(secretWith({ a: '1' }), secretWith({ a: '2' }))).toBe(false);
    expect(isSameData(undefined, secretWith({ a: '1' }))).toBe(false);
  });
});
