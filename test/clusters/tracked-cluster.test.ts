import { describe, expect, it } from '@jest/globals';
import { TrackedClusters } from '../../src/clusters/tracked-cluster.ts';
import { aCredential, registered } from '../targets/registration.ts';

const cluster = registered({ servers: ['https://192.0.2.1'] });
const withRenewed = (version: string) => ({ ...cluster, renewed: aCredential({}, version) });

describe('TrackedClusters', () => {
  it('keeps the state of a healthy cluster whose token was renewed', () => {
    const clusters = new TrackedClusters();
    const tracked = clusters.track(withRenewed('1'));
    Object.assign(tracked, { probeAt: 5, accessAt: 6 });
    expect(clusters.track(withRenewed('2'))).toBe(tracked);
    expect(clusters.track(withRenewed('2'))).toMatchObject({ probeAt: 5, accessAt: 6 });
  });

  it('immediately probes a cluster that rejected the token before it was renewed', () => {
    const clusters = new TrackedClusters();
    Object.assign(clusters.track(withRenewed('1')), { probeAt: 5, rejections: 1 });
    expect(clusters.track(withRenewed('2'))).toMatchObject({ probeAt: -Infinity, rejections: 0 });
  });

  it('resets the state of a cluster whose registered Secret changed', () => {
    const clusters = new TrackedClusters();
    Object.assign(clusters.track(cluster), { probeAt: 5 });
    expect(clusters.track({ ...cluster, credential: aCredential({}, '2') })).toMatchObject({ probeAt: -Infinity });
  });
});
