import { describe, expect, it } from '@jest/globals';
import { type AccessAttributes, decide } from '../../../src/kubernetes/rbac.ts';
import { createBootstrapPolicy } from '../../access/bootstrap-policy.ts';
import { createStoredPolicy } from '../../access/policy.ts';
import { storedObjects } from './stored-objects.ts';

const policy = createStoredPolicy(storedObjects(...createBootstrapPolicy()));
const path = (text: string, verb = 'get'): AccessAttributes => ({ type: 'path', verb, path: text });
const create = (group: string, resource: string): AccessAttributes => ({
  type: 'resource',
  verb: 'create',
  group,
  resource,
  subresource: '',
  name: '',
  namespace: '',
});

describe('createBootstrapPolicy', () => {
  it.each([
    ['system:unauthenticated', path('/version'), true],
    ['system:unauthenticated', path('/readyz'), true],
    ['system:unauthenticated', path('/apis'), false],
    ['system:unauthenticated', create('authorization.k8s.io', 'selfsubjectaccessreviews'), false],
    ['system:authenticated', path('/apis/rbac.authorization.k8s.io'), true],
    ['system:authenticated', path('/openapi/v3'), true],
    ['system:authenticated', path('/openapi/v3', 'post'), false],
    ['system:authenticated', path('/openid/v1/jwks'), false],
    ['system:authenticated', create('authentication.k8s.io', 'selfsubjectreviews'), true],
    ['system:authenticated', create('authentication.k8s.io', 'tokenreviews'), false],
    ['system:serviceaccounts', path('/.well-known/openid-configuration'), true],
    ['system:monitoring', path('/metrics'), true],
  ])('decides requests from the group %s: %j is allowed: %s', (group, attributes, allowed) => {
    expect(decide({ name: 'x', groups: [group] }, attributes, policy).allowed).toBe(allowed);
  });

  it('labels all objects as RBAC defaults', () => {
    const label = { 'kubernetes.io/bootstrapping': 'rbac-defaults' };
    for (const { metadata } of createBootstrapPolicy()) expect(metadata.labels).toMatchObject(label);
  });

  it('aggregates view into edit, and edit into admin', () => {
    const labelsOf = (name: string) => createBootstrapPolicy().find(({ metadata }) => metadata.name === name)?.metadata.labels;
    expect(labelsOf('view')).toMatchObject({ 'rbac.authorization.k8s.io/aggregate-to-edit': 'true' });
    expect(labelsOf('edit')).toMatchObject({ 'rbac.authorization.k8s.io/aggregate-to-admin': 'true' });
  });
});
