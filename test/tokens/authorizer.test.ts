import { describe, expect, it } from '@jest/globals';
import { NO_CLUSTER_SET } from '../../src/access/cluster-set.ts';
import { IssueTokens } from '../../src/access/issue-permission.ts';
import { RbacIndex } from '../../src/access/rbac-index.ts';
import { tooManyRequests } from '../../src/kubernetes/status.ts';
import { TokenAuthorizer, type TokenAuthorizerOptions } from '../../src/tokens/authorizer.ts';
import type { StoredToken } from '../../src/tokens/policy/spec.ts';
import { TrackedTokens } from '../../src/tokens/tracked-token.ts';
import { HandInformer } from '../runtime/hand-informer.ts';
import { FakeClock } from '../support/clock.ts';

const signal = new AbortController().signal;
const token = {
  metadata: { name: 'ci', namespace: 'team-a', uid: 'u' },
  spec: { clusterName: 'one', serviceAccount: { namespace: 'deploy', name: 'deployer' }, requesterServiceAccountName: 'default' },
} as unknown as StoredToken;

interface Hub {
  readonly listed: string[];
  readonly authorizer: TokenAuthorizer;
}

/** Returns an authorizer with empty informers, on a hub with these service accounts and one result for all reviews. */
function authorizerOn(accounts: () => Promise<readonly string[]>, response: unknown = { status: { allowed: true } }): Hub {
  const listed: string[] = [];
  const hub = {
    createReview: async () => response,
    list: async (_: unknown, { namespace = '', fieldSelector = '' }: { namespace?: string; fieldSelector?: string }) => {
      listed.push(`${namespace} ${fieldSelector}`);
      return { items: (await accounts()).map((name) => ({ metadata: { name } })) };
    },
  };
  const view = { hasRequester: () => false, permissions: new RbacIndex(IssueTokens), clusterSetOf: () => NO_CLUSTER_SET };
  const options = {
    hub,
    view,
    memory: new TrackedTokens(),
    clock: new FakeClock(),
    protectedNamespaces: [],
  } as unknown as TokenAuthorizerOptions;
  return { listed, authorizer: new TokenAuthorizer(options) };
}

describe('TokenAuthorizer.review with a requester that the informer does not have', () => {
  it('looks up the requester on the hub, and allows the token if the requester exists', async () => {
    const { authorizer, listed } = authorizerOn(async () => ['default']);
    expect(await authorizer.review(token, signal)).toEqual({ allowed: true, clusterSet: NO_CLUSTER_SET });
    expect(listed).toEqual(['team-a metadata.name=default']);
  });

  it('denies the permission if the hub does not have the requester either', async () => {
    const { authorizer } = authorizerOn(async () => []);
    expect(await authorizer.review(token, signal)).toMatchObject({ allowed: false, message: expect.stringContaining('does not exist') });
  });

  it('throws AuthorizationFailed while the hub does not respond', async () => {
    const { authorizer } = authorizerOn(() => Promise.reject(new Error('no response')));
    await expect(authorizer.review(token, signal)).rejects.toMatchObject({ reason: 'AuthorizationFailed' });
  });

  it('throws AuthorizationFailed with the Retry-After of the hub', async () => {
    const { authorizer } = authorizerOn(() => Promise.reject(tooManyRequests('busy', 7)));
    await expect(authorizer.review(token, signal)).rejects.toMatchObject({ reason: 'AuthorizationFailed', retryAfterMs: 7_000 });
  });
});

describe('TokenAuthorizer.review of a decision', () => {
  const review = (response: unknown) => authorizerOn(async () => ['default'], response).authorizer.review(token, signal);

  it.each([
    ['a denial', { allowed: false }],
    ['allowed and denied', { allowed: true, denied: true }],
    [
      'a denial, with a binding to a missing role',
      { allowed: false, evaluationError: 'clusterrole.rbac.authorization.k8s.io "x" not found' },
    ],
    [
      'a denial, with bindings to missing roles',
      {
        allowed: false,
        evaluationError: '[clusterrole.rbac.authorization.k8s.io "x, \\"y" not found, role.rbac.authorization.k8s.io "y" not found]',
      },
    ],
  ])('denies the permission for a decision with %s', async (_name, status) => {
    expect(await review({ status })).toMatchObject({ allowed: false });
  });

  it.each([
    ['an error', { status: { allowed: false, evaluationError: 'webhook not found' } }],
    [
      'an error beside a missing role',
      { status: { allowed: false, evaluationError: '[clusterrole.rbac.authorization.k8s.io "x" not found, webhook: deadline exceeded]' } },
    ],
    ['a text', { status: { allowed: 'true' } }],
    ['a status of null', { status: null }],
    ['no status', {}],
  ])('throws AuthorizationFailed for a decision with %s', async (_name, response) => {
    await expect(review(response)).rejects.toMatchObject({ reason: 'AuthorizationFailed' });
  });
});

describe('TokenAuthorizer.review for a cluster in a set', () => {
  interface ClusterSetHub {
    /** Set of the cluster in the informer. */
    informed: string;
    /** Labels of the Cluster on the hub; undefined if there is none. */
    labels: Readonly<Record<string, string>> | undefined;
    allowed: readonly string[];
    readonly names: string[];
  }

  function clusterSetAuthorizer(change: Partial<ClusterSetHub>) {
    const state: ClusterSetHub = { informed: 'prod', labels: { 'registry.purser.dev/set': 'prod' }, allowed: [], names: [], ...change };
    const hub = {
      createReview: async (_: unknown, { spec }: { spec: { resourceAttributes: { name: string } } }) => {
        state.names.push(spec.resourceAttributes.name);
        return { status: { allowed: state.allowed.includes(spec.resourceAttributes.name) } };
      },
      list: async () => ({ items: state.labels === undefined ? [] : [{ metadata: { name: 'one', labels: state.labels } }] }),
    };
    const memory = new TrackedTokens();
    memory.keep('u');
    const view = { hasRequester: () => true, permissions: new RbacIndex(IssueTokens), clusterSetOf: () => state.informed };
    const options = { hub, view, memory, clock: new FakeClock(), protectedNamespaces: [] } as unknown as TokenAuthorizerOptions;
    return { state, authorizer: new TokenAuthorizer(options) };
  }

  it.each([['set:prod/deploy/deployer'], ['set:prod/deploy'], ['set:prod']])('allows a token for a rule that names %s', async (name) => {
    const { authorizer } = clusterSetAuthorizer({ allowed: [name] });
    expect(await authorizer.review(token, signal)).toEqual({ allowed: true, clusterSet: 'prod' });
    expect(authorizer.needsReview(token)).toBe(false);
  });

  it('reports that another review is needed as soon as the cluster is in another set', async () => {
    const { authorizer, state } = clusterSetAuthorizer({ allowed: ['set:prod'] });
    await authorizer.review(token, signal);
    state.informed = 'dev';
    expect(authorizer.needsReview(token)).toBe(true);
    state.informed = NO_CLUSTER_SET;
    expect(authorizer.needsReview(token)).toBe(true);
  });

  it.each([
    ['in a set', 'prod', { 'registry.purser.dev/set': 'prod' }],
    ['in no set', NO_CLUSTER_SET, {}],
    ['that does not exist', NO_CLUSTER_SET, undefined],
  ])('denies the permission after six reviews for a cluster %s, and names no set', async (_, informed, labels) => {
    const { authorizer, state } = clusterSetAuthorizer({ informed, labels, allowed: ['set:-', 'set:-/deploy', 'set:-/deploy/deployer'] });
    const review = await authorizer.review(token, signal);
    expect(review).toMatchObject({ allowed: false, message: expect.not.stringContaining('set:') });
    expect(state.names).toHaveLength(6);
  });

  it.each([
    ['does not have the Cluster', NO_CLUSTER_SET, { 'registry.purser.dev/set': 'prod' }],
    ['has the Cluster in another set', 'dev', { 'registry.purser.dev/set': 'prod' }],
    ['still has a deleted Cluster', 'prod', undefined],
  ])('throws AuthorizationFailed instead of a refusal while the informer %s', async (_, informed, labels) => {
    const { authorizer } = clusterSetAuthorizer({ informed, labels });
    await expect(authorizer.review(token, signal)).rejects.toMatchObject({ reason: 'AuthorizationFailed' });
  });
});

describe('TokenAuthorizer.needsReview with indexed RBAC rules', () => {
  const requester = { kind: 'ServiceAccount', name: 'default', namespace: 'team-a' };
  const issuer = { roleRef: { apiGroup: 'rbac.authorization.k8s.io', kind: 'ClusterRole', name: 'issuer' }, subjects: [requester] };
  const rules = [{ verbs: ['issue'], apiGroups: ['registry.purser.dev'], resources: ['clusters/token'], resourceNames: ['one/deploy'] }];

  function indexedAuthorizer() {
    const permissions = new RbacIndex(IssueTokens);
    const view = { hasRequester: () => true, permissions, clusterSetOf: () => NO_CLUSTER_SET };
    const options = { view, memory: new TrackedTokens(), clock: new FakeClock(), protectedNamespaces: [] };
    return { permissions, authorizer: new TokenAuthorizer(options as unknown as TokenAuthorizerOptions) };
  }

  it('follows the rules when they begin and cease to allow the token', () => {
    const { permissions, authorizer } = indexedAuthorizer();
    expect(authorizer.needsReview(token)).toBe(true);
    permissions.setRole('issuer', { rules });
    permissions.setBinding('b', issuer);
    expect(authorizer.needsReview(token)).toBe(false);
    permissions.setRole('issuer', undefined);
    expect(authorizer.needsReview(token)).toBe(true);
  });

  it('follows an index that is filled again without the rules', () => {
    const { permissions, authorizer } = indexedAuthorizer();
    permissions.setRole('issuer', { rules });
    permissions.setBinding('b', issuer);
    expect(authorizer.needsReview(token)).toBe(false);
    permissions.follow({ roles: new HandInformer(), bindings: new HandInformer() }).subscribe();
    expect(authorizer.needsReview(token)).toBe(true);
  });

  it.each([
    ['another namespace', { metadata: { ...token.metadata, namespace: 'team-b' } }],
    ['another service account', { spec: { ...token.spec, serviceAccount: { namespace: 'other', name: 'deployer' } } }],
    ['another requester', { spec: { ...token.spec, requesterServiceAccountName: 'other' } }],
  ])('reports that a token of %s needs a review', (_, more) => {
    const { permissions, authorizer } = indexedAuthorizer();
    permissions.setRole('issuer', { rules });
    permissions.setBinding('b', issuer);
    expect(authorizer.needsReview(token)).toBe(false);
    expect(authorizer.needsReview({ ...token, ...more })).toBe(true);
  });
});
