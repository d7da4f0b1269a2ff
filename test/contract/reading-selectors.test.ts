// Label selectors and field selectors: selected objects, and rejected selectors.

import { beforeAll, describe, expect, it } from '@jest/globals';
import { createAdmin, definition, messageOf } from './admin.ts';
import { contractServer } from './server.ts';

const server = contractServer();
const admin = createAdmin(server);
const NS = 'namespaces/selectors';
const MAPS = `/api/v1/${NS}/configmaps`;
const WIDGETS = `/apis/selectors.test/v1/${NS}/widgets`;
const RBAC = '/apis/rbac.authorization.k8s.io/v1';

beforeAll(async () => {
  await admin.create('/api/v1/namespaces', { metadata: { name: 'selectors', labels: { p: 'x' } } });
  const spec = { type: 'object', properties: { color: { type: 'string' }, size: { type: 'integer' }, round: { type: 'boolean' } } };
  const schema = { openAPIV3Schema: { type: 'object', properties: { spec } } };
  const selectableFields = ['color', 'size', 'round'].map((field) => ({ jsonPath: `.spec.${field}` }));
  const versions = [{ name: 'v1', served: true, storage: true, schema, selectableFields }];
  await admin.define(definition('selectors.test', 'Widget', 'Namespaced', versions), WIDGETS);
  await admin.define(
    definition('selectors.test', 'Globe', 'Cluster', [{ name: 'v1', served: true, storage: true, schema }]),
    '/apis/selectors.test/v1/globes',
  );
  const widget = (name: string, more: object, labels = {}) => ({
    apiVersion: 'selectors.test/v1',
    kind: 'Widget',
    metadata: { name, labels },
    ...more,
  });
  await admin.create(WIDGETS, widget('a', { spec: { color: 'red', size: 1, round: true } }, { env: 'prod', n: '5' }));
  await admin.create(WIDGETS, widget('b', { spec: { color: 'blue', size: 10 } }, { env: 'dev', n: '10' }));
  await admin.create(WIDGETS, widget('c', { spec: { round: false } }, { empty: '', n: 'many' }));
  await admin.create(WIDGETS, widget('d', {}));
  await admin.create('/apis/selectors.test/v1/globes', { apiVersion: 'selectors.test/v1', kind: 'Globe', metadata: { name: 'g' } });
  const labels = { p: 'x' };
  const basic = { username: 'u', password: 'p' };
  await admin.create(MAPS, { metadata: { name: 'm', labels } });
  await admin.create(`/api/v1/${NS}/secrets`, { metadata: { name: 's1', labels } });
  await admin.create(`/api/v1/${NS}/secrets`, { metadata: { name: 's2', labels }, type: 'kubernetes.io/basic-auth', stringData: basic });
  await admin.create(`${RBAC}/clusterroles`, { metadata: { name: 'selectors', labels } });
  await admin.create(`/api/v1/${NS}/events`, {
    metadata: { name: 'e1', labels },
    involvedObject: {
      apiVersion: 'v1',
      kind: 'Pod',
      name: 'p1',
      namespace: 'selectors',
      uid: 'abc',
      fieldPath: 'spec.x',
      resourceVersion: '7',
    },
    reason: 'Ran',
    message: 'm',
    type: 'Normal',
    source: { component: 'runner' },
  });
  await admin.create(`/api/v1/${NS}/events`, {
    metadata: { name: 'e2', labels },
    involvedObject: { kind: 'Pod', name: 'p2', namespace: 'selectors' },
    reason: 'Sat',
    message: 'n',
    type: 'Warning',
    action: 'sit',
    reportingComponent: 'sitter',
    reportingInstance: 'sitter-1',
    eventTime: '2026-01-01T00:00:00.123456Z',
  });
});

describe('label selector', () => {
  it.each([
    ['', 'abcd'],
    ['env', 'ab'],
    ['!env', 'cd'],
    ['env=prod', 'a'],
    ['env==prod', 'a'],
    ['env!=prod', 'bcd'],
    ['env in (prod,dev)', 'ab'],
    ['env notin (prod)', 'bcd'],
    ['env in (,prod)', 'a'],
    ['empty=', 'c'],
    ['empty in ()', 'c'],
    ['env!=', 'abcd'],
    ['n>5', 'b'],
    ['n<6', 'a'],
    ['n>0', 'ab'],
    ['env,n=5', 'a'],
    ['env=prod,env=dev', ''],
    [' env\t=\nprod ', 'a'],
    ['in notin (in)', 'abcd'],
  ])('uses the selector %j to select the objects %j', async (selector, expected) => {
    expect((await admin.names(`${WIDGETS}?labelSelector=${encodeURIComponent(selector)}`)).join('')).toBe(expected);
  });

  const NAME =
    "name part must consist of alphanumeric characters, '-', '_' or '.', and must start and end with an alphanumeric character " +
    "(e.g. 'MyName',  or 'my.name',  or '123-abc', regex used for validation is '([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9]')";

  it.each([
    ['=x', "found '=', expected: !, identifier, or 'end of string'"],
    [',env', "found ',', expected: !, identifier, or 'end of string'"],
    ['env,', "found '', expected: identifier after ','"],
    ['env=a b', "found 'b', expected: ',' or 'end of string'"],
    ['env===a', "unable to parse requirement: found '=', expected: identifier"],
    ['x y', "unable to parse requirement: found 'y', expected: in, notin, =, ==, !=, gt, lt"],
    ['!', "unable to parse requirement: found '', expected: identifier"],
    ['!!env', "unable to parse requirement: found '!', expected: identifier"],
    ['!env=prod', "found '=', expected: ',' or 'end of string'"],
    ['env in prod', "unable to parse requirement: found 'prod' expected: '('"],
    ['env in', "unable to parse requirement: found '' expected: '('"],
    ['env in (prod', "unable to parse requirement: found '', expected: ',' or ')'"],
    ['env in (a b)', "unable to parse requirement: found 'b', expected: ',' or ')'"],
    ['n>x', `unable to parse requirement: values[0]: Invalid value: "x": for 'Gt', 'Lt' operators, the value must be an integer`],
    ['-k=v', `unable to parse requirement: <nil>: Invalid value: "-k": ${NAME}`],
    [
      `${'k'.repeat(64)}=v`,
      `unable to parse requirement: <nil>: Invalid value: "${'k'.repeat(64)}": name part must be no more than 63 bytes`,
    ],
    [`k=${'v'.repeat(64)}`, `unable to parse requirement: values[0][k]: Invalid value: "${'v'.repeat(64)}": must be no more than 63 bytes`],
  ])('rejects the label selector %j', async (selector, message) => {
    for (const query of ['', '&watch=1']) {
      const response = await admin.get(`${WIDGETS}?labelSelector=${encodeURIComponent(selector)}${query}`);
      expect([response.status, messageOf(response)]).toEqual([400, message]);
    }
  });

  it('reports all errors of a label selector', async () => {
    const response = await admin.get(`${MAPS}?labelSelector=${encodeURIComponent('k in (-v,_w)')}`);
    expect(messageOf(response)).toMatch(/^unable to parse requirement: \[values\[0\]\[k\]: .*, values\[1\]\[k\]: .*\]$/);
  });
});

describe('field selector', () => {
  it.each([
    ['metadata.name=a', 'a'],
    ['metadata.name==a', 'a'],
    ['metadata.name!=a,metadata.name!=b', 'cd'],
    ['metadata.name=a,metadata.name=b', ''],
    ['metadata.namespace=selectors', 'abcd'],
    ['metadata.namespace=other', ''],
    ['spec.color=red', 'a'],
    ['spec.color!=red', 'bcd'],
    ['spec.color=', 'cd'],
    ['spec.size=10', 'b'],
    ['spec.round=true', 'a'],
    ['spec.round=false', 'c'],
    ['spec.round=', 'bd'],
    [',metadata.name=a,', 'a'],
    [String.raw`metadata.name=a\,b`, ''],
  ])('uses the selector %j to select the objects %j', async (selector, expected) => {
    expect((await admin.names(`${WIDGETS}?fieldSelector=${encodeURIComponent(selector)}`)).join('')).toBe(expected);
  });

  it.each([
    ['metadata.name', "invalid selector: 'metadata.name'; can't understand 'metadata.name'"],
    ['a,b=c', "invalid selector: 'a,b=c'; can't understand 'a'"],
    ['metadata.name=a=b', 'invalid field selector: unescaped character in value: 61'],
    [String.raw`metadata.name=\x`, String.raw`invalid field selector: invalid escape sequence: \x`],
    ['=x', 'field label not supported: '],
    ['spec.x=1,spec.a=2', 'field label not supported: spec.a'],
    ['metadata.labels=x', 'field label not supported: metadata.labels'],
  ])('rejects the field selector %j', async (selector, message) => {
    for (const query of ['', '&watch=1', '&resourceVersionMatch=']) {
      const response = await admin.get(`${WIDGETS}?fieldSelector=${encodeURIComponent(selector)}${query}`);
      expect([response.status, messageOf(response)]).toEqual([400, message]);
    }
  });

  it('reports errors of the label selector first, then of the field selector, then of options', async () => {
    const first = await admin.get(`${WIDGETS}?labelSelector=!&fieldSelector=x`);
    expect(messageOf(first)).toBe("unable to parse requirement: found '', expected: identifier");
    const second = await admin.get(`${WIDGETS}?fieldSelector=x&resourceVersionMatch=x`);
    expect(messageOf(second)).toBe("invalid selector: 'x'; can't understand 'x'");
    const third = await admin.get(`${WIDGETS}?fieldSelector=spec.x%3D1&resourceVersionMatch=Exact`);
    expect(third.status).toBe(422);
  });
});

describe('selectable fields', () => {
  const EVENTS = `/api/v1/${NS}/events`;

  it.each([
    [`/api/v1/${NS}/secrets`, 'type=Opaque', ['s1']],
    [`/api/v1/${NS}/secrets`, 'type!=Opaque', ['s2']],
    ['/api/v1/namespaces', 'status.phase=Active', ['selectors']],
    ['/api/v1/namespaces', 'status.phase!=Active', []],
    ['/apis/selectors.test/v1/globes', 'metadata.name=g', ['g']],
    [`${RBAC}/clusterroles`, 'metadata.namespace=', ['selectors']],
    [`${RBAC}/clusterroles`, 'metadata.namespace=x', []],
    ['/apis/apiextensions.k8s.io/v1/customresourcedefinitions', 'metadata.namespace=x', []],
    [EVENTS, 'involvedObject.kind=Pod', ['e1', 'e2']],
    [EVENTS, 'involvedObject.name=p1', ['e1']],
    [EVENTS, 'involvedObject.namespace=selectors', ['e1', 'e2']],
    [EVENTS, 'involvedObject.uid=abc', ['e1']],
    [EVENTS, 'involvedObject.apiVersion=v1', ['e1']],
    [EVENTS, 'involvedObject.resourceVersion=7', ['e1']],
    [EVENTS, 'involvedObject.fieldPath=spec.x', ['e1']],
    [EVENTS, 'reason=Sat', ['e2']],
    [EVENTS, 'reportingComponent=sitter', ['e2']],
    [EVENTS, 'source=runner', ['e1']],
    // The reporting component is the source of an event without a source.
    [EVENTS, 'source=sitter', ['e2']],
    [EVENTS, 'type=Warning', ['e2']],
  ])('selects objects at %s by %s', async (path, selector, expected) => {
    const labeled = path.includes('selectors.test') ? '' : '&labelSelector=p';
    expect(await admin.names(`${path}?fieldSelector=${encodeURIComponent(selector)}${labeled}`)).toEqual(expected);
  });

  const generic = (field: string) => `"${field}" is not a known field selector: only "metadata.name", "metadata.namespace"`;
  const named = (field: string) => `field label not supported: ${field}`;

  it.each([
    [MAPS, 'data.x', generic],
    [`/api/v1/${NS}/serviceaccounts`, 'type', generic],
    [`/apis/coordination.k8s.io/v1/${NS}/leases`, 'spec.holderIdentity', generic],
    [`${RBAC}/${NS}/roles`, 'rules', generic],
    [`${RBAC}/clusterrolebindings`, 'roleRef.name', generic],
    ['/apis/apiextensions.k8s.io/v1/customresourcedefinitions', 'spec.group', generic],
    [`/api/v1/${NS}/secrets`, 'data.x', named],
    ['/api/v1/namespaces', 'metadata.namespace', named],
    ['/api/v1/namespaces', 'spec.finalizers', named],
    [EVENTS, 'message', named],
    [EVENTS, 'regarding.name', named],
    ['/apis/selectors.test/v1/globes', 'metadata.namespace', named],
    ['/apis/selectors.test/v1/globes', 'spec.color', named],
  ])('rejects a selector at path %s with the field %s', async (path, field, text) => {
    const response = await admin.get(`${path}?fieldSelector=${field}%3Dx`);
    expect([response.status, messageOf(response)]).toEqual([400, text(field)]);
  });
});

describe('list of one object by name', () => {
  it.each([
    ['metadata.name=m', 'configmaps "m" is forbidden: User "bob" cannot list resource "configmaps"'],
    ['metadata.name!=m', 'configmaps is forbidden: User "bob" cannot list resource "configmaps"'],
    ['metadata.name=..', 'configmaps is forbidden: User "bob" cannot list resource "configmaps"'],
  ])('authorizes a list with the selector %s for the name that the selector requires, if any', async (selector, text) => {
    const response = await admin.get(`${MAPS}?fieldSelector=${encodeURIComponent(selector)}`, {
      authorization: `Bearer ${server.tokens.bob}`,
    });
    expect([response.status, messageOf(response)]).toEqual([403, `${text} in API group "" in the namespace "selectors"`]);
  });
});
