import { expect, it } from '@jest/globals';
import { credentialEvidence } from '../../src/clusters/credential-freshness.ts';
import { aCredential, registered } from '../targets/registration.ts';

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
