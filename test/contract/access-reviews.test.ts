// TokenReviews, SelfSubjectReviews and access reviews.

import { beforeAll, describe, expect, it } from '@jest/globals';
import { eventually } from './eventually.ts';
import { createSender, type KubeResponse, outcome } from './requests.ts';
import { contractServer } from './server.ts';
import { create } from './world.ts';

const server = contractServer();
const send = createSender(server);
const NAMESPACE_PATH = '/api/v1/namespaces/reviews';
const AUTHENTICATION = '/apis/authentication.k8s.io/v1';
const AUTHORIZATION = '/apis/authorization.k8s.io/v1';
const RBAC = '/apis/rbac.authorization.k8s.io/v1';
const HUB = 'https://hub.test';

beforeAll(async () => {
  await create(server, '/api/v1/namespaces', { metadata: { name: 'reviews' } });
  await create(server, '/api/v1/nodes', { metadata: { name: 'node-1' } });
  await create(server, `${NAMESPACE_PATH}/serviceaccounts`, { metadata: { name: 'robot' } });
  const containers = [{ name: 'main', image: 'registry.test/main' }];
  await create(server, `${NAMESPACE_PATH}/pods`, {
    metadata: { name: 'web' },
    spec: { serviceAccountName: 'robot', nodeName: 'node-1', containers },
  });
  await create(server, `${RBAC}/namespaces/reviews/roles`, {
    metadata: { name: 'reader' },
    rules: [{ apiGroups: [''], resources: ['configmaps'], verbs: ['get'] }],
  });
  await create(server, `${RBAC}/namespaces/reviews/rolebindings`, {
    metadata: { name: 'readers' },
    roleRef: { apiGroup: 'rbac.authorization.k8s.io', kind: 'Role', name: 'reader' },
    subjects: [user('alice'), { kind: 'ServiceAccount', name: 'robot' }],
  });
  await create(server, `${RBAC}/clusterroles`, {
    metadata: { name: 'metrics' },
    rules: [{ nonResourceURLs: ['/metrics'], verbs: ['get'] }],
  });
  await create(server, `${RBAC}/clusterrolebindings`, {
    metadata: { name: 'metrics' },
    roleRef: { apiGroup: 'rbac.authorization.k8s.io', kind: 'ClusterRole', name: 'metrics' },
    subjects: [user('bob'), { apiGroup: 'rbac.authorization.k8s.io', kind: 'Group', name: 'watchers' }],
  });
  await eventually(async () => expect(await isAllowed('bob', { nonResourceAttributes: { verb: 'get', path: '/metrics' } })).toBe(true));
});

describe('TokenReview', () => {
  const robot = {
    username: 'system:serviceaccount:reviews:robot',
    uid: expect.any(String),
    groups: ['system:serviceaccounts', 'system:serviceaccounts:reviews', 'system:authenticated'],
  };
  const credential = { 'authentication.kubernetes.io/credential-id': [expect.stringMatching(/^JTI=[0-9a-f-]{36}$/)] };

  it('accepts a static token', async () => {
    expect(statusOf(await review({ token: server.tokens.alice }))).toEqual({
      authenticated: true,
      user: { username: 'alice', uid: 'alice-uid', groups: ['team-a', 'system:authenticated'] },
      audiences: [HUB],
    });
  });

  it('returns the service account, the Pod and the Node of a token bound to a Pod', async () => {
    const token = await tokenFor({ boundObjectRef: { kind: 'Pod', name: 'web' } });
    const status = statusOf(await review({ token }));
    expect(status).toEqual({
      authenticated: true,
      user: {
        ...robot,
        extra: {
          ...credential,
          'authentication.kubernetes.io/node-name': ['node-1'],
          'authentication.kubernetes.io/node-uid': [expect.any(String)],
          'authentication.kubernetes.io/pod-name': ['web'],
          'authentication.kubernetes.io/pod-uid': [expect.any(String)],
        },
      },
      audiences: [HUB],
    });
  });

  it.each([
    ['audiences of the token', ['x', 'y'], ['y', 'z', 'x'], ['y', 'x']],
    ['audiences of the server', undefined, [HUB, 'x'], [HUB]],
  ])('returns the reviewed audiences that match the %s', async (_, audiences, requested, expected) => {
    const token = await tokenFor({ audiences });
    expect(statusOf(await review({ token, audiences: requested }))).toMatchObject({ authenticated: true, audiences: expected });
  });

  it.each([
    ['garbage', async () => 'garbage', undefined, 'invalid bearer token'],
    [
      'a token for other audiences',
      () => tokenFor({ audiences: ['x'] }),
      undefined,
      `[invalid bearer token, token audiences ["x"] is invalid for the target audiences ["${HUB}"]]`,
    ],
    [
      'a token for the server, reviewed for other audiences',
      () => tokenFor({}),
      ['x', 'y'],
      `[invalid bearer token, token audiences ["${HUB}"] is invalid for the target audiences ["x" "y"]]`,
    ],
    ['a static token, reviewed for other audiences', async () => server.tokens.alice, ['x'], 'invalid bearer token'],
    [
      'a forged token',
      async () => `${(await tokenFor({})).split('.').slice(0, 2).join('.')}.${'A'.repeat(342)}`,
      undefined,
      '[invalid bearer token, go-jose/go-jose: error in cryptographic primitive]',
    ],
  ])('does not authenticate %s', async (_, token, audiences, error) => {
    const response = await review({ token: await token(), ...(audiences && { audiences }) });
    expect([response.status, statusOf(response)]).toEqual([201, { user: {}, error }]);
  });

  it('rejects a TokenReview without spec.token', async () => {
    expect(outcome(await review({ audiences: ['x'] }))).toBe('400 BadRequest: token is required for TokenReview in authentication');
  });

  it('rejects a caller without permission to create TokenReviews', async () => {
    expect(outcome(await review({ token: 'x' }, server.tokens.alice))).toBe(
      '403 Forbidden: tokenreviews.authentication.k8s.io is forbidden: User "alice" cannot create resource "tokenreviews" in API group "authentication.k8s.io" at the cluster scope',
    );
  });

  it('rejects methods other than create', async () => {
    expect(outcome(await send(`${AUTHENTICATION}/tokenreviews`))).toBe(
      '405 MethodNotAllowed: the server does not allow this method on the requested resource',
    );
    expect(outcome(await send(`${AUTHENTICATION}/tokenreviews/x`))).toBe('404 NotFound: the server could not find the requested resource');
  });
});

describe('SelfSubjectReview', () => {
  it.each([
    ['the administrator', 'admintoken', { username: 'admin', uid: 'admin-uid', groups: ['system:masters', 'system:authenticated'] }],
    ['bob', 'bobtoken', { username: 'bob', uid: 'bob-uid', groups: ['system:authenticated'] }],
  ])('returns the user info of %s', async (_, as, userInfo) => {
    const { status, body } = await send(`${AUTHENTICATION}/selfsubjectreviews`, {
      as,
      body: { status: { userInfo: { username: 'else' } } },
    });
    expect([status, body['status']]).toEqual([201, { userInfo }]);
  });

  it('rejects anonymous callers', async () => {
    expect(outcome(await send(`${AUTHENTICATION}/selfsubjectreviews`, { as: null, body: {} }))).toBe(
      '403 Forbidden: selfsubjectreviews.authentication.k8s.io is forbidden: User "system:anonymous" cannot create resource "selfsubjectreviews" in API group "authentication.k8s.io" at the cluster scope',
    );
  });
});

describe('SubjectAccessReview', () => {
  const reading = { verb: 'get', resource: 'configmaps', namespace: 'reviews' };

  it.each([
    [
      'a user by a RoleBinding',
      { user: 'alice', resourceAttributes: reading },
      'RBAC: allowed by RoleBinding "readers/reviews" of Role "reader" to User "alice"',
    ],
    [
      'a service account by a RoleBinding',
      { user: 'system:serviceaccount:reviews:robot', resourceAttributes: reading },
      'RBAC: allowed by RoleBinding "readers/reviews" of Role "reader" to ServiceAccount "robot/reviews"',
    ],
    [
      'a group by a ClusterRoleBinding',
      { groups: ['watchers'], nonResourceAttributes: { verb: 'get', path: '/metrics' } },
      'RBAC: allowed by ClusterRoleBinding "metrics" of ClusterRole "metrics" to Group "watchers"',
    ],
    [
      'all users discovery',
      { user: 'x', groups: ['system:authenticated'], nonResourceAttributes: { verb: 'get', path: '/apis/x' } },
      'RBAC: allowed by ClusterRoleBinding "system:discovery" of ClusterRole "system:discovery" to Group "system:authenticated"',
    ],
  ])('allows %s with a reason', async (_, spec, reason) => {
    expect(statusOf(await access(spec))).toEqual({ allowed: true, reason });
  });

  it('allows system:masters without a reason', async () => {
    expect(statusOf(await access({ user: 'x', groups: ['system:masters'], resourceAttributes: { verb: '*', resource: '*' } }))).toEqual({
      allowed: true,
    });
  });

  it.each([
    ['in another namespace', { ...reading, namespace: 'default' }],
    ['in all namespaces', { ...reading, namespace: '' }],
    ['in another API group', { ...reading, group: 'apps' }],
    ['to a subresource', { ...reading, subresource: 'status' }],
    ['with another verb', { ...reading, verb: 'list' }],
  ])('denies access %s', async (_, resourceAttributes) => {
    expect(statusOf(await access({ user: 'alice', resourceAttributes }))).toEqual({ allowed: false });
  });

  const path = { verb: 'get', path: '/' };
  it.each([
    [
      'a spec without attributes',
      {},
      'spec.resourceAttributes: Invalid value: null: exactly one of nonResourceAttributes or resourceAttributes must be specified',
    ],
    [
      'a spec without user and groups',
      { resourceAttributes: {} },
      'spec.user: Invalid value: "": at least one of user or group must be specified',
    ],
    [
      'a spec with both kinds of attributes',
      { user: 'x', resourceAttributes: {}, nonResourceAttributes: path },
      'spec.nonResourceAttributes: Invalid value: {"Path":"/","Verb":"get"}: cannot be specified in combination with resourceAttributes',
    ],
  ])('rejects %s', async (_, spec, problem) => {
    const { status, body } = await access(spec);
    expect(status).toBe(422);
    expect(body.message).toContain('.authorization.k8s.io "" is invalid: ');
    expect(body.message).toContain(problem);
  });

  it('reviews the permissions of the caller in a SelfSubjectAccessReview', async () => {
    const reviewOwn = (as: string) =>
      send(`${AUTHORIZATION}/selfsubjectaccessreviews`, { as, body: { spec: { resourceAttributes: reading } } });
    const responses = await Promise.all([reviewOwn(server.tokens.alice), reviewOwn(server.tokens.bob)]);
    expect(responses.map(statusOf)).toMatchObject([{ allowed: true }, { allowed: false }]);
  });
});

describe('SelfSubjectRulesReview', () => {
  const rules = (as: string, namespace?: string) => send(`${AUTHORIZATION}/selfsubjectrulesreviews`, { as, body: { spec: { namespace } } });

  it('returns the rules of the caller', async () => {
    const { resourceRules, nonResourceRules, incomplete } = statusOf(await rules(server.tokens.alice, 'reviews')) as Rules;
    expect(resourceRules).toContainEqual({ verbs: ['get'], apiGroups: [''], resources: ['configmaps'] });
    expect(resourceRules).toContainEqual({ verbs: ['create'], apiGroups: ['authentication.k8s.io'], resources: ['selfsubjectreviews'] });
    expect(nonResourceRules).toContainEqual({
      verbs: ['get'],
      nonResourceURLs: ['/healthz', '/livez', '/readyz', '/version', '/version/'],
    });
    expect(incomplete).toBe(false);
  });

  it('omits the rules of other namespaces', async () => {
    const { resourceRules } = statusOf(await rules(server.tokens.alice, 'default')) as Rules;
    expect(resourceRules).not.toContainEqual({ verbs: ['get'], apiGroups: [''], resources: ['configmaps'] });
  });

  it('returns all rules for an administrator', async () => {
    const { resourceRules, nonResourceRules } = statusOf(await rules(server.tokens.admin, 'reviews')) as Rules;
    expect(resourceRules).toContainEqual({ verbs: ['*'], apiGroups: ['*'], resources: ['*'] });
    expect(nonResourceRules).toContainEqual({ verbs: ['*'], nonResourceURLs: ['*'] });
  });

  it('rejects a review without a namespace', async () => {
    expect(outcome(await rules(server.tokens.alice))).toBe('400 BadRequest: no namespace on request');
  });
});

interface Rules {
  readonly resourceRules: readonly object[];
  readonly nonResourceRules: readonly object[];
  readonly incomplete: boolean;
}

function review(spec: object, as: string = server.tokens.admin): Promise<KubeResponse> {
  return send(`${AUTHENTICATION}/tokenreviews`, { as, body: { spec } });
}

function access(spec: object): Promise<KubeResponse> {
  return send(`${AUTHORIZATION}/subjectaccessreviews`, { body: { spec } });
}

async function isAllowed(name: string, attributes: object): Promise<unknown> {
  return (statusOf(await access({ user: name, ...attributes })) as { readonly allowed: boolean }).allowed;
}

function statusOf({ body }: KubeResponse): unknown {
  return body['status'];
}

async function tokenFor(spec: object): Promise<string> {
  const { body } = await send(`${NAMESPACE_PATH}/serviceaccounts/robot/token`, { body: { spec } });
  return (body['status'] as { readonly token: string }).token;
}

function user(name: string): object {
  return { apiGroup: 'rbac.authorization.k8s.io', kind: 'User', name };
}
