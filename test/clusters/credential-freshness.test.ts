import { expect, it } from '@jest/globals';
import { credentialEvidence, credentialExpiries } from '../../src/clusters/credential-freshness.ts';
import { aCredential, registered } from '../targets/registration.ts';
import { jwt } from '../targets/wire-target.ts';

it('reads the validity of each credential Secret once', () => {
  let reads = 0;
  const { data = {} } = aCredential({ token: 'opaque' });
  const credential = {
    ...aCredential({}),
    get data() {
      reads += 1;
      return data;
    },
  };
  const { cluster } = registered({});
  const isHub = () => false;
  const first = credentialEvidence({ cluster, credential }, { isHub });
  const readsOfFirst = reads;
  expect(credentialEvidence({ cluster, credential }, { isHub })).toEqual(first);
  expect(reads).toBe(readsOfFirst);
});

it('yields the expiries of credentials that are known to expire and that name the Cluster', () => {
  const exp = Date.parse('2026-12-01T10:00:00Z') / 1_000;
  const expiring = { token: jwt({ exp }) };
  const all = [
    registered({ name: 'expiring', credential: aCredential({ ...expiring, cluster: 'expiring' }) }),
    registered({ name: 'opaque', credential: aCredential({ token: 'opaque', cluster: 'opaque' }) }),
    registered({ name: 'not-named', credential: aCredential({ ...expiring, cluster: 'other' }) }),
    registered({ name: 'missing', credential: null }),
  ];
  expect([...credentialExpiries(all, { isHub: () => false })]).toEqual([['expiring', exp * 1_000]]);
});
