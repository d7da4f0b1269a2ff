import { beforeEach, describe, expect, it } from '@jest/globals';
import type { Secret, Stored } from '../../src/api/resources.ts';
import { ObjectStore } from '../../src/kube/store.ts';
import { createAuthority } from '../../src/std/x509/certificates.ts';
import { FederatedAddresses } from '../../src/targets/federated-addresses.ts';
import { aCredential, CREDENTIALS } from './registration.ts';

const PROD = 'https://prod.example.com';
const OTHER_CA = createAuthority(Date.now()).certificate;
const FIRST = '2026-01-01T00:00:00Z';
const LATER = '2026-01-02T00:00:00Z';

let store: ObjectStore<Secret>;
let addresses: FederatedAddresses;
beforeEach(() => {
  store = new ObjectStore();
  addresses = new FederatedAddresses([store], CREDENTIALS);
});

function aFederated(name: string, creationTimestamp: string, keys: Readonly<Record<string, string>> = {}): Stored<Secret> {
  const secret = aCredential({ serviceAccount: 'federated', server: PROD, ...keys });
  return { ...secret, metadata: { ...secret.metadata, name, uid: `uid-${name}`, creationTimestamp } };
}

function list(...objects: readonly Stored<Secret>[]): void {
  store.apply({ type: 'listed', objects, resourceVersion: '1' });
}

describe('FederatedAddresses', () => {
  it.each([
    ['another ca.crt', { 'ca.crt': OTHER_CA }],
    ['another Cluster and the same ca.crt', { cluster: 'own' }],
    ['other namespaces', { namespaces: 'kube-system' }],
    ['a proxy', { proxy: 'https://proxy.example.com:3128' }],
    ['another spelling of the address', { server: 'PROD.example.com:443/' }],
    ['further addresses', { server: `https://own.example.com ${PROD}` }],
    ['another service account', { serviceAccount: 'another' }],
  ])('rejects both of two Secrets with one address, whichever is older: %s', (_case, keys) => {
    for (const [first, second] of [
      [FIRST, LATER],
      [LATER, FIRST],
    ] as const) {
      const [prod, other] = [aFederated('prod', first), aFederated('other', second, keys)];
      list(prod, other);
      expect([addresses.hasConflict(prod), addresses.hasConflict(other)]).toEqual([true, true]);
    }
  });

  it.each([
    ['another address', aFederated('other', LATER, { server: 'https://own.example.com', 'ca.crt': OTHER_CA })],
    ['a stored token', aCredential({ token: 'abc', server: PROD, 'ca.crt': OTHER_CA })],
  ])('accepts both of two Secrets: %s', (_case, other) => {
    const prod = aFederated('prod', FIRST);
    list(prod, other);
    expect([addresses.hasConflict(prod), addresses.hasConflict(other)]).toEqual([false, false]);
  });

  it('rejects a Secret that the store does not contain yet', () => {
    list(aFederated('prod', FIRST));
    expect(addresses.hasConflict(aFederated('other', LATER))).toBe(true);
  });

  it('accepts a Secret after the other one is deleted', () => {
    const [prod, other] = [aFederated('prod', FIRST), aFederated('other', LATER)];
    list(prod, other);
    store.apply({ type: 'deleted', object: other, resourceVersion: '2' });
    expect(addresses.hasConflict(prod)).toBe(false);
  });

  it('ignores Secrets in other namespaces, and those of ManagedTokens', () => {
    const elsewhere = aFederated('elsewhere', FIRST);
    const managed = aFederated('managed', FIRST);
    list(
      { ...elsewhere, metadata: { ...elsewhere.metadata, namespace: 'elsewhere' } },
      { ...managed, metadata: { ...managed.metadata, labels: { 'tokens.purser.dev/managed-by': 'purser' } } },
    );
    expect(addresses.hasConflict(aFederated('other', LATER))).toBe(false);
  });
});
