import { describe, expect, it } from '@jest/globals';
import { toFederationFault } from '../../../src/clusters/policy/federation.ts';

const TOKEN = { issuer: 'https://hub.example.com', audience: 'purser:https://a' };
const COMPARE = "compare the configuration of the cluster's API server with the output of purser print authentication-config";

describe('toFederationFault', () => {
  it('names issuer and audience of the rejected token, and the command that prints the configuration', () => {
    expect(toFederationFault(TOKEN, true)).toEqual({
      reason: 'CredentialRejected',
      detail: 'tokens issued by the hub, with issuer https://hub.example.com and audience purser:https://a',
      remedy: COMPARE,
    });
  });

  it('names the binding that publishes the keys of the hub', () => {
    expect(toFederationFault(TOKEN, false).remedy).toMatch(
      /^on the hub, bind the ClusterRole system:service-account-issuer-discovery to the group system:unauthenticated, .*; compare /,
    );
  });

  it.each(['https://kubernetes.default.svc', 'https://kubernetes.default.svc.cluster.local'])(
    'names the setting of an issuer that many clusters have: %s',
    (issuer) => {
      expect(toFederationFault({ ...TOKEN, issuer }, true).remedy).toMatch(
        /^set --service-account-issuer of the hub's API server .*; compare /,
      );
    },
  );
});
