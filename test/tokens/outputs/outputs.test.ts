import { describe, expect, it } from '@jest/globals';
import { parse } from 'yaml';
import type { ManagedToken } from '../../../src/api/managed-token.gen.ts';
import { outputsText, outputTarget, outputTexts } from '../../../src/tokens/outputs/outputs.ts';
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
  it('writes Token', () => {
    expect(texts(['Token'])).toEqual({ token: 'tok.en', 'ca.crt': PEM, server: SERVER, namespace: 'deploy' });
  });

  it('writes Kubeconfig, twice', () => {
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

  it('writes ArgoCD', () => {
    const { config, ...rest } = texts(['ArgoCD']);
    expect(rest).toEqual({ token: 'tok.en', name: 'prod-eu', server: SERVER });
    expect(JSON.parse(config ?? '')).toEqual({ bearerToken: 'tok.en', tlsClientConfig: { insecure: false, caData: CA } });
  });

  it('writes all of them together', () => {
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

  it('leaves the CA out where the roots of the system vouch for the cluster', () => {
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
  ])('writes the address of the spec, %p, as %s', (server, url) => {
    const token = aToken().writing(server === undefined ? {} : { server });
    const servers = [SERVER, 'https://prod-eu.internal:6443', 'https://prod-eu.internal/k8s'];
    expect(outputTarget(token.build(), { servers })?.server).toBe(url);
  });

  it.each(['https://evil.example.com', 'http://a.example.com', SERVER.replace('6443', '443')])(
    'writes nothing for the address %s, which is not among the endpoints',
    (server) => expect(outputTarget(aToken().writing({ server }).build(), { servers: [SERVER], caBundle: CA })).toBeUndefined(),
  );
});

describe('outputsText', () => {
  const target = targetOf(
    aToken()
      .writing({ outputs: ['Token', 'Kubeconfig', 'ArgoCD'] })
      .build(),
    aCluster(),
  );
  const written = outputTexts(target, 'tok.en');

  it('is the same whatever the token', () => {
    expect(outputsText(outputTexts(target, 'another'))).toBe(outputsText(written));
  });

  it('does not contain the token', () => {
    expect(outputsText(written)).not.toContain('tok.en');
  });

  it('does not depend on the order of keys', () => {
    expect(outputsText(Object.fromEntries(Object.entries(written).reverse()))).toBe(outputsText(written));
  });

  it.each([
    ['a key is gone', { value: undefined }],
    ['a key is new', { note: 'x' }],
    ['a value is another one', { server: 'https://elsewhere.example.com' }],
    ['the token is missing in one of its forms', { config: written['config']?.replace('tok.en', '') }],
    ['one form has another token', { config: written['config']?.replace('tok.en', 'other') }],
  ])('differs when %s', (_, changes) => {
    const entries = Object.entries({ ...written, ...changes }).filter((entry): entry is [string, string] => entry[1] !== undefined);
    expect(outputsText(Object.fromEntries(entries))).not.toBe(outputsText(written));
  });

  it.each([
    ['that begins again within itself', 'ab'.repeat(50)],
    ['of one character', 'a'.repeat(100)],
    ['with its beginning at its end', `${'x'.repeat(40)}y${'x'.repeat(40)}`],
  ])('blanks out a token %s as replaceAll does', (_, token) => {
    const text = `${token}${token.slice(1)}a${token}${token.slice(0, -1)}`;
    expect(JSON.parse(outputsText({ token, other: text }))).toEqual([
      ['other', text.replaceAll(token, '\0')],
      ['token', '\0'],
    ]);
  });

  it('takes no longer for a token that is made to be slow', () => {
    const token = `${'a'.repeat(1_000)}b${'a'.repeat(260_000)}`;
    expect(outputsText({ token, other: 'a'.repeat(780_000) })).toContain('aaa');
  });
});
