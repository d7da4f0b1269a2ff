// Who a request comes from, by its Authorization header; and as whom it runs, by its Impersonate headers.

import { describe, expect, it } from '@jest/globals';
import { eventually } from './eventually.ts';
import { outcome } from './objects.ts';
import { askOf } from './requests.ts';
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

  it.each(['/readyz', '/version', '/nowhere', '/api/v1/pods'])('is rejected at %s with a wrong token', async (path) => {
    expect((await ask(path, { as: 'nonsense' })).status).toBe(401);
  });

  it('may be missing for public paths only', async () => {
    expect((await ask('/version', { as: null })).status).toBe(200);
    expect(outcome(await ask('/apis', { as: null }))).toBe('403 Forbidden: forbidden: User "system:anonymous" cannot get path "/apis"');
  });

  it('is not replaced by headers of a proxy', async () => {
    const headers = { 'x-remote-user': 'admin', 'x-remote-group': 'system:masters' };
    expect((await ask('/api/v1/namespaces', { as: null, headers })).status).toBe(403);
  });
});

describe('an administrator', () => {
  it.each([
    ['a user', { 'impersonate-user': 'zoe' }, { username: 'zoe', groups: ['system:authenticated'] }],
    [
      'a user with groups',
      { 'impersonate-user': 'zoe', 'impersonate-group': 'devs' },
      { username: 'zoe', groups: ['devs', 'system:authenticated'] },
    ],
    [
      'a service account',
      { 'impersonate-user': 'system:serviceaccount:a:b' },
      { username: 'system:serviceaccount:a:b', groups: ['system:serviceaccounts', 'system:serviceaccounts:a', 'system:authenticated'] },
    ],
  ])('impersonates %s', async (_, headers, expected) => {
    expect(await whoAmI(server.tokens.admin, headers)).toEqual(expected);
  });

  it('is rejected for a group without a user', async () => {
    const wanted = '&user.DefaultInfo{Name:"", UID:"", Groups:[]string{"devs"}, Extra:map[string][]string(nil)}';
    expect(await whoAmI(server.tokens.admin, { 'impersonate-group': 'devs' })).toBe(
      `400 BadRequest: requested ${wanted} without impersonating a user name`,
    );
  });
});

describe('impersonation', () => {
  const rejection = (user: string, mode = 'user-info') =>
    `403 Forbidden: selfsubjectreviews.${AUTHENTICATION} is forbidden: User "${user}" cannot impersonate-on:${mode}:create resource "selfsubjectreviews" in API group "${AUTHENTICATION}" at the cluster scope`;

  it.each([
    ['a user', { 'impersonate-user': 'carol' }, 'user-info'],
    ['a service account', { 'impersonate-user': 'system:serviceaccount:a:b' }, 'serviceaccount'],
  ])('rejects %s for a caller without permission', async (_, headers, mode) => {
    expect(await whoAmI(server.tokens.alice, headers)).toBe(rejection('alice', mode));
  });

  it('rejects callers without credentials', async () => {
    expect(await whoAmI(null, { 'impersonate-user': 'carol' })).toBe(rejection('system:anonymous'));
  });

  it.each([
    ['the user', {}, { username: 'carol', groups: ['system:authenticated'] }],
    ['a group', { 'impersonate-group': 'devs' }, { username: 'carol', groups: ['devs', 'system:authenticated'] }],
  ])('accepts %s that the caller has permission for', async (_, headers, expected) => {
    await make(`${RBAC}/clusterroles`, {
      metadata: { name: `acts-${Object.keys(headers).length}` },
      rules: [
        { apiGroups: [''], resources: ['users'], resourceNames: ['carol'], verbs: ['impersonate'] },
        { apiGroups: [''], resources: ['groups'], resourceNames: ['devs'], verbs: ['impersonate'] },
      ],
    });
    await make(`${RBAC}/clusterrolebindings`, {
      metadata: { name: `acts-${Object.keys(headers).length}` },
      roleRef: { apiGroup: 'rbac.authorization.k8s.io', kind: 'ClusterRole', name: `acts-${Object.keys(headers).length}` },
      subjects: [{ apiGroup: 'rbac.authorization.k8s.io', kind: 'User', name: 'bob' }],
    });
    await eventually(async () => expect(await whoAmI(server.tokens.bob, { 'impersonate-user': 'carol', ...headers })).toEqual(expected));
  });
});

async function make(path: string, body: object): Promise<void> {
  const answer = await ask(path, { body });
  if (answer.status !== 201) throw new Error(`POST ${path} answered ${JSON.stringify(answer)}`);
}
