import { describe, expect, it } from '@jest/globals';
import { toFederationFault } from '../../../src/clusters/policy/federation.ts';

describe('toFederationFault', () => {
  it('names issuer and audience of the rejected token, and the command that prints the configuration', () => {
    expect(toFederationFault({ issuer: 'https://hub.example.com', audience: 'purser:https://a' })).toEqual({
      reason: 'CredentialRejected',
      detail: 'tokens of the hub with issuer https://hub.example.com and audience purser:https://a',
      remedy: expect.stringMatching(/^compare .* purser print authentication-config, and .* without authentication$/),
    });
  });

  it.each(['https://kubernetes.default.svc', 'https://kubernetes.default.svc.cluster.local'])(
    'explains that a cluster with the same default issuer never trusts %s',
    (issuer) => {
      const { remedy } = toFederationFault({ issuer, audience: 'purser:https://a' });
      expect(remedy).toContain("set --service-account-issuer of the hub's API server to its own URL");
    },
  );
});
