import { describe, expect, it } from '@jest/globals';
import { isIssuedWith, normalizeServer } from '../../../src/targets/policy/registration.ts';
import { toIssuingCredential } from '../../../src/targets/registry.ts';
import { aCluster } from '../../support/builders.ts';

describe('normalizeServer', () => {
  it.each([
    ['https://prod-eu.example.com:6443', 'https://prod-eu.example.com:6443'],
    ['prod-eu.example.com', 'https://prod-eu.example.com'],
    ['10.1.2.3:6443', 'https://10.1.2.3:6443'],
    ['https://[2001:DB8::1]:443/', 'https://[2001:db8::1]'],
    ['https://Rancher.example.com/k8s/clusters/c-1/', 'https://rancher.example.com/k8s/clusters/c-1'],
  ])('normalizes %s', (address, url) => {
    expect(normalizeServer(address)).toBe(url);
  });

  it.each([
    ['http', 'http://prod-eu.example.com'],
    ['another scheme', 'ftp://prod-eu.example.com'],
    ['HTTP in capitals', 'HTTP://prod-eu.example.com'],
    ['a user', 'https://user@prod-eu.example.com'],
    ['a user and a password', 'https://user:pass@prod-eu.example.com'],
    ['a query', 'https://prod-eu.example.com/?a=b'],
    ['a fragment', 'https://prod-eu.example.com/#a'],
    ['a path with ..', 'https://prod-eu.example.com/a/../b'],
    ['a path with an encoded ..', 'https://prod-eu.example.com/%2e%2e/b'],
    ['a backslash', 'https://prod-eu.example.com\\@evil.example.com'],
    ['NUL in the host', 'https://prod-eu.example.com\0.evil.example.com'],
    ['a line break', 'https://prod-eu.example.com\n'],
    ['an invalid port', 'https://prod-eu.example.com:99999'],
    ['brackets without an address', 'https://[:::]'],
    ['nothing', ''],
  ])('rejects %s', (_, address) => {
    expect(normalizeServer(address)).toBeUndefined();
  });
});

describe('isIssuedWith', () => {
  const referring = (key: string, { clusterUID, secretUID = 's1' }: { clusterUID?: string; secretUID?: string } = {}) => {
    const { spec, ...cluster } = aCluster(clusterUID);
    const [namespace = '', name = ''] = key.split('/');
    const registered = { ...cluster, spec: { ...spec, authInfo: { controller: { kind: 'Secret' as const, namespace, name } } } };
    const credential = { apiVersion: 'v1', kind: 'Secret', metadata: { namespace, name, uid: secretUID, resourceVersion: '1' } } as const;
    return toIssuingCredential({ cluster: registered, credential });
  };
  const issued = referring('purser-system/target-1-credential');

  it.each([
    ['the same credential', referring('purser-system/target-1-credential'), true],
    ['another credential', referring('purser-system/other'), false],
    // Both names have the same FNV-1a hash.
    ['a credential whose name was chosen for a short hash', referring('fleet/credential-vdmwaayc'), false],
    ['another Secret of the same name', referring('purser-system/target-1-credential', { secretUID: 's2' }), false],
    ['a Cluster that was re-created', referring('purser-system/target-1-credential', { clusterUID: 'another' }), false],
    ["Purser's own service account on the hub", toIssuingCredential({ cluster: aCluster() }), false],
  ])('compares the issuing credential of a token with %s', (_, issuingCredential, isSame) => {
    expect(isIssuedWith(issued, issuingCredential)).toBe(isSame);
  });
});
