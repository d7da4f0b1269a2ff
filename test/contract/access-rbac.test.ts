// Authorization by roles and bindings, and the messages of Forbidden responses.

import { beforeAll, describe, expect, it } from '@jest/globals';
import { eventually } from './eventually.ts';
import { createSender, outcome } from './requests.ts';
import { contractServer } from './server.ts';
import { create } from './world.ts';

const server = contractServer({ controllers: true });
const send = createSender(server);
const RBAC = '/apis/rbac.authorization.k8s.io/v1';
const NAMESPACE_PATH = '/api/v1/namespaces/rbac';

type Rule = Readonly<Record<string, readonly string[]>>;

const subject = (kind: 'User' | 'Group', name: string) => ({ apiGroup: 'rbac.authorization.k8s.io', kind, name });
const ALICE = subject('User', 'alice');

beforeAll(async () => {
  await create(server, '/api/v1/namespaces', { metadata: { name: 'rbac' } });
});

describe('RBAC rule', () => {
  const get = { verb: 'get' };
  const configMaps = { ...get, resource: 'configmaps' };
  const names: Rule = { apiGroups: [''], resources: ['configmaps'], resourceNames: ['one'], verbs: ['get', 'list', 'create'] };
  const subresources: Rule = { apiGroups: [''], resources: ['*/status', 'pods/log', 'nodes/*'], verbs: ['get'] };
  const everything: Rule = { apiGroups: ['*'], resources: ['*'], verbs: ['*'] };

  it.each([
    ['with a resourceName', names, { ...configMaps, name: 'one' }, true],
    ['with a resourceName', names, { ...configMaps, name: 'two' }, false],
    ['with a resourceName', names, { verb: 'list', resource: 'configmaps' }, false],
    ['with a resourceName', names, { verb: 'list', resource: 'configmaps', name: 'one' }, true],
    ['with a resourceName', names, { verb: 'create', resource: 'configmaps' }, false],
    ['for subresources', subresources, { ...get, resource: 'pods' }, false],
    ['for subresources', subresources, { ...get, resource: 'pods', subresource: 'log' }, true],
    ['for subresources', subresources, { ...get, resource: 'pods', subresource: 'exec' }, false],
    ['for subresources', subresources, { ...get, resource: 'services', subresource: 'status' }, true],
    ['for subresources', subresources, { ...get, resource: 'services', subresource: 'status', group: 'x' }, false],
    ['for subresources', subresources, { ...get, resource: 'nodes', subresource: 'log' }, false],
    ['for everything', everything, { verb: 'zap', resource: 'things', subresource: 'deep', group: 'any', name: 'x' }, true],
    ['for a resource', { apiGroups: [''], resources: ['configmaps'], verbs: ['get'] }, { ...configMaps, subresource: 'status' }, false],
  ])('evaluates a rule %s (%j) for %j: allowed is %s', async (_, rule, attributes, allowed) => {
    const user = await createUser(rule);
    const review = { spec: { user, resourceAttributes: attributes } };
    await waitUntilGranted(user, rule);
    const { body } = await send('/apis/authorization.k8s.io/v1/subjectaccessreviews', { body: review });
    expect(body['status']).toMatchObject({ allowed });
  });

  const paths: Rule = { nonResourceURLs: ['/exact', '/below/*', '/start*'], verbs: ['get'] };
  it.each([
    ['/exact', true],
    ['/exact/', false],
    ['/below', false],
    ['/below/', true],
    ['/below/a/b', true],
    ['/start', true],
    ['/starting', true],
    ['/else', false],
  ])('evaluates nonResourceURLs for %s: allowed is %s', async (path, allowed) => {
    const user = await createUser(paths);
    await waitUntilGranted(user, paths);
    const { body } = await send('/apis/authorization.k8s.io/v1/subjectaccessreviews', {
      body: { spec: { user, nonResourceAttributes: { verb: 'get', path } } },
    });
    expect(body['status']).toMatchObject({ allowed });
  });

  it.each([
    ['metadata.name=one', 200],
    ['metadata.name==one,metadata.namespace=rbac', 200],
    ['metadata.name=two', 403],
    ['metadata.name!=one', 403],
    ['', 403],
  ])('evaluates resourceNames for a list with the field selector %j: %d', async (selector, status) => {
    const user = await createUser(names);
    await waitUntilGranted(user, names);
    const query = selector === '' ? '' : `?fieldSelector=${encodeURIComponent(selector)}`;
    expect((await send(`${NAMESPACE_PATH}/configmaps${query}`, { headers: { 'impersonate-user': user } })).status).toBe(status);
  });
});

describe('Forbidden response', () => {
  const as = (user: string) => ({ 'impersonate-user': user });
  it.each([
    [
      'GET',
      `${NAMESPACE_PATH}/configmaps`,
      'configmaps is forbidden: User "x" cannot list resource "configmaps" in API group "" in the namespace "rbac"',
    ],
    [
      'GET',
      `${NAMESPACE_PATH}/configmaps?watch=1`,
      'configmaps is forbidden: User "x" cannot watch resource "configmaps" in API group "" in the namespace "rbac"',
    ],
    [
      'GET',
      `${NAMESPACE_PATH}/pods/p/log`,
      'pods "p" is forbidden: User "x" cannot get resource "pods/log" in API group "" in the namespace "rbac"',
    ],
    [
      'DELETE',
      `${NAMESPACE_PATH}/pods`,
      'pods is forbidden: User "x" cannot deletecollection resource "pods" in API group "" in the namespace "rbac"',
    ],
    [
      'GET',
      '/apis/a.b/v9/things?fieldSelector=metadata.name%3Dn',
      'things.a.b "n" is forbidden: User "x" cannot list resource "things" in API group "a.b" at the cluster scope',
    ],
    [
      'GET',
      '/api/v1/namespaces/n',
      'namespaces "n" is forbidden: User "x" cannot get resource "namespaces" in API group "" in the namespace "n"',
    ],
    ['GET', '/nowhere/<b>', 'forbidden: User "x" cannot get path "/nowhere/&lt;b&gt;"'],
    ['OPTIONS', `${NAMESPACE_PATH}/pods`, 'pods is forbidden: User "x" cannot  resource "pods" in API group "" in the namespace "rbac"'],
  ])('names the missing permission for %s %s', async (method, path, message) => {
    expect(outcome(await send(path, { method, headers: as('x') }))).toBe(`403 Forbidden: ${message}`);
  });

  it('names the bound roles that do not exist', async () => {
    await bind('ClusterRole', 'missing-1', [subject('User', 'lonely')]);
    await create(server, `${RBAC}/namespaces/rbac/rolebindings`, {
      metadata: { name: 'missing' },
      roleRef: { apiGroup: 'rbac.authorization.k8s.io', kind: 'Role', name: 'missing-2' },
      subjects: [subject('User', 'lonely')],
    });
    const rejection = (where: string, reason: string) =>
      `403 Forbidden: pods is forbidden: User "lonely" cannot list resource "pods" in API group "" ${where}: RBAC: ${reason}`;
    await eventually(async () => {
      const one = outcome(await send('/api/v1/pods', { headers: as('lonely') }));
      const two = outcome(await send(`${NAMESPACE_PATH}/pods`, { headers: as('lonely') }));
      expect(one).toBe(rejection('at the cluster scope', 'clusterrole.rbac.authorization.k8s.io "missing-1" not found'));
      expect(two).toBe(
        rejection(
          'in the namespace "rbac"',
          '[clusterrole.rbac.authorization.k8s.io "missing-1" not found, role.rbac.authorization.k8s.io "missing-2" not found]',
        ),
      );
    });
  });

  it('returns 403 and 401 before other errors of the same request', async () => {
    const broken = { as: server.tokens.bob, method: 'POST', headers: { accept: 'image/png', 'content-type': 'text/plain' }, body: '{' };
    expect((await send(`${NAMESPACE_PATH}/configmaps?dryRun=nonsense`, broken)).status).toBe(403);
    expect((await send(`${NAMESPACE_PATH}/configmaps?dryRun=nonsense`, { ...broken, as: 'unknown' })).status).toBe(401);
  });
});

describe('RBAC objects', () => {
  it('aggregates the rules of all selected ClusterRoles', async () => {
    const rule = (resource: string): Rule => ({ apiGroups: [''], resources: [resource], verbs: ['get'] });
    await create(server, `${RBAC}/clusterroles`, {
      metadata: { name: 'sum' },
      aggregationRule: { clusterRoleSelectors: [{ matchLabels: { part: 'of-sum' } }] },
      rules: [rule('nothing')],
    });
    await create(server, `${RBAC}/clusterroles`, {
      metadata: { name: 'part-b', labels: { part: 'of-sum' } },
      rules: [rule('secrets'), rule('pods')],
    });
    await create(server, `${RBAC}/clusterroles`, { metadata: { name: 'part-a', labels: { part: 'of-sum' } }, rules: [rule('pods')] });
    const rules = async () => (await send(`${RBAC}/clusterroles/sum`)).body['rules'];
    await eventually(async () => expect(await rules()).toEqual([rule('pods'), rule('secrets')]));
    await send(`${RBAC}/clusterroles/part-b`, { method: 'DELETE' });
    await eventually(async () => expect(await rules()).toEqual([rule('pods')]));
  });

  it('rejects applied rules of an aggregated ClusterRole, and keeps the rules of one that selects no role', async () => {
    const rule = (resource: string): Rule => ({ apiGroups: [''], resources: [resource], verbs: ['get'] });
    const selectPart = (part: string) => ({ clusterRoleSelectors: [{ matchLabels: { part } }] });
    const role = (name: string, rest: object) => ({ metadata: { name }, ...rest });
    await create(server, `${RBAC}/clusterroles`, role('lone', { aggregationRule: selectPart('of-nothing'), rules: [rule('nodes')] }));
    await create(server, `${RBAC}/clusterroles`, role('shared', { aggregationRule: selectPart('of-shared'), rules: [rule('nodes')] }));
    await create(server, `${RBAC}/clusterroles`, {
      metadata: { name: 'part-shared', labels: { part: 'of-shared' } },
      rules: [rule('pods')],
    });
    const rules = async (name: string) => (await send(`${RBAC}/clusterroles/${name}`)).body['rules'];
    await eventually(async () => expect(await rules('shared')).toEqual([rule('pods')]));
    const applied = { apiVersion: 'rbac.authorization.k8s.io/v1', kind: 'ClusterRole', ...role('shared', { rules: [] }) };
    const headers = { 'content-type': 'application/apply-patch+yaml' };
    expect(outcome(await send(`${RBAC}/clusterroles/shared?fieldManager=m`, { method: 'PATCH', headers, body: applied }))).toBe(
      '409 Conflict: Apply failed with 1 conflict: conflict with "clusterrole-aggregation-controller": .rules',
    );
    expect(await rules('lone')).toEqual([rule('nodes')]);
  });

  it.each([
    [
      'a rule without verbs',
      { rules: [{ apiGroups: [''], resources: ['pods'] }] },
      'rules[0].verbs: Required value: verbs must contain at least one value',
    ],
    [
      'a rule without groups',
      { rules: [{ resources: ['pods'], verbs: ['get'] }] },
      'rules[0].apiGroups: Required value: resource rules must supply at least one api group',
    ],
    [
      'a rule for both paths and resources',
      { rules: [{ apiGroups: [''], resources: ['pods'], nonResourceURLs: ['/x'], verbs: ['get'] }] },
      'rules[0].nonResourceURLs: Invalid value: ["/x"]: rules cannot apply to both regular resources and non-resource URLs',
    ],
  ])('rejects a ClusterRole with %s', async (_, content, problem) => {
    const { status, body } = await send(`${RBAC}/clusterroles`, { body: { metadata: { name: 'invalid' }, ...content } });
    expect([status, body.message]).toEqual([422, expect.stringContaining(problem)]);
  });

  it('rejects a change to the roleRef of a binding', async () => {
    await create(server, `${RBAC}/clusterrolebindings`, {
      metadata: { name: 'fixed' },
      roleRef: { apiGroup: 'rbac.authorization.k8s.io', kind: 'ClusterRole', name: 'view' },
    });
    const patch = { roleRef: { apiGroup: 'rbac.authorization.k8s.io', kind: 'ClusterRole', name: 'edit' } };
    const headers = { 'content-type': 'application/merge-patch+json' };
    expect(outcome(await send(`${RBAC}/clusterrolebindings/fixed`, { method: 'PATCH', headers, body: patch }))).toBe(
      '422 Invalid: ClusterRoleBinding.rbac.authorization.k8s.io "fixed" is invalid: roleRef: Invalid value: {"APIGroup":"rbac.authorization.k8s.io","Kind":"ClusterRole","Name":"edit"}: cannot change roleRef',
    );
  });
});

describe('ClusterRoleBinding', () => {
  it.each([
    ['to a user', ALICE, server.tokens.alice],
    ['to a group', subject('Group', 'team-a'), server.tokens.alice],
    ['to all authenticated users', subject('Group', 'system:authenticated'), server.tokens.bob],
    ['to anonymous callers', subject('Group', 'system:unauthenticated'), null],
  ])('grants access %s until the binding is deleted', async (_, subjectOfBinding, as) => {
    const role = await createRole({ apiGroups: [''], resources: ['nodes'], verbs: ['list'] });
    const path = '/api/v1/nodes';
    expect((await send(path, { as })).status).toBe(403);
    const name = await bind('ClusterRole', role, [subjectOfBinding]);
    await eventually(async () => expect((await send(path, { as })).status).toBe(200));
    await send(`${RBAC}/clusterrolebindings/${name}`, { method: 'DELETE' });
    await eventually(async () => expect((await send(path, { as })).status).toBe(403));
  });
});

let count = 0;

/** Creates a user with these rules in the whole cluster, and returns the name of the user. */
async function createUser(...rules: readonly Rule[]): Promise<string> {
  const role = await createRole(...rules);
  await bind('ClusterRole', role, [subject('User', `user-${role}`)]);
  return `user-${role}`;
}

async function createRole(...rules: readonly Rule[]): Promise<string> {
  count += 1;
  const name = `role-${count}`;
  await create(server, `${RBAC}/clusterroles`, { metadata: { name }, rules });
  return name;
}

async function bind(kind: string, role: string, subjects: readonly object[]): Promise<string> {
  count += 1;
  const name = `binding-${count}`;
  await create(server, `${RBAC}/clusterrolebindings`, {
    metadata: { name },
    roleRef: { apiGroup: 'rbac.authorization.k8s.io', kind, name: role },
    subjects,
  });
  return name;
}

/** Resolves when the server grants the first verb of a rule. */
async function waitUntilGranted(user: string, rule: Rule): Promise<void> {
  const first = (list: string) => rule[list]?.[0];
  const verb = first('verbs');
  const [resource, subresource] = first('resources')?.replace('*/', 'any/').split('/') ?? [];
  const attributes =
    resource === undefined
      ? { nonResourceAttributes: { verb, path: first('nonResourceURLs') } }
      : { resourceAttributes: { verb, group: first('apiGroups'), resource, subresource, name: first('resourceNames') } };
  await eventually(async () => {
    const { body } = await send('/apis/authorization.k8s.io/v1/subjectaccessreviews', { body: { spec: { user, ...attributes } } });
    expect(body['status']).toMatchObject({ allowed: true });
  });
}
