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
    ['public certificate authorities', { 'ca.crt': 'system' }],
    ['a proxy', { proxy: 'https://proxy.example.com:3128' }],
    ['an unreadable ca.crt', { 'ca.crt': 'no PEM' }],
    ['an unreadable proxy', { proxy: 'no URL' }],
    ['another spelling of the address', { server: 'PROD.example.com:443/', 'ca.crt': OTHER_CA }],
    ['further addresses', { server: `https://own.example.com ${PROD}`, 'ca.crt': OTHER_CA }],
    ['another service account', { serviceAccount: 'another', 'ca.crt': OTHER_CA }],
  ])('rejects the younger of two Secrets with one address: %s', (_case, keys) => {
    const [prod, younger] = [aFederated('prod', FIRST), aFederated('younger', LATER, keys)];
    list(prod, younger);
    expect([addresses.isTaken(prod), addresses.isTaken(younger)]).toEqual([false, true]);
  });

  it.each([
    ['the same ca.crt and proxy', aFederated('younger', LATER)],
    ['another address', aFederated('younger', LATER, { server: 'https://own.example.com', 'ca.crt': OTHER_CA })],
    ['a stored token', aCredential({ token: 'abc', server: PROD, 'ca.crt': OTHER_CA })],
  ])('accepts both of two Secrets: %s', (_case, younger) => {
    list(aFederated('prod', FIRST), younger);
    expect(addresses.isTaken(younger)).toBe(false);
  });

  it('rejects the Secret with the higher UID of two that were created in the same second, in every order of the list', () => {
    const [a, b] = [aFederated('a', FIRST, { 'ca.crt': OTHER_CA }), aFederated('b', FIRST)];
    for (const order of [
      [a, b],
      [b, a],
    ]) {
      list(...order);
      expect([addresses.isTaken(a), addresses.isTaken(b)]).toEqual([false, true]);
    }
  });

  it('compares with the oldest Secret only, so that a rejected Secret affects no others', () => {
    const [prod, hostile, second] = [
      aFederated('prod', FIRST),
      aFederated('hostile', LATER, { 'ca.crt': OTHER_CA }),
      aFederated('second', '2026-01-03T00:00:00Z'),
    ];
    list(prod, hostile, second);
    expect([prod, hostile, second].map((secret) => addresses.isTaken(secret))).toEqual([false, true, false]);
  });

  it('rejects a Secret that the store does not contain yet', () => {
    list(aFederated('prod', FIRST));
    expect(addresses.isTaken(aFederated('younger', LATER, { 'ca.crt': OTHER_CA }))).toBe(true);
  });

  it('accepts the younger Secret after the older one is deleted', () => {
    const [prod, younger] = [aFederated('prod', FIRST), aFederated('younger', LATER, { 'ca.crt': OTHER_CA })];
    list(prod, younger);
    store.apply({ type: 'deleted', object: prod, resourceVersion: '2' });
    expect(addresses.isTaken(younger)).toBe(false);
  });

  it('ignores Secrets of other namespaces, and those of ManagedTokens', () => {
    const elsewhere = aFederated('elsewhere', FIRST);
    const managed = aFederated('managed', FIRST);
    list(
      { ...elsewhere, metadata: { ...elsewhere.metadata, namespace: 'elsewhere' } },
      { ...managed, metadata: { ...managed.metadata, labels: { 'tokens.purser.dev/managed-by': 'purser' } } },
    );
    expect(addresses.isTaken(aFederated('younger', LATER, { 'ca.crt': OTHER_CA }))).toBe(false);
  });
});
