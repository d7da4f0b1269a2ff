import { readFileSync } from 'node:fs';
import { describe, expect, it } from '@jest/globals';
import { parse } from 'yaml';
import type { ManagedToken } from '../../../src/api/managed-token.gen.ts';
import { findTokenKeys, keyProblem, outputForms, renderOutputs, toOutputContent } from '../../../src/tokens/outputs/outputs.ts';
import { aCluster, aToken, contentOf, SERVER } from '../../support/builders.ts';

type Outputs = ManagedToken['spec']['secret']['outputs'];

const PEM = '-----BEGIN CERTIFICATE-----\nMIIB\n-----END CERTIFICATE-----\n';
const CA = Buffer.from(PEM).toString('base64');

const ISSUED = { token: 'tok.en', expiresAt: '2026-03-01T13:00:00Z' };

function texts(outputs: Outputs, cluster = aCluster()) {
  return renderOutputs(contentOf(aToken().writing({ outputs }).build(), cluster), ISSUED);
}

function withoutCa() {
  const { metadata, spec, ...cluster } = aCluster();
  const { caBundle: _, ...orchestratorApiEndpoints } = spec.orchestratorApiEndpoints;
  return { ...cluster, metadata, spec: { orchestratorApiEndpoints } };
}

describe('renderOutputs', () => {
  it('renders the output Token', () => {
    expect(texts(['Token'])).toEqual({ token: 'tok.en', 'ca.crt': PEM, server: SERVER, namespace: 'deploy' });
  });

  it('renders the output Kubeconfig under two keys', () => {
    const { kubeconfig, value, ...rest } = texts(['Kubeconfig']);
    expect(rest).toEqual({ token: 'tok.en' });
    expect(value).toBe(kubeconfig);
    expect(parse(kubeconfig ?? '')).toEqual({
      apiVersion: 'v1',
      kind: 'Config',
      clusters: [{ name: 'prod-eu', cluster: { server: SERVER, 'certificate-authority-data': CA } }],
      users: [{ name: 'deployer', user: { token: 'tok.en' } }],
      contexts: [{ name: 'prod-eu', context: { cluster: 'prod-eu', user: 'deployer', namespace: 'deploy' } }],
      'current-context': 'prod-eu',
    });
  });

  it('renders the output ArgoCD', () => {
    const { config, ...rest } = texts(['ArgoCD']);
    expect(rest).toEqual({ token: 'tok.en', name: 'prod-eu', server: SERVER });
    expect(JSON.parse(config ?? '')).toEqual({ bearerToken: 'tok.en', tlsClientConfig: { insecure: false, caData: CA } });
  });

  it('renders all outputs together', () => {
    expect(Object.keys(texts(['ArgoCD', 'Kubeconfig', 'Token'])).sort()).toEqual([
      'ca.crt',
      'config',
      'kubeconfig',
      'name',
      'namespace',
      'server',
      'token',
      'value',
    ]);
  });

  it('omits the CA for a cluster with a public certificate', () => {
    expect(texts(['Token'], withoutCa())).not.toHaveProperty(['ca.crt']);
    expect(texts(['Kubeconfig'], withoutCa())['kubeconfig']).not.toContain('certificate-authority-data');
    expect(JSON.parse(texts(['ArgoCD'], withoutCa())['config'] ?? '')).toEqual({
      bearerToken: 'tok.en',
      tlsClientConfig: { insecure: false },
    });
  });

  it.each([
    [undefined, SERVER],
    ['prod-eu.internal:6443', 'https://prod-eu.internal:6443'],
    ['https://Prod-EU.internal/k8s/', 'https://prod-eu.internal/k8s'],
  ])('renders spec.secret.server %p as %s', (server, url) => {
    const token = aToken().writing(server === undefined ? {} : { server });
    const servers = [SERVER, 'https://prod-eu.internal:6443', 'https://prod-eu.internal/k8s'];
    expect(toOutputContent(token.build(), { servers })?.server).toBe(url);
  });

  it.each(['https://evil.example.com', 'http://a.example.com', SERVER.replace('6443', '443')])(
    'returns no content for the address %s, which is not among the endpoints',
    (server) => expect(toOutputContent(aToken().writing({ server }).build(), { servers: [SERVER], caBundle: CA })).toBeUndefined(),
  );
});

describe('renderOutputs with spec.secret.keys', () => {
  const keys = [
    { key: 'bearer', from: 'Token' },
    { key: 'caBundle', from: 'CA' },
    { key: 'url', from: 'Server' },
    { key: 'account-namespace', from: 'Namespace' },
    { key: 'cluster', from: 'ClusterName' },
    { key: 'expiry', from: 'ExpiresAt' },
    { key: 'config', from: 'Kubeconfig' },
  ] as const;
  const render = (cluster = aCluster()) =>
    renderOutputs(
      contentOf(
        aToken()
          .writing({ outputs: ['Kubeconfig'], keys })
          .build(),
        cluster,
      ),
      ISSUED,
    );

  it('renders a key for each source', () => {
    const { kubeconfig, value: _, ...rest } = render();
    expect(rest).toEqual({
      token: 'tok.en',
      bearer: 'tok.en',
      caBundle: PEM,
      url: SERVER,
      'account-namespace': 'deploy',
      cluster: 'prod-eu',
      expiry: '2026-03-01T13:00:00Z',
      config: kubeconfig,
    });
  });

  it('omits a key for the CA of a cluster with a public certificate', () => {
    expect(render(withoutCa())).not.toHaveProperty('caBundle');
  });
});

describe('keyProblem', () => {
  it.each([
    ['caBundle', 'CA', ['Token'], undefined],
    ['name', 'ClusterName', ['Token'], undefined],
    ['config', 'Kubeconfig', ['Token'], undefined],
    ['token', 'Token', ['Token'], 'must not be token or a key of the chosen outputs'],
    ['server', 'Server', ['ArgoCD'], 'must not be token or a key of the chosen outputs'],
    ['shard', 'ClusterName', ['ArgoCD'], 'must not be token or a key of the chosen outputs'],
    [
      'server',
      'Token',
      ['Kubeconfig'],
      'must not be a key that some output format uses for a value without the token, such as server, if from is Token or Kubeconfig',
    ],
    ['..data', 'CA', ['Token'], "must be a valid key of a Secret (letters, digits, '-', '_' and '.'; neither '.' nor beginning with '..')"],
    ['', 'CA', ['Token'], "must be a valid key of a Secret (letters, digits, '-', '_' and '.'; neither '.' nor beginning with '..')"],
  ] as const)('checks the key %p from %s in addition to the outputs %p', (key, from, outputs, problem) => {
    expect(keyProblem({ key, from }, outputs)).toBe(problem);
  });
});

describe('findTokenKeys', () => {
  it('lists each key that depends on the token', () => {
    expect(findTokenKeys()).toEqual(['token', 'kubeconfig', 'value', 'config']);
  });
});

describe('keyProblem', () => {
  it.each(['managedtokens', 'managedtokensets'])('rejects the same sources for the key `server` as the rules in crds/%s', (plural) => {
    const crd = readFileSync(`crds/${plural}.tokens.purser.dev.yaml`, 'utf8');
    const [, enumerated = ''] = /from:\n[\s\S]*?enum: \[(.*)\]/.exec(crd) ?? [];
    const [, rejected = ''] = /self\.from in \[(.*)\]/.exec(crd) ?? [];
    const sources = enumerated.split(', ') as NonNullable<ManagedToken['spec']['secret']['keys']>[number]['from'][];
    expect(sources.filter((from) => keyProblem({ key: 'server', from }, ['Kubeconfig']) !== undefined)).toEqual(
      rejected.replaceAll("'", '').split(', '),
    );
  });
});

describe('outputForms', () => {
  it.each([...outputForms])('documents exactly the keys that the form %s renders', (output, { keys }) => {
    const argocd = { project: 'platform', namespaces: ['apps'], clusterResources: true, shard: 0 };
    const token = aToken().writing({ outputs: [output as Outputs[number]], argocd });
    const { token: _, ...rendered } = renderOutputs(contentOf(token.build(), aCluster()), ISSUED);
    expect(Object.keys(rendered).sort()).toEqual(Object.keys(keys).sort());
  });
});
