// Who a request comes from, by its Authorization header; and as whom it runs, by its Impersonate headers.

import { beforeAll, describe, expect, it } from '@jest/globals';
import { askOf } from './asking.ts';
import { eventually } from './eventually.ts';
import { outcome } from './objects.ts';
import { contractServer } from './server.ts';

const server = contractServer();
const ask = askOf(server);
const SELF = '/apis/authentication.k8s.io/v1/selfsubjectreviews';
const RBAC = '/apis/rbac.authorization.k8s.io/v1';
const AUTHENTICATION = 'authentication.k8s.io';

type Headers = Readonly<Record<string, string>>;

async function whoAmI(as: string | null, headers: Headers = {}): Promise<unknown> {
  const answer = await ask(SELF, { as, headers, body: {} });
  return answer.status === 201 ? (answer.body['status'] as { readonly userInfo: unknown }).userInfo : outcome(answer);
}

describe('an Authorization header', () => {
  const admin = { username: 'admin', uid: 'admin-uid', groups: ['system:masters', 'system:authenticated'] };
  const nobody = `403 Forbidden: selfsubjectreviews.${AUTHENTICATION} is forbidden: User "system:anonymous" cannot create resource "selfsubjectreviews" in API group "${AUTHENTICATION}" at the cluster scope`;
  const unknown = '401 Unauthorized: Unauthorized';

  it.each([
    ['Bearer admintoken', admin],
    ['bearer admintoken', admin],
    ['BEARER admintoken', admin],
    [' Bearer admintoken ', admin],
    ['Bearer admintoken and more', admin],
    ['Bearer  admintoken', nobody],
    ['Bearer', nobody],
    ['admintoken', nobody],
    ['Basic YWRtaW46YWRtaW4=', nobody],
    ['Bearer\tadmintoken', nobody],
    ['Bearer nonsense', unknown],
    ['Bearer a.b.c', unknown],
  ])('%j', async (authorization, expected) => {
    expect(await whoAmI(null, { authorization })).toEqual(expected);
  });

  it('with two spaces is ignored with a warning', async () => {
    const { warnings } = await ask('/version', { as: null, headers: { authorization: 'Bearer  admintoken' } });
    expect(warnings).toEqual(['the provided Authorization header contains extra space before the bearer token, and is ignored']);
  });

  it.each(['/readyz', '/version', '/nowhere', '/api/v1/pods'])('that is wrong is refused even for %s', async (path) => {
    expect((await ask(path, { as: 'nonsense' })).status).toBe(401);
  });

  it('that is missing leaves only what everybody may see', async () => {
    expect((await ask('/version', { as: null })).status).toBe(200);
    expect(outcome(await ask('/apis', { as: null }))).toBe('403 Forbidden: forbidden: User "system:anonymous" cannot get path "/apis"');
  });

  it('cannot be replaced by the headers of a proxy', async () => {
    const headers = { 'x-remote-user': 'admin', 'x-remote-group': 'system:masters' };
    expect((await ask('/api/v1/namespaces', { as: null, headers })).status).toBe(403);
  });
});

describe('an administrator', () => {
  it.each([
    ['a user', { 'impersonate-user': 'zoe' }, { username: 'zoe', groups: ['system:authenticated'] }],
    [
      'a user with all that belongs to it',
      { 'impersonate-user': 'zoe', 'impersonate-uid': 'u1', 'impersonate-group': 'devs', 'impersonate-extra-acme.io%2fscopes': 'view' },
      { username: 'zoe', uid: 'u1', groups: ['devs', 'system:authenticated'], extra: { 'acme.io/scopes': ['view'] } },
    ],
    [
      'a service account',
      { 'impersonate-user': 'system:serviceaccount:a:b' },
      { username: 'system:serviceaccount:a:b', groups: ['system:serviceaccounts', 'system:serviceaccounts:a', 'system:authenticated'] },
    ],
  ])('may act as %s', async (_, headers, expected) => {
    expect(await whoAmI(server.tokens.admin, headers)).toEqual(expected);
  });

  it.each([
    [
      'a group',
      { 'impersonate-group': 'devs' },
      '&user.DefaultInfo{Name:"", UID:"", Groups:[]string{"devs"}, Extra:map[string][]string(nil)}',
    ],
    ['a uid', { 'impersonate-uid': 'u1' }, '&user.DefaultInfo{Name:"", UID:"u1", Groups:[]string(nil), Extra:map[string][]string(nil)}'],
    [
      'an extra',
      { 'impersonate-extra-a': 'b' },
      '&user.DefaultInfo{Name:"", UID:"", Groups:[]string(nil), Extra:map[string][]string{"a":[]string{"b"}}}',
    ],
  ])('cannot act as %s without a user', async (_, headers, wanted) => {
    expect(await whoAmI(server.tokens.admin, headers)).toBe(`400 BadRequest: requested ${wanted} without impersonating a user name`);
  });
});

describe('impersonation', () => {
  const LEGACY = [
    { apiGroups: [''], resources: ['users'], resourceNames: ['carol'], verbs: ['impersonate'] },
    { apiGroups: [''], resources: ['groups'], resourceNames: ['devs'], verbs: ['impersonate'] },
    { apiGroups: [AUTHENTICATION], resources: ['userextras/scopes'], resourceNames: ['view'], verbs: ['impersonate'] },
    { apiGroups: [AUTHENTICATION], resources: ['uids'], resourceNames: ['u1'], verbs: ['impersonate'] },
  ];
  const CONSTRAINED = [
    { apiGroups: [AUTHENTICATION], resources: ['users'], resourceNames: ['dave'], verbs: ['impersonate:user-info'] },
    { apiGroups: [AUTHENTICATION], resources: ['selfsubjectreviews'], verbs: ['impersonate-on:user-info:create'] },
  ];

  beforeAll(async () => {
    for (const [user, rules] of [
      ['bob', LEGACY],
      ['alice', CONSTRAINED],
    ] as const) {
      await make(`${RBAC}/clusterroles`, { metadata: { name: `acts-${user}` }, rules });
      await make(`${RBAC}/clusterrolebindings`, {
        metadata: { name: `acts-${user}` },
        roleRef: { apiGroup: 'rbac.authorization.k8s.io', kind: 'ClusterRole', name: `acts-${user}` },
        subjects: [{ apiGroup: 'rbac.authorization.k8s.io', kind: 'User', name: user }],
      });
    }
    await eventually(async () =>
      expect(await whoAmI(server.tokens.bob, { 'impersonate-user': 'carol' })).toMatchObject({ username: 'carol' }),
    );
    await eventually(async () =>
      expect(await whoAmI(server.tokens.alice, { 'impersonate-user': 'dave' })).toMatchObject({ username: 'dave' }),
    );
  }, 60_000);

  const about = (resource: string, name: string, group = '') =>
    `403 Forbidden: ${resource}${group === '' ? '' : `.${group}`} "${name}" is forbidden: User "bob" cannot impersonate resource`;
  it.each([
    ['whom one may act as', {}, { username: 'carol', groups: ['system:authenticated'] }],
    ['a group that one may have', { 'impersonate-group': 'devs' }, { username: 'carol', groups: ['devs', 'system:authenticated'] }],
    ['a uid that one may have', { 'impersonate-uid': 'u1' }, { username: 'carol', uid: 'u1', groups: ['system:authenticated'] }],
    [
      'an extra that one may have',
      { 'impersonate-extra-scopes': 'view' },
      { username: 'carol', groups: ['system:authenticated'], extra: { scopes: ['view'] } },
    ],
    ['another user', { 'impersonate-user': 'eve' }, `${about('users', 'eve')} "users" in API group "" at the cluster scope`],
    [
      'another group',
      { 'impersonate-group': 'system:masters' },
      `${about('groups', 'system:masters')} "groups" in API group "" at the cluster scope`,
    ],
    [
      'another uid',
      { 'impersonate-uid': 'u2' },
      `${about('uids', 'u2', AUTHENTICATION)} "uids" in API group "${AUTHENTICATION}" at the cluster scope`,
    ],
    [
      'another extra',
      { 'impersonate-extra-scopes': 'edit' },
      `${about('userextras', 'edit', AUTHENTICATION)} "userextras/scopes" in API group "${AUTHENTICATION}" at the cluster scope`,
    ],
    [
      'a service account',
      { 'impersonate-user': 'system:serviceaccount:a:b' },
      `${about('serviceaccounts', 'b')} "serviceaccounts" in API group "" in the namespace "a"`,
    ],
  ])('by permission on users: %s', async (_, headers, expected) => {
    expect(await whoAmI(server.tokens.bob, { 'impersonate-user': 'carol', ...headers })).toEqual(expected);
  });

  it('by permission on what is done holds for that alone', async () => {
    const headers = { 'impersonate-user': 'dave' };
    expect(await whoAmI(server.tokens.alice, headers)).toEqual({ username: 'dave', groups: ['system:authenticated'] });
    expect(outcome(await ask('/api/v1/pods', { as: server.tokens.alice, headers }))).toBe(
      '403 Forbidden: pods is forbidden: User "alice" cannot impersonate-on:user-info:list resource "pods" in API group "" at the cluster scope',
    );
    expect(await whoAmI(server.tokens.alice, { 'impersonate-user': 'eve' })).toBe(
      `403 Forbidden: users.${AUTHENTICATION} "eve" is forbidden: User "alice" cannot impersonate:user-info resource "users" in API group "${AUTHENTICATION}" at the cluster scope`,
    );
  });

  it('is for nobody in particular neither', async () => {
    expect(await whoAmI(null, { 'impersonate-user': 'carol' })).toBe(
      `403 Forbidden: selfsubjectreviews.${AUTHENTICATION} is forbidden: User "system:anonymous" cannot impersonate-on:user-info:create resource "selfsubjectreviews" in API group "${AUTHENTICATION}" at the cluster scope`,
    );
  });
});

async function make(path: string, body: object): Promise<void> {
  const answer = await ask(path, { body });
  if (answer.status !== 201) throw new Error(`POST ${path} answered ${JSON.stringify(answer)}`);
}
