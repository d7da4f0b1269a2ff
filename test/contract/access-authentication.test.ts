// Authentication of callers by the Authorization header, and impersonation by Impersonate headers.

import { describe, expect, it } from '@jest/globals';
import { eventually } from './eventually.ts';
import { createSender, outcome } from './requests.ts';
import { contractServer } from './server.ts';
import { create } from './world.ts';

const server = contractServer();
const send = createSender(server);
const SELF = '/apis/authentication.k8s.io/v1/selfsubjectreviews';
const RBAC = '/apis/rbac.authorization.k8s.io/v1';
const AUTHENTICATION = 'authentication.k8s.io';

type Headers = Readonly<Record<string, string>>;

async function whoAmI(as: string | null, headers: Headers = {}): Promise<unknown> {
  const response = await send(SELF, { as, headers, body: {} });
  return response.status === 201 ? (response.body['status'] as { readonly userInfo: unknown }).userInfo : outcome(response);
}

describe('authentication', () => {
  const admin = { username: 'admin', uid: 'admin-uid', groups: ['system:masters', 'system:authenticated'] };
  const anonymous = `403 Forbidden: selfsubjectreviews.${AUTHENTICATION} is forbidden: User "system:anonymous" cannot create resource "selfsubjectreviews" in API group "${AUTHENTICATION}" at the cluster scope`;
  const invalid = '401 Unauthorized: Unauthorized';

  it.each([
    ['Bearer admintoken', admin],
    ['bearer admintoken', admin],
    ['BEARER admintoken', admin],
    [' Bearer admintoken ', admin],
    ['Bearer admintoken and more', admin],
    ['Bearer  admintoken', anonymous],
    ['Bearer', anonymous],
    ['admintoken', anonymous],
    ['Basic YWRtaW46YWRtaW4=', anonymous],
    ['Bearer\tadmintoken', anonymous],
    ['Bearer nonsense', invalid],
    ['Bearer a.b.c', invalid],
  ])('accepts or rejects the caller of a request with Authorization: %j', async (authorization, expected) => {
    expect(await whoAmI(null, { authorization })).toEqual(expected);
  });

  it.each(['/readyz', '/version', '/nowhere', '/api/v1/pods'])('rejects an invalid token at %s', async (path) => {
    expect((await send(path, { as: 'nonsense' })).status).toBe(401);
  });

  it('accepts anonymous requests for public paths only', async () => {
    expect((await send('/version', { as: null })).status).toBe(200);
    expect(outcome(await send('/apis', { as: null }))).toBe('403 Forbidden: forbidden: User "system:anonymous" cannot get path "/apis"');
  });

  it('ignores X-Remote headers of a proxy', async () => {
    const headers = { 'x-remote-user': 'admin', 'x-remote-group': 'system:masters' };
    expect((await send('/api/v1/namespaces', { as: null, headers })).status).toBe(403);
  });
});

describe('impersonation by an administrator', () => {
  it.each([
    ['a user', { 'impersonate-user': 'zoe' }, { username: 'zoe', groups: ['system:authenticated'] }],
    [
      'a user with a non-ASCII name',
      { 'impersonate-user': Buffer.from('zoë').toString('latin1') },
      { username: 'zoë', groups: ['system:authenticated'] },
    ],
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
  ])('lets an administrator impersonate %s', async (_, headers, expected) => {
    expect(await whoAmI(server.tokens.admin, headers)).toEqual(expected);
  });
});

describe('impersonation', () => {
  const rejection = (user: string, mode = 'user-info') =>
    `403 Forbidden: selfsubjectreviews.${AUTHENTICATION} is forbidden: User "${user}" cannot impersonate-on:${mode}:create resource "selfsubjectreviews" in API group "${AUTHENTICATION}" at the cluster scope`;

  it.each([
    ['a user', { 'impersonate-user': 'carol' }, 'user-info'],
    ['a service account', { 'impersonate-user': 'system:serviceaccount:a:b' }, 'serviceaccount'],
  ])('rejects the impersonation of %s by a caller without permission', async (_, headers, mode) => {
    expect(await whoAmI(server.tokens.alice, headers)).toBe(rejection('alice', mode));
  });

  it('rejects impersonation by a caller without credentials', async () => {
    expect(await whoAmI(null, { 'impersonate-user': 'carol' })).toBe(rejection('system:anonymous'));
  });

  it.each([
    ['the user', {}, { username: 'carol', groups: ['system:authenticated'] }],
    ['a group', { 'impersonate-group': 'devs' }, { username: 'carol', groups: ['devs', 'system:authenticated'] }],
  ])('lets a caller impersonate %s that RBAC allows', async (_, headers, expected) => {
    await create(server, `${RBAC}/clusterroles`, {
      metadata: { name: `acts-${Object.keys(headers).length}` },
      rules: [
        { apiGroups: [''], resources: ['users'], resourceNames: ['carol'], verbs: ['impersonate'] },
        { apiGroups: [''], resources: ['groups'], resourceNames: ['devs'], verbs: ['impersonate'] },
      ],
    });
    await create(server, `${RBAC}/clusterrolebindings`, {
      metadata: { name: `acts-${Object.keys(headers).length}` },
      roleRef: { apiGroup: 'rbac.authorization.k8s.io', kind: 'ClusterRole', name: `acts-${Object.keys(headers).length}` },
      subjects: [{ apiGroup: 'rbac.authorization.k8s.io', kind: 'User', name: 'bob' }],
    });
    await eventually(async () => expect(await whoAmI(server.tokens.bob, { 'impersonate-user': 'carol', ...headers })).toEqual(expected));
  });
});
