// Roles and bindings: allowed requests, and the messages of rejected ones.

import { beforeAll, describe, expect, it } from '@jest/globals';
import { eventually } from './eventually.ts';
import { outcome } from './objects.ts';
import { askOf } from './requests.ts';
import { contractServer } from './server.ts';

const server = contractServer({ controllers: true });
const ask = askOf(server);
const RBAC = '/apis/rbac.authorization.k8s.io/v1';
const HERE = '/api/v1/namespaces/rbac';

type Rule = Readonly<Record<string, readonly string[]>>;

const subject = (kind: 'User' | 'Group', name: string) => ({ apiGroup: 'rbac.authorization.k8s.io', kind, name });
const ALICE = subject('User', 'alice');

beforeAll(async () => {
  await make('/api/v1/namespaces', { metadata: { name: 'rbac' } });
}, 60_000);

describe('a rule', () => {
  const get = { verb: 'get' };
  const configMaps = { ...get, resource: 'configmaps' };
  const names: Rule = { apiGroups: [''], resources: ['configmaps'], resourceNames: ['one'], verbs: ['get', 'list', 'create'] };
  const subresources: Rule = { apiGroups: [''], resources: ['*/status', 'pods/log', 'nodes/*'], verbs: ['get'] };
  const everything: Rule = { apiGroups: ['*'], resources: ['*'], verbs: ['*'] };

  it.each([
    ['with a name', names, { ...configMaps, name: 'one' }, true],
    ['with a name', names, { ...configMaps, name: 'two' }, false],
    ['with a name', names, { verb: 'list', resource: 'configmaps' }, false],
    ['with a name', names, { verb: 'list', resource: 'configmaps', name: 'one' }, true],
    ['with a name', names, { verb: 'create', resource: 'configmaps' }, false],
    ['of subresources', subresources, { ...get, resource: 'pods' }, false],
    ['of subresources', subresources, { ...get, resource: 'pods', subresource: 'log' }, true],
    ['of subresources', subresources, { ...get, resource: 'pods', subresource: 'exec' }, false],
    ['of subresources', subresources, { ...get, resource: 'services', subresource: 'status' }, true],
    ['of subresources', subresources, { ...get, resource: 'services', subresource: 'status', group: 'x' }, false],
    ['of subresources', subresources, { ...get, resource: 'nodes', subresource: 'log' }, false],
    ['of everything', everything, { verb: 'zap', resource: 'things', subresource: 'deep', group: 'any', name: 'x' }, true],
    ['of a resource', { apiGroups: [''], resources: ['configmaps'], verbs: ['get'] }, { ...configMaps, subresource: 'status' }, false],
  ])('%s (%j) about %j: %s', async (_, rule, attributes, allowed) => {
    const who = await grantee(rule);
    const review = { spec: { user: who, resourceAttributes: attributes } };
    await settled(who, rule);
    const { body } = await ask('/apis/authorization.k8s.io/v1/subjectaccessreviews', { body: review });
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
  ])('of paths about %s: %s', async (path, allowed) => {
    const who = await grantee(paths);
    await settled(who, paths);
    const { body } = await ask('/apis/authorization.k8s.io/v1/subjectaccessreviews', {
      body: { spec: { user: who, nonResourceAttributes: { verb: 'get', path } } },
    });
    expect(body['status']).toMatchObject({ allowed });
  });

  it.each([
    ['metadata.name=one', 200],
    ['metadata.name==one,metadata.namespace=rbac', 200],
    ['metadata.name=two', 403],
    ['metadata.name!=one', 403],
    ['', 403],
  ])('with a name lets a list be selected by %j: %d', async (selector, status) => {
    const who = await grantee(names);
    await settled(who, names);
    const query = selector === '' ? '' : `?fieldSelector=${encodeURIComponent(selector)}`;
    expect((await ask(`${HERE}/configmaps${query}`, { headers: { 'impersonate-user': who } })).status).toBe(status);
  });
});

describe('a Forbidden response', () => {
  const as = (user: string) => ({ 'impersonate-user': user });
  it.each([
    [
      'GET',
      `${HERE}/configmaps`,
      'configmaps is forbidden: User "x" cannot list resource "configmaps" in API group "" in the namespace "rbac"',
    ],
    [
      'GET',
      `${HERE}/configmaps?watch=1`,
      'configmaps is forbidden: User "x" cannot watch resource "configmaps" in API group "" in the namespace "rbac"',
    ],
    ['GET', `${HERE}/pods/p/log`, 'pods "p" is forbidden: User "x" cannot get resource "pods/log" in API group "" in the namespace "rbac"'],
    [
      'DELETE',
      `${HERE}/pods`,
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
    ['OPTIONS', `${HERE}/pods`, 'pods is forbidden: User "x" cannot  resource "pods" in API group "" in the namespace "rbac"'],
  ])('names the missing permission for %s %s', async (method, path, message) => {
    expect(outcome(await ask(path, { method, headers: as('x') }))).toBe(`403 Forbidden: ${message}`);
  });

  it('names bound roles that do not exist', async () => {
    await bind('ClusterRole', 'missing-1', [subject('User', 'lonely')]);
    await make(`${RBAC}/namespaces/rbac/rolebindings`, {
      metadata: { name: 'missing' },
      roleRef: { apiGroup: 'rbac.authorization.k8s.io', kind: 'Role', name: 'missing-2' },
      subjects: [subject('User', 'lonely')],
    });
    const refusal = (where: string, reason: string) =>
      `403 Forbidden: pods is forbidden: User "lonely" cannot list resource "pods" in API group "" ${where}: RBAC: ${reason}`;
    await eventually(async () => {
      const one = outcome(await ask('/api/v1/pods', { headers: as('lonely') }));
      const two = outcome(await ask(`${HERE}/pods`, { headers: as('lonely') }));
      expect(one).toBe(refusal('at the cluster scope', 'clusterrole.rbac.authorization.k8s.io "missing-1" not found'));
      expect(two).toBe(
        refusal(
          'in the namespace "rbac"',
          '[clusterrole.rbac.authorization.k8s.io "missing-1" not found, role.rbac.authorization.k8s.io "missing-2" not found]',
        ),
      );
    });
  });

  it('precedes all other errors of a request', async () => {
    const broken = { as: server.tokens.bob, method: 'POST', headers: { accept: 'image/png', 'content-type': 'text/plain' }, body: '{' };
    expect((await ask(`${HERE}/configmaps?dryRun=nonsense`, broken)).status).toBe(403);
    expect((await ask(`${HERE}/configmaps?dryRun=nonsense`, { ...broken, as: 'unknown' })).status).toBe(401);
  });
});

describe('an RBAC object', () => {
  it('aggregates the rules of all selected roles', async () => {
    const rule = (resource: string): Rule => ({ apiGroups: [''], resources: [resource], verbs: ['get'] });
    await make(`${RBAC}/clusterroles`, {
      metadata: { name: 'sum' },
      aggregationRule: { clusterRoleSelectors: [{ matchLabels: { part: 'of-sum' } }] },
      rules: [rule('nothing')],
    });
    await make(`${RBAC}/clusterroles`, {
      metadata: { name: 'part-b', labels: { part: 'of-sum' } },
      rules: [rule('secrets'), rule('pods')],
    });
    await make(`${RBAC}/clusterroles`, { metadata: { name: 'part-a', labels: { part: 'of-sum' } }, rules: [rule('pods')] });
    const rules = async () => (await ask(`${RBAC}/clusterroles/sum`)).body['rules'];
    await eventually(async () => expect(await rules()).toEqual([rule('pods'), rule('secrets')]));
    await ask(`${RBAC}/clusterroles/part-b`, { method: 'DELETE' });
    await eventually(async () => expect(await rules()).toEqual([rule('pods')]));
  });

  it('owns aggregated rules, and keeps its own without selected roles', async () => {
    const rule = (resource: string): Rule => ({ apiGroups: [''], resources: [resource], verbs: ['get'] });
    const selecting = (part: string) => ({ clusterRoleSelectors: [{ matchLabels: { part } }] });
    const role = (name: string, rest: object) => ({ metadata: { name }, ...rest });
    await make(`${RBAC}/clusterroles`, role('lone', { aggregationRule: selecting('of-nothing'), rules: [rule('nodes')] }));
    await make(`${RBAC}/clusterroles`, role('shared', { aggregationRule: selecting('of-shared'), rules: [rule('nodes')] }));
    await make(`${RBAC}/clusterroles`, { metadata: { name: 'part-shared', labels: { part: 'of-shared' } }, rules: [rule('pods')] });
    const rules = async (name: string) => (await ask(`${RBAC}/clusterroles/${name}`)).body['rules'];
    await eventually(async () => expect(await rules('shared')).toEqual([rule('pods')]));
    const applied = { apiVersion: 'rbac.authorization.k8s.io/v1', kind: 'ClusterRole', ...role('shared', { rules: [] }) };
    const headers = { 'content-type': 'application/apply-patch+yaml' };
    expect(outcome(await ask(`${RBAC}/clusterroles/shared?fieldManager=m`, { method: 'PATCH', headers, body: applied }))).toBe(
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
      'a rule about paths and resources',
      { rules: [{ apiGroups: [''], resources: ['pods'], nonResourceURLs: ['/x'], verbs: ['get'] }] },
      'rules[0].nonResourceURLs: Invalid value: ["/x"]: rules cannot apply to both regular resources and non-resource URLs',
    ],
  ])('rejects %s', async (_, content, problem) => {
    const { status, body } = await ask(`${RBAC}/clusterroles`, { body: { metadata: { name: 'invalid' }, ...content } });
    expect([status, body.message]).toEqual([422, expect.stringContaining(problem)]);
  });

  it('rejects a change of roleRef', async () => {
    await make(`${RBAC}/clusterrolebindings`, {
      metadata: { name: 'fixed' },
      roleRef: { apiGroup: 'rbac.authorization.k8s.io', kind: 'ClusterRole', name: 'view' },
    });
    const patch = { roleRef: { apiGroup: 'rbac.authorization.k8s.io', kind: 'ClusterRole', name: 'edit' } };
    const headers = { 'content-type': 'application/merge-patch+json' };
    expect(outcome(await ask(`${RBAC}/clusterrolebindings/fixed`, { method: 'PATCH', headers, body: patch }))).toBe(
      '422 Invalid: ClusterRoleBinding.rbac.authorization.k8s.io "fixed" is invalid: roleRef: Invalid value: {"APIGroup":"rbac.authorization.k8s.io","Kind":"ClusterRole","Name":"edit"}: cannot change roleRef',
    );
  });
});

describe('a binding', () => {
  it.each([
    ['of a user', ALICE, server.tokens.alice],
    ['of a group', subject('Group', 'team-a'), server.tokens.alice],
    ['of everybody', subject('Group', 'system:authenticated'), server.tokens.bob],
    ['of nobody in particular', subject('Group', 'system:unauthenticated'), null],
  ])('grants access %s until it is deleted', async (_, who, as) => {
    const role = await roleWith({ apiGroups: [''], resources: ['nodes'], verbs: ['list'] });
    const path = '/api/v1/nodes';
    expect((await ask(path, { as })).status).toBe(403);
    const name = await bind('ClusterRole', role, [who]);
    await eventually(async () => expect((await ask(path, { as })).status).toBe(200));
    await ask(`${RBAC}/clusterrolebindings/${name}`, { method: 'DELETE' });
    await eventually(async () => expect((await ask(path, { as })).status).toBe(403));
  });
});

let count = 0;

/** A new user who holds these rules everywhere. */
async function grantee(...rules: readonly Rule[]): Promise<string> {
  const role = await roleWith(...rules);
  await bind('ClusterRole', role, [subject('User', `user-${role}`)]);
  return `user-${role}`;
}

async function roleWith(...rules: readonly Rule[]): Promise<string> {
  count += 1;
  const name = `role-${count}`;
  await make(`${RBAC}/clusterroles`, { metadata: { name }, rules });
  return name;
}

async function bind(kind: string, role: string, subjects: readonly object[]): Promise<string> {
  count += 1;
  const name = `binding-${count}`;
  await make(`${RBAC}/clusterrolebindings`, {
    metadata: { name },
    roleRef: { apiGroup: 'rbac.authorization.k8s.io', kind, name: role },
    subjects,
  });
  return name;
}

/** Resolves once the server knows of a grant. */
async function settled(user: string, rule: Rule): Promise<void> {
  const first = (list: string) => rule[list]?.[0];
  const verb = first('verbs');
  const [resource, subresource] = first('resources')?.replace('*/', 'any/').split('/') ?? [];
  const attributes =
    resource === undefined
      ? { nonResourceAttributes: { verb, path: first('nonResourceURLs') } }
      : { resourceAttributes: { verb, group: first('apiGroups'), resource, subresource, name: first('resourceNames') } };
  await eventually(async () => {
    const { body } = await ask('/apis/authorization.k8s.io/v1/subjectaccessreviews', { body: { spec: { user, ...attributes } } });
    expect(body['status']).toMatchObject({ allowed: true });
  });
}

async function make(path: string, body: object): Promise<void> {
  const answer = await ask(path, { body });
  if (answer.status !== 201) throw new Error(`POST ${path} answered ${JSON.stringify(answer)}`);
}
