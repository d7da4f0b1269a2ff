import { expect, it } from '@jest/globals';
import { freshnessOf } from '../../src/clusters/credential-freshness.ts';
import { aCredential, registered } from '../targets/registration.ts';

it('reads a credential once, however often it is asked of its age', () => {
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
  const first = freshnessOf({ cluster, credential }, { isHub }, 0);
  const readsOfFirst = reads;
  expect(freshnessOf({ cluster, credential }, { isHub }, 0)).toEqual(first);
  expect(reads).toBe(readsOfFirst);
});
