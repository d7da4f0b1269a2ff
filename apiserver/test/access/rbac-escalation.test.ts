import { describe, expect, it } from '@jest/globals';
import * as fc from 'fast-check';
import { type AccessAttributes, type PolicyRule, ruleAllows } from '../../../src/kubernetes/rbac.ts';
import { escalation, uncovered } from '../../access/rbac-escalation.ts';

const owned: readonly PolicyRule[] = [
  { apiGroups: [''], resources: ['pods', '*/scale'], verbs: ['get', 'list'] },
  { apiGroups: [''], resources: ['secrets'], resourceNames: ['a'], verbs: ['get'] },
  { nonResourceURLs: ['/healthz*'], verbs: ['get'] },
];

describe('uncovered', () => {
  it.each<[string, PolicyRule]>([
    ['the same', { apiGroups: [''], resources: ['pods'], verbs: ['get', 'list'] }],
    ['a single name of what is held for all', { apiGroups: [''], resources: ['pods'], resourceNames: ['x'], verbs: ['get'] }],
    ['a subresource held for every resource', { apiGroups: [''], resources: ['deployments/scale'], verbs: ['get'] }],
    ['a name that is held', { apiGroups: [''], resources: ['secrets'], resourceNames: ['a'], verbs: ['get'] }],
    ['a path below a held prefix', { nonResourceURLs: ['/healthz/etcd', '/healthz/*'], verbs: ['get'] }],
    ['a rule that allows nothing', { apiGroups: [''], resources: ['nodes'], verbs: [] }],
  ])('is empty for %s', (_name, wanted) => {
    expect(uncovered(owned, [wanted])).toEqual([]);
  });

  it.each<[string, PolicyRule]>([
    ['another verb', { apiGroups: [''], resources: ['pods'], verbs: ['watch'] }],
    ['every verb', { apiGroups: [''], resources: ['pods'], verbs: ['*'] }],
    ['another group', { apiGroups: ['apps'], resources: ['pods'], verbs: ['get'] }],
    ['every resource', { apiGroups: [''], resources: ['*'], verbs: ['get'] }],
    ['all names where one is held', { apiGroups: [''], resources: ['secrets'], verbs: ['get'] }],
    ['another name', { apiGroups: [''], resources: ['secrets'], resourceNames: ['b'], verbs: ['get'] }],
    ['another path', { nonResourceURLs: ['/metrics'], verbs: ['get'] }],
  ])('is the rule itself for %s', (_name, wanted) => {
    expect(uncovered(owned, [wanted])).toEqual([wanted]);
  });

  it('joins the verbs that are missing for one resource', () => {
    const wanted = [
      { apiGroups: [''], resources: ['pods', 'nodes'], verbs: ['get', 'watch'] },
      { apiGroups: [''], resources: ['pods'], verbs: ['delete'] },
    ];
    expect(uncovered(owned, wanted)).toEqual([
      { apiGroups: [''], resources: ['pods'], verbs: ['watch', 'delete'] },
      { apiGroups: [''], resources: ['nodes'], verbs: ['get', 'watch'] },
    ]);
  });

  const few = <T>(...values: readonly T[]) => fc.subarray([...values], { minLength: 1 });
  const rule: fc.Arbitrary<PolicyRule> = fc.oneof(
    fc.record(
      {
        apiGroups: few('', 'apps', '*'),
        resources: few('pods', 'pods/log', '*/log', '*'),
        verbs: few('get', 'list', '*'),
        resourceNames: few('a', 'b'),
      },
      { requiredKeys: ['apiGroups', 'resources', 'verbs'] },
    ),
    fc.record({ nonResourceURLs: few('/a', '/a/*', '/b*', '*'), verbs: few('get', '*') }),
  );
  const rules = fc.array(rule, { maxLength: 4 });
  const attributes: fc.Arbitrary<AccessAttributes> = fc.oneof(
    fc.record({
      type: fc.constant('resource' as const),
      verb: fc.constantFrom('get', 'list', 'delete'),
      group: fc.constantFrom('', 'apps', 'batch'),
      resource: fc.constantFrom('pods', 'jobs'),
      subresource: fc.constantFrom('', 'log', 'scale'),
      name: fc.constantFrom('', 'a', 'c'),
      namespace: fc.constant(''),
    }),
    fc.record({
      type: fc.constant('path' as const),
      verb: fc.constantFrom('get', 'post'),
      path: fc.constantFrom('/a', '/a/x', '/b', '/c'),
    }),
  );

  it('never lets anything through that is not held', () => {
    fc.assert(
      fc.property(rules, rules, attributes, (held, wanted, request) => {
        const allows = (list: readonly PolicyRule[]) => list.some((each) => ruleAllows(each, request));
        if (uncovered(held, wanted).length === 0 && allows(wanted)) expect(allows(held)).toBe(true);
      }),
      { numRuns: 2000 },
    );
  });

  it('is what must be added in order to cover everything', () => {
    fc.assert(
      fc.property(rules, rules, (held, wanted) => {
        expect(uncovered([...held, ...uncovered(held, wanted)], wanted)).toEqual([]);
        expect(uncovered([...held, ...wanted], wanted)).toEqual([]);
      }),
    );
  });
});

describe('escalation', () => {
  const held = { rules: owned, missing: [], errors: [] };

  it('is no problem for what is held', () => {
    expect(escalation({ name: 'u', groups: [] }, held, owned, 'clusterroles')).toBeUndefined();
  });

  it('lists what is missing, sorted', () => {
    const wanted: readonly PolicyRule[] = [
      { nonResourceURLs: ['/healthz/x', '/metrics', '/metrics'], verbs: ['get', 'post'] },
      { apiGroups: ['', 'apps'], resources: ['pods', 'deployments/scale', 'secrets'], verbs: ['get', 'list', 'watch', 'get'] },
      { apiGroups: [''], resources: ['secrets'], resourceNames: ['a', 'b'], verbs: ['get', 'update'] },
    ];
    expect(escalation({ name: 'w', groups: ['system:authenticated'] }, held, wanted, 'clusterroles')).toBe(
      `user "w" (groups=["system:authenticated"]) is attempting to grant RBAC permissions not currently held:
{APIGroups:[""], Resources:["deployments/scale"], Verbs:["watch"]}
{APIGroups:[""], Resources:["pods"], Verbs:["watch"]}
{APIGroups:[""], Resources:["secrets"], ResourceNames:["a"], Verbs:["update"]}
{APIGroups:[""], Resources:["secrets"], ResourceNames:["b"], Verbs:["get" "update"]}
{APIGroups:[""], Resources:["secrets"], Verbs:["get" "list" "watch" "get"]}
{APIGroups:["apps"], Resources:["deployments/scale"], Verbs:["get" "list" "watch" "get"]}
{APIGroups:["apps"], Resources:["pods"], Verbs:["get" "list" "watch" "get"]}
{APIGroups:["apps"], Resources:["secrets"], Verbs:["get" "list" "watch" "get"]}
{NonResourceURLs:["/healthz/x"], Verbs:["post"]}
{NonResourceURLs:["/metrics"], Verbs:["get"]}
{NonResourceURLs:["/metrics"], Verbs:["post"]}`,
    );
  });

  it('adds the roles that could not be found, under the name of the resource that is written', () => {
    const missing = [
      { kind: 'ClusterRole', name: 'gone' },
      { kind: 'Role', name: 'lost' },
    ];
    const wanted = [{ apiGroups: [''], resources: ['nodes'], verbs: ['get'] }];
    expect(escalation({ name: 'u', groups: ['a', 'b'] }, { ...held, missing }, wanted, 'rolebindings')).toBe(
      'user "u" (groups=["a" "b"]) is attempting to grant RBAC permissions not currently held:\n' +
        '{APIGroups:[""], Resources:["nodes"], Verbs:["get"]}; resolution errors: ' +
        '[[rolebindings.rbac.authorization.k8s.io "gone" not found, rolebindings.rbac.authorization.k8s.io "lost" not found]]',
    );
  });
});
