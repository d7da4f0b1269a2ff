import { describe, expect, it } from '@jest/globals';
import * as fc from 'fast-check';
import { parseVersion } from '../../src/clusters/probe.ts';
import { detectDistribution } from '../../src/clusters/status.ts';

describe('detectDistribution', () => {
  it.each([
    ['v1.36.4', 'Kubernetes'],
    ['v1.28.2+k3s1', 'K3s'],
    ['v1.28.5+rke2r1', 'RKE2'],
    ['v1.29.1+k0s', 'k0s'],
    ['v1.28.5-eks-5e0fdde', 'EKS'],
    ['v1.27.3-gke.100', 'GKE'],
    ['v1.26.3-aliyun.1', 'ACK'],
    ['v1.28.6+IKS', 'IKS'],
    ['v1.26.5+vmware.2', 'Tanzu'],
    ['v1.27.6+f67aeb3', 'OpenShift'],
    ['v1.31.0-alpha.1+dirty', 'Kubernetes'],
  ])('returns the distribution for version %s: %s', (version, expected) => expect(detectDistribution(version)).toBe(expected));
});

describe('parseVersion', () => {
  it.each([
    ['v1.36.4', 'v1.36.4'],
    ['\u001b[31mv1.36.4\u001b[0m\u0000', 'v1.36.4'],
    ['<img src=x onerror=alert(1)>', 'imgsrcxonerroralert1'],
    ['', undefined],
    ['\u202e\n', undefined],
    [{ toString: () => 'v1' }, undefined],
    [17, undefined],
  ])('returns the version for %p: %p', (given, expected) => expect(parseVersion(given)).toBe(expected));

  it('returns at most 64 characters of versions for any string', () => {
    fc.assert(fc.property(fc.string({ unit: 'binary', maxLength: 3_000 }), (text) => /^[\w.+~-]{1,64}$/.test(parseVersion(text) ?? 'v1')));
  });
});
