import { describe, expect, it } from '@jest/globals';
import { isClusterLocalIssuer, isReservedAudience } from '../../../src/targets/policy/federation.ts';

describe('isReservedAudience', () => {
  it.each([
    ['purser:', true],
    ['purser:https://a', true],
    ['purser', false],
    ['https://purser:6443', false],
    ['Purser:x', false],
  ])('returns for %j: %j', (audience, expected) => {
    expect(isReservedAudience(audience)).toBe(expected);
  });
});

describe('isClusterLocalIssuer', () => {
  it.each([
    ['https://kubernetes.default.svc', true],
    ['https://kubernetes.default.svc.cluster.local', true],
    ['https://svc.example.com', false],
    ['https://hub.example.com', false],
    ['https://oidc.eks.eu-west-1.amazonaws.com/id/ABC', false],
    ['unknown', false],
  ])('returns for %s: %j', (issuer, expected) => {
    expect(isClusterLocalIssuer(issuer)).toBe(expected);
  });
});
