import { describe, expect, it } from '@jest/globals';
import { accessForbidden } from '../../../src/kubernetes/access-forbidden.ts';
import type { AccessAttributes } from '../../../src/kubernetes/rbac.ts';
import { authorize, createStoredPolicy } from '../../access/policy.ts';
import { readExchange } from '../recorded.ts';
import { binding, role, storedObjects } from './stored-objects.ts';

type ResourceAttributes = AccessAttributes & { type: 'resource' };

function resource(attributes: Partial<ResourceAttributes>): ResourceAttributes {
  return { type: 'resource', verb: 'list', group: '', resource: 'secrets', subresource: '', name: '', namespace: '', ...attributes };
}

const alice = { name: 'alice', groups: ['team-a'] };

describe('accessForbidden', () => {
  it.each([
    ['resources', 'list-forbidden', 'alice', { namespace: 'lab' }],
    ['resources', 'delete-forbidden', 'alice', { verb: 'delete', namespace: 'lab', name: 's' }],
    ['token-requests', 'no-auth', 'system:anonymous', tokenRequest()],
    ['token-requests', 'forbidden', 'bob', tokenRequest()],
    ['token-requests', 'sa-encoded-slash', 'alice', { ...tokenRequest(), name: 'a', subresource: 'b' }],
  ] as const)('returns the error recorded in %s.json as %s', (file, name, user, attributes) => {
    const { body } = readExchange(file, name).response;
    expect(accessForbidden({ name: user }, resource(attributes), '').status).toEqual(JSON.parse(body));
  });

  it.each([
    [
      'a path',
      { type: 'path', verb: 'get', path: '/nope<b>&' } as const,
      '',
      'forbidden: User "alice" cannot get path "/nope&lt;b&gt;&amp;"',
      {},
    ],
    [
      'a group',
      resource({ group: 'g.io', resource: 'clusters' }),
      'RBAC: clusterrole.rbac.authorization.k8s.io "x" not found',
      'clusters.g.io is forbidden: User "alice" cannot list resource "clusters" in API group "g.io" at the cluster scope: RBAC: clusterrole.rbac.authorization.k8s.io "x" not found',
      { group: 'g.io', kind: 'clusters' },
    ],
    [
      'no resource',
      resource({ resource: '', name: 'builder', namespace: 'n' }),
      '',
      'forbidden: User "alice" cannot list resource "" in API group "" in the namespace "n"',
      { name: 'builder' },
    ],
  ])('returns the error for %s', (...[, attributes, reason, message, details]) => {
    expect(accessForbidden(alice, attributes, reason).status).toMatchObject({ message, details, code: 403, reason: 'Forbidden' });
  });
});

describe('authorize', () => {
  const reader = [{ apiGroups: [''], resources: ['secrets'], verbs: ['list'] }];
  const objects = [
    role('everywhere', reader),
    binding('everywhere', 'alice'),
    role('here', reader, 'lab'),
    binding('here', 'bob', { namespace: 'lab', roleKind: 'Role' }),
    binding('gone', 'bob'),
  ];
  const policy = createStoredPolicy(storedObjects(...objects));

  it.each([
    ['alice', '', true],
    ['alice', 'lab', true],
    ['bob', 'lab', true],
    ['bob', 'other', false],
    ['bob', '', false],
    ['carol', 'lab', false],
  ])('authorizes the user %s in the namespace "%s" by stored roles: %s', (name, namespace, isAllowed) => {
    const attempt = () => authorize({ name, groups: [] }, resource({ namespace }), policy);
    if (isAllowed) expect(attempt).not.toThrow();
    else expect(attempt).toThrow(`secrets is forbidden: User "${name}" cannot list resource "secrets" in API group ""`);
  });

  it('reports bound roles that do not exist', () => {
    expect(() => authorize({ name: 'bob', groups: [] }, resource({}), policy)).toThrow(
      'at the cluster scope: RBAC: clusterrole.rbac.authorization.k8s.io "gone" not found',
    );
  });
});

function tokenRequest(): Partial<ResourceAttributes> {
  return { verb: 'create', resource: 'serviceaccounts', subresource: 'token', name: 'builder', namespace: 'team-a' };
}
