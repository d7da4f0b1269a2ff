import { afterEach, beforeEach, describe, expect, it } from '@jest/globals';
import type { KubeClient } from '../../src/kube/client.ts';
import { systemClock } from '../../src/std/clock.ts';
import { createAuthority } from '../../src/std/x509/certificates.ts';
import { ClusterClients } from '../../src/targets/cluster-clients.ts';
import { aCredential, base64, registered, settings } from './registration.ts';
import { authority } from './wire-target.ts';

const SERVER = 'https://prod-eu.example.com:6443';
const HUB = 'https://hub.example.com';
const other = createAuthority(Date.now()).certificate;

describe('ClusterClients.publishedEndpoints', () => {
  let clients: ClusterClients;

  beforeEach(() => {
    const client = { transport: { server: HUB, ca: authority.certificate } } as unknown as KubeClient;
    const hub = { clusterName: 'hub', client, namespace: 'purser-system' };
    clients = new ClusterClients(settings(systemClock, { hub }));
  });
  afterEach(() => clients.close());

  const pinned = { servers: [SERVER], ca: authority.certificate };

  it('returns the addresses and the authority of a Cluster that its credential pins', () => {
    expect(clients.publishedEndpoints(registered(pinned))).toEqual({
      caBundle: base64(authority.certificate),
      serverEndpoints: [{ clientCIDR: '0.0.0.0/0', serverAddress: SERVER }],
    });
  });

  it.each([
    ['an address that the credential does not pin', { ...pinned, credential: aCredential({ server: 'https://other.example.com' }) }],
    [
      'a second address that the credential does not pin',
      { ...pinned, servers: [SERVER, 'https://evil.example.com'], credential: aCredential({ server: SERVER }) },
    ],
    ['an authority that the credential does not pin', { ...pinned, ca: other, credential: aCredential({ server: SERVER }) }],
    ['no authority, although the credential pins one', { servers: [SERVER], credential: aCredential({ server: SERVER }) }],
    ['a credential for another Cluster', { ...pinned, credential: aCredential({ server: SERVER, cluster: 'other' }) }],
    ['a credential that does not exist', { ...pinned, credential: null }],
    ['a credential in another namespace', { ...pinned, controller: { kind: 'Secret', namespace: 'tenant', name: 'credential' } as const }],
    ['no reference to a credential', { ...pinned, controller: null }],
    [
      'the service account of Purser, although it is not the hub',
      { ...pinned, controller: { kind: 'ServiceAccount', namespace: 'purser-system', name: 'purser' } as const },
    ],
  ])('returns no endpoints of a Cluster with %s', (_case, registration) => {
    expect(clients.publishedEndpoints(registered(registration))).toBeUndefined();
  });

  it('returns the address and the authority that Purser uses for the Cluster of the hub, not those of the Cluster', () => {
    const controller = { kind: 'ServiceAccount', namespace: 'purser-system', name: 'purser' } as const;
    const published = clients.publishedEndpoints(registered({ name: 'hub', servers: ['https://evil.example.com'], ca: other, controller }));
    expect(published).toEqual({
      caBundle: base64(authority.certificate),
      serverEndpoints: ['0.0.0.0/0', '::/0'].map((clientCIDR) => ({ clientCIDR, serverAddress: HUB })),
    });
  });

  it('withdraws the endpoints when the credential or the Cluster changes', () => {
    const withCredential = (version: string, server: string) => registered({ ...pinned, credential: aCredential({ server }, version) });
    expect(clients.publishedEndpoints(withCredential('1', SERVER))).toBeDefined();
    expect(clients.publishedEndpoints(withCredential('2', 'https://other.example.com'))).toBeUndefined();
    expect(clients.publishedEndpoints(withCredential('3', SERVER))).toBeDefined();
    const credential = aCredential({ server: SERVER }, '3');
    expect(
      clients.publishedEndpoints(registered({ ...pinned, generation: 2, servers: ['https://evil.example.com'], credential })),
    ).toBeUndefined();
  });
});
