import { describe, expect, it } from '@jest/globals';
import type { ManagedToken } from '../../src/api/managed-token.gen.ts';
import { evaluateProbe } from '../../src/clusters/policy/conditions.ts';
import { selectNamespaces, toFederationFault, toIssueScope } from '../../src/clusters/probe.ts';

function tokenFor(namespace: string, status: ManagedToken['status'] = {}): ManagedToken {
  return { metadata: {}, spec: { serviceAccount: { namespace, name: 'deployer' } }, status } as unknown as ManagedToken;
}

describe('selectNamespaces', () => {
  it('returns each namespace that ManagedTokens name once', () =>
    expect(
      selectNamespaces(
        ['b', 'a', 'b'].map((namespace) => tokenFor(namespace)),
        undefined,
      ),
    ).toEqual(['a', 'b']));

  it('returns at most ten namespaces, those with issued tokens first', () => {
    const crowd = Array.from({ length: 50 }, (_, index) => tokenFor(`a-${index}`));
    const namespaces = selectNamespaces([...crowd, tokenFor('z', { issuedAt: '2026-01-01T00:00:00Z' })], undefined);

    expect(namespaces).toHaveLength(10);
    expect(namespaces[0]).toBe('z');
  });

  it('gives no precedence to the namespaces of specs that changed after their tokens were issued', () => {
    const issued = { issuedAt: '2026-01-01T00:00:00Z', observedGeneration: 1 };
    const at = (namespace: string, generation: number) => ({ ...tokenFor(namespace, issued), metadata: { generation } });
    const crowd = Array.from({ length: 10 }, (_, index) => at(`a${index}`, 2) as ManagedToken);
    expect(selectNamespaces([...crowd, at('z', 1) as ManagedToken], undefined)[0]).toBe('z');
  });

  it('returns an empty list if there are no ManagedTokens', () => expect(selectNamespaces([], undefined)).toEqual([]));

  it('returns the namespaces in the credential Secret even before the first ManagedToken, so that a new cluster becomes Ready', () =>
    expect(selectNamespaces([], ['b', 'a'])).toEqual(['b', 'a']));

  it('returns only namespaces in the credential Secret, those that ManagedTokens name first', () =>
    expect(selectNamespaces([tokenFor('c'), tokenFor('a')], ['b', 'a'])).toEqual(['a', 'b']));
});

describe('toIssueScope', () => {
  it.each([
    ['in 1 namespace.', [true]],
    ['in 3 namespaces.', [true, true, true]],
    ['in 1 of 3 reviewed namespaces.', [false, true, false]],
  ])('reports permissions %s', (scope, reviews) => {
    const { fault, scope: found } = toIssueScope('purser', reviews);
    const findings = evaluateProbe({ faults: fault ? [fault] : [], scope: found });

    expect(findings.get('Authorized')).toMatchObject({
      status: 'True',
      reason: 'PermissionsGranted',
      message: expect.stringContaining(`: ${scope}`),
    });
    expect(findings.get('Ready')?.status).toBe('True');
  });

  it.each([[[]], [[false, false]]])('returns Forbidden for the reviews %j', (reviews) =>
    expect(toIssueScope('purser', reviews)).toEqual({ fault: { reason: 'Forbidden', detail: 'user purser' } }),
  );
});

const TOKEN = { issuer: 'https://hub.example.com', audience: 'purser:https://a' };
const COMPARE =
  "compare the configuration of the cluster's API server with the output of purser print authentication-config --issuer ISSUER --server ADDRESS";

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
    'names the flag that sets the issuer if many clusters share the issuer %s',
    (issuer) => {
      expect(toFederationFault({ ...TOKEN, issuer }, true).remedy).toMatch(
        /^set --service-account-issuer of the hub's API server .*; compare /,
      );
    },
  );
});
