import { describe, expect, it } from '@jest/globals';
import type { ServiceAccount } from '../../../src/api/resources.ts';
import { type Evidence, type Link, toLinks } from '../../../src/cli/status/chain.ts';
import { formatChain } from '../../../src/cli/status/text.ts';
import { ACCOUNT_UID, aCluster, aGrant, aToken, at, NOON, SECRET_IDENTITY } from '../../support/builders.ts';
import { stored } from '../../support/stored.ts';

const owner = {
  apiVersion: 'tokens.purser.dev/v1alpha1',
  kind: 'ManagedToken',
  name: 'ci',
  uid: aToken().build().metadata.uid,
  controller: true,
};
const secret = {
  metadata: { ...SECRET_IDENTITY, namespace: 'team-a', ownerReferences: [owner] },
  data: { token: Buffer.from(aGrant().text()).toString('base64') },
};
const ready = {
  type: 'Ready',
  status: 'True',
  reason: 'ClusterReady',
  message: 'Ready.',
  lastHeartbeatTime: '',
  lastTransitionTime: '',
} as const;
const account: ServiceAccount = { metadata: { namespace: 'deploy', name: 'deployer', uid: ACCOUNT_UID } };

/** Evidence for a token that passes all checks. */
const good: Evidence = {
  context: undefined,
  token: aToken().withStatus({ serviceAccountUID: ACCOUNT_UID }).build(),
  hasRequester: { value: true },
  issueName: { value: 'prod-eu/deploy' },
  exactName: 'prod-eu/deploy/deployer',
  cluster: { value: { ...aCluster(), status: { conditions: [ready] } } },
  serviceAccount: { value: stored(account) },
  secret: { value: secret },
  isAccepted: { value: true },
};

function link(name: Link['name'], more: Partial<Evidence>, now = NOON): Link | undefined {
  return toLinks({ ...good, ...more }, now).find((each) => each.name === name);
}

describe('toLinks', () => {
  it('confirms every link of a valid token', () => {
    expect(toLinks(good, NOON).map(({ verdict }) => verdict)).toEqual(['ok', 'ok', 'ok', 'ok', 'ok']);
  });

  it('names the permission that the user lacks for each check', () => {
    const needs = { needs: 'a permission' };
    const evidence = {
      ...good,
      hasRequester: needs,
      issueName: needs,
      cluster: needs,
      serviceAccount: needs,
      secret: needs,
      isAccepted: needs,
    };
    expect(toLinks(evidence, NOON).map(({ message }) => message)).toEqual(Array(5).fill('not checked (needs a permission)'));
  });

  it.each<[string, Link['name'], Partial<Evidence>, string]>([
    ['a missing requester', 'permission', { hasRequester: { value: false } }, 'does not exist'],
    ['a missing permission', 'permission', { issueName: { value: undefined } }, 'cannot issue clusters/token "prod-eu/deploy/deployer"'],
    [
      'a missing Cluster',
      'cluster',
      { cluster: { value: undefined } },
      'Cluster prod-eu was not found. Register the cluster with purser cluster add',
    ],
    [
      'a Cluster that was never probed',
      'cluster',
      { cluster: { value: aCluster() } },
      'has not probed the cluster yet. Check that the pods of Purser on the hub are running',
    ],
    ['a missing service account', 'service account', { serviceAccount: { value: undefined } }, 'was not found on the cluster'],
    [
      'a re-created service account',
      'service account',
      { serviceAccount: { value: stored({ ...account, metadata: { ...account.metadata, uid: 'other' } }) } },
      'was re-created, so the token is no longer valid. Request a new token with purser rotate mt/ci -n team-a.',
    ],
    ['a missing Secret', 'token', { secret: { value: undefined } }, 'There is no token, because the Secret does not exist'],
    [
      'a Secret without a token',
      'token',
      { secret: { value: { ...secret, data: {} } } },
      'no token. Request a new token with purser rotate mt/ci -n team-a.',
    ],
    [
      'a Secret without a token on the hub of another context',
      'token',
      { context: 'dr site', secret: { value: { ...secret, data: {} } } },
      "no token. Request a new token with purser rotate --context 'dr site' mt/ci -n team-a.",
    ],
    [
      'a Secret without a token on the hub of another kubeconfig',
      'token',
      { kubeconfig: '/etc/hub b.yaml', secret: { value: { ...secret, data: {} } } },
      "no token. Request a new token with purser rotate --kubeconfig '/etc/hub b.yaml' mt/ci -n team-a.",
    ],
    [
      'a Secret without a token during a suspension',
      'token',
      { token: aToken().suspended().build(), secret: { value: { ...secret, data: {} } } },
      'no token. Rotation is suspended; resume rotation with purser resume mt/ci -n team-a.',
    ],
    ['a rejected token', 'token', { isAccepted: { value: false } }, 'The cluster rejects the token'],
    [
      'a token for another audience',
      'token',
      {
        token: aToken()
          .with({ audiences: ['vault'] })
          .build(),
      },
      'lacks some of spec.audiences: vault',
    ],
    [
      'a token for another service account',
      'token',
      {
        token: aToken()
          .with({ serviceAccount: { namespace: 'deploy', name: 'other' } })
          .build(),
      },
      'not for spec.serviceAccount. Request a new token with purser rotate mt/ci -n team-a.',
    ],
    ['a missing Secret', 'secret', { secret: { value: undefined } }, 'Secret team-a/ci does not exist'],
    [
      'a Secret that the ManagedToken does not own',
      'secret',
      { secret: { value: { ...secret, metadata: { ...secret.metadata, ownerReferences: [] } } } },
      'is not owned by the ManagedToken',
    ],
  ])('reports %s as a failed link', (_, name, more, message) => {
    expect(link(name, more)).toMatchObject({ verdict: 'failed', message: expect.stringContaining(message) });
  });

  it('reports an expired token', () => {
    expect(link('token', {}, at('13:10:00'))).toMatchObject({
      verdict: 'failed',
      message: 'The token expired 10m ago and is still in the Secret. Check that the pods of Purser on the hub are running.',
    });
  });

  it('returns no link that contains the token', () => {
    expect(JSON.stringify(toLinks(good, NOON))).not.toContain(aGrant().text());
  });
});

describe('formatChain', () => {
  it('prints the state of the ManagedToken and one line for each link', () => {
    const printed = formatChain(
      good.token,
      toLinks({ ...good, serviceAccount: { needs: '--target-context' } }, NOON),
      NOON,
      (_, text) => text,
    );
    expect(printed).toBe(`ManagedToken team-a/ci: Pending

  ✓ permission       service account team-a/default may issue tokens for prod-eu/deploy
  ✓ cluster          Cluster prod-eu is ready
  ? service account  not checked (needs --target-context)
  ✓ token            token expires in 60m, and the cluster accepts it
  ✓ secret           Secret team-a/ci holds token
`);
  });
});
