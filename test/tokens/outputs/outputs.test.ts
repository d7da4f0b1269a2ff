import { describe, expect, it } from '@jest/globals';
import { parse } from 'yaml';
import type { ManagedToken } from '../../../src/api/managed-token.gen.ts';
import { outputForms } from '../../../src/tokens/outputs/forms.ts';
import { outputTarget, outputTexts, tokenKeys } from '../../../src/tokens/outputs/outputs.ts';
import { aCluster, aToken, SERVER, targetOf } from '../../support/builders.ts';

type Outputs = ManagedToken['spec']['secret']['outputs'];

const PEM = '-----BEGIN CERTIFICATE-----\nMIIB\n-----END CERTIFICATE-----\n';
const CA = Buffer.from(PEM).toString('base64');

function texts(outputs: Outputs, cluster = aCluster()) {
  return outputTexts(targetOf(aToken().writing({ outputs }).build(), cluster), 'tok.en');
}

function withoutCa() {
  const { metadata, spec, ...cluster } = aCluster();
  const { caBundle: _, ...orchestratorApiEndpoints } = spec.orchestratorApiEndpoints;
  return { ...cluster, metadata, spec: { orchestratorApiEndpoints } };
}

describe('outputTexts', () => {
  it('renders Token', () => {
    expect(texts(['Token'])).toEqual({ token: 'tok.en', 'ca.crt': PEM, server: SERVER, namespace: 'deploy' });
  });

  it('renders Kubeconfig under two keys', () => {
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

  it('renders ArgoCD', () => {
    const { config, ...rest } = texts(['ArgoCD']);
    expect(rest).toEqual({ token: 'tok.en', name: 'prod-eu', server: SERVER });
    expect(JSON.parse(config ?? '')).toEqual({ bearerToken: 'tok.en', tlsClientConfig: { insecure: false, caData: CA } });
  });

  it('renders all forms together', () => {
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
    expect(outputTarget(token.build(), { servers })?.server).toBe(url);
  });

  it.each(['https://evil.example.com', 'http://a.example.com', SERVER.replace('6443', '443')])(
    'returns no target for the address %s, which is not among the endpoints',
    (server) => expect(outputTarget(aToken().writing({ server }).build(), { servers: [SERVER], caBundle: CA })).toBeUndefined(),
  );
});

describe('tokenKeys', () => {
  it('lists each key that depends on the token', () => {
    expect(tokenKeys()).toEqual(['token', 'kubeconfig', 'value', 'config']);
  });
});

describe('outputForms', () => {
  it.each([...outputForms])('documents exactly the keys that the form %s renders', (output, { keys }) => {
    const { token: _, ...rendered } = texts([output as Outputs[number]]);
    expect(Object.keys(rendered).sort()).toEqual(Object.keys(keys).sort());
  });
});
