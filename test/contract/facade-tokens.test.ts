// The façade before a server that behaves as Kubernetes does: what clients see of it, beside what was recorded.

import { beforeAll, describe, expect, it } from '@jest/globals';
import { CoreV1Api, KubeConfig } from '@kubernetes/client-node';
import type { ApiRequest } from '../support/api-request.ts';
import { eventually } from './eventually.ts';
import { CLUSTER, contractFacade } from './facade.ts';
import { contractServer } from './server.ts';
import { createTokenWorld, withoutManagedFields } from './token-world.ts';
import { create, isAllowed } from './world.ts';

const server = contractServer({ issuer: 'https://hub.test' });
beforeAll(() => createTokenWorld(server), 60_000);
const facade = contractFacade(server);

const PATH = '/api/v1/namespaces/team-a/serviceaccounts/builder/token';
const bearing = (token: string, more: ApiRequest = {}) =>
  facade.request('POST', `/orchestrator/${CLUSTER}${PATH}`, {
    body: '{"spec":{"audiences":["x"]}}',
    ...more,
    headers: { authorization: `Bearer ${token}`, ...more.headers },
  });

/** A token of the account, as the hub itself knows it. */
async function hubToken(audiences: readonly string[] = []): Promise<string> {
  const { body } = await server.request('POST', PATH, {
    headers: { authorization: `Bearer ${server.tokens.admin}`, 'content-type': 'application/json' },
    body: JSON.stringify({ spec: { audiences } }),
  });
  return (JSON.parse(body) as { status: { token: string } }).status.token;
}

/** What must differ between two answers is blanked out. */
function comparable(body: string): string {
  return (
    withoutManagedFields(body)
      .replace(/eyJ[\w-]+\.[\w-]+\.[\w-]+/g, 'TOKEN')
      .replace(/\d{4}-\d\d-\d\dT\d\d:\d\d:\d\dZ/g, 'TIME')
      // Where the scheme is declared depends on how the server was built.
      .replace(/scheme \\"[^"]*"/, 'SCHEME')
  );
}

describe('what nobody recorded', () => {
  const spec = { audiences: ['x', 'y', 'x'], expirationSeconds: 7200 };
  const text = (object: object) => JSON.stringify(object);
  it.each<readonly [string, string, ApiRequest]>([
    ['several audiences', '', { body: text({ spec }) }],
    ['an empty audience', '', { body: text({ spec: { audiences: ['', '<&>\u2028é'] } }) }],
    [
      'metadata',
      '',
      {
        body: text({
          metadata: {
            generateName: 'g-',
            labels: { a: 'b', 'c/d': 'e' },
            annotations: { x: 'y' },
            finalizers: ['f/g'],
            resourceVersion: '7',
          },
          spec,
        }),
      },
    ],
    [
      'owners and managed fields',
      '',
      {
        body: text({
          metadata: { ownerReferences: [{ apiVersion: 'v1', kind: 'Pod', name: 'p', uid: 'u' }], managedFields: [{ manager: 'm' }] },
          spec,
        }),
      },
    ],
    ['its own name', '', { body: text({ metadata: { name: 'builder', namespace: 'team-a' }, spec }) }],
    ['a binding by kind alone', '', { body: text({ spec: { ...spec, boundObjectRef: { kind: 'Secret', name: 'bindme' } } }) }],
    [
      'a binding of another version',
      '',
      { body: text({ spec: { ...spec, boundObjectRef: { kind: 'Pod', apiVersion: 'v9', name: 'web' } } }) },
    ],
    [
      'a binding of another group',
      '',
      { body: text({ spec: { ...spec, boundObjectRef: { kind: 'Pod', apiVersion: 'apps/v1', name: 'web' } } }) },
    ],
    [
      'a binding to a bad name',
      '',
      { body: text({ spec: { ...spec, boundObjectRef: { kind: 'Secret', apiVersion: 'v1', name: '../x' } } }) },
    ],
    [
      'a lifetime and a binding that are wrong',
      '',
      { body: text({ spec: { ...spec, expirationSeconds: 1, boundObjectRef: { kind: 'Secret', name: 'ghost' } } }) },
    ],
    ['a name and a lifetime that are wrong', '', { body: text({ metadata: { name: 'nope' }, spec: { ...spec, expirationSeconds: 1 } }) }],
    ['a wrong UID and a wrong lifetime', '', { body: text({ metadata: { uid: 'u' }, spec: { ...spec, expirationSeconds: 1 } }) }],
    [
      'YAML both ways',
      '',
      { headers: { 'content-type': 'application/yaml', accept: 'application/yaml' }, body: 'spec:\n  audiences: [x]\n  unknown: 1\n' },
    ],
    ['an indented answer', '?pretty=true', { body: text({ spec }) }],
    ['an indented refusal', '', { headers: { 'user-agent': 'curl/8' }, body: '{' }],
    [
      'unknown fields at every level',
      '?fieldValidation=Strict',
      {
        body: '{"a":1,"metadata":{"b":2,"labels":{"c":"d","c":"e"}},"spec":{"audiences":["x"],"boundObjectRef":{"kind":"Secret","name":"bindme","f":1}},"status":{"g":1}}',
      },
    ],
    ['a status of the wrong type', '', { body: '{"spec":{"audiences":["x"]},"status":{"expirationTimestamp":5}}' }],
    [
      'null everywhere',
      '',
      { body: '{"metadata":null,"spec":{"audiences":["x"],"expirationSeconds":null,"boundObjectRef":null},"status":null}' },
    ],
    ['a Pod', '', { body: text({ apiVersion: 'v1', kind: 'Pod' }) }],
    ['a list of Deployments', '', { body: text({ apiVersion: 'apps/v1', kind: 'DeploymentList' }) }],
    ['a Deployment of another version', '', { body: text({ apiVersion: 'apps/v1beta9', kind: 'Deployment' }) }],
    ['an unsatisfiable Accept', '', { headers: { accept: 'application/xml' }, body: text({ spec }) }],
    [
      'a Table, or else JSON',
      '',
      { headers: { accept: 'application/json;as=Table;v=v1;g=meta.k8s.io,application/json' }, body: text({ spec }) },
    ],
    ['bad options', '?dryRun=x&fieldManager=%01&fieldValidation=y', { body: text({ spec }) }],
    ['a bad timeout', '?timeout=abc', { body: text({ spec }) }],
    ['a timeout', '?timeout=5s', { body: text({ spec }) }],
    ['a body that is too large', '', { body: ' '.repeat((3 << 20) + 1) }],
  ])('is answered as by the target: %s', async (_name, query, { headers, body }) => {
    const all = { authorization: `Bearer ${server.tokens.admin}`, 'content-type': 'application/json', ...headers };
    const request = { headers: all, ...(body !== undefined && { body }) };
    const direct = await server.request('POST', `${PATH}${query}`, request);
    const ours = await facade.request('POST', `/orchestrator/${CLUSTER}${PATH}${query}`, request);
    const shown = (answer: typeof ours) => ({
      status: answer.status,
      type: answer.headers['content-type'],
      warning: answer.headers['warning'],
      body: comparable(answer.body),
    });
    expect(shown(ours)).toEqual(shown(direct));
  });
});

describe('callers', () => {
  beforeAll(async () => {
    const roleRef = { apiGroup: 'rbac.authorization.k8s.io', kind: 'ClusterRole', name: 'issuer' };
    const subjects = [{ kind: 'ServiceAccount', namespace: 'team-a', name: 'builder' }];
    const metadata = { name: 'builder-issues' };
    await create(server, '/apis/rbac.authorization.k8s.io/v1/clusterrolebindings', {
      apiVersion: 'rbac.authorization.k8s.io/v1',
      kind: 'ClusterRoleBinding',
      metadata,
      roleRef,
      subjects,
    });
    const issuing = { verb: 'issue', group: 'registry.purser.dev', resource: 'clusters', subresource: 'token', name: CLUSTER };
    await eventually(() => isAllowed(server, 'system:serviceaccount:team-a:builder', issuing));
  });

  it('are known by a token that was issued for the hub', async () => {
    expect((await bearing(await hubToken())).status).toBe(201);
  });

  it('are not known by a token for others', async () => {
    expect((await bearing(await hubToken(['https://elsewhere.test']))).status).toBe(401);
  });

  it.each<readonly [string, (token: string) => string]>([
    ['no algorithm', (token) => `${encoded({ alg: 'none' })}.${token.split('.')[1]}.`],
    ['another issuer', (token) => changed(token, { iss: 'https://evil.test' })],
    ['another account', (token) => changed(token, { sub: 'system:serviceaccount:kube-system:admin' })],
    ['a flipped bit', (token) => token.replace(/.(?=.{20}$)/, (char) => (char === 'A' ? 'B' : 'A'))],
  ])('are not known by a forged token: %s', async (_case, forge) => {
    expect((await bearing(forge(await hubToken()))).status).toBe(401);
  });

  it('use the official JavaScript client', async () => {
    const config = new KubeConfig();
    config.loadFromOptions({
      clusters: [{ name: 'c', server: `${facade.url}/orchestrator/${CLUSTER}`, caData: Buffer.from(facade.ca).toString('base64') }],
      users: [{ name: 'u', token: server.tokens.alice }],
      contexts: [{ name: 'x', cluster: 'c', user: 'u' }],
      currentContext: 'x',
    });
    const body = { apiVersion: 'authentication.k8s.io/v1', kind: 'TokenRequest', spec: { audiences: ['x'], expirationSeconds: 900 } };
    const { spec, status } = await config
      .makeApiClient(CoreV1Api)
      .createNamespacedServiceAccountToken({ namespace: 'team-a', name: 'builder', body });
    expect(spec).toMatchObject({ audiences: ['x'], expirationSeconds: 900 });
    expect(status?.token).toMatch(/^eyJ/);
  });
});

describe('a dry run', () => {
  const rehearsed = (body: object, path = PATH) =>
    facade.request('POST', `/orchestrator/${CLUSTER}${path}?dryRun=All`, {
      headers: { authorization: `Bearer ${server.tokens.alice}`, 'content-type': 'application/json' },
      body: JSON.stringify(body),
    });

  const bound = (kind: string, name: string) => ({ spec: { audiences: ['x'], boundObjectRef: { kind, apiVersion: 'v1', name } } });
  it.each([
    ['a missing Secret', bound('Secret', 'ghost'), { code: 404, message: 'secrets "ghost" not found' }],
    ['a Pod of another account', bound('Pod', 'other'), { code: 400, message: expect.stringContaining('different serviceaccount name.') }],
    [
      'a wrong lifetime',
      { spec: { audiences: ['x'], expirationSeconds: 599 } },
      { code: 422, message: expect.stringContaining('less than 10 minutes') },
    ],
    [
      'a wrong name',
      { metadata: { name: 'nope' }, spec: { audiences: ['x'] } },
      { code: 422, message: expect.stringContaining('must match') },
    ],
    [
      'a wrong UID',
      { metadata: { uid: 'nope' }, spec: { audiences: ['x'] } },
      { code: 409, message: expect.stringContaining('the UID in the token request (nope)') },
    ],
  ])('finds %s', async (_what, body, expected) => {
    const answer = await rehearsed(body);
    expect(JSON.parse(answer.body)).toMatchObject(expected);
  });

  it('finds a missing account', async () => {
    const answer = await rehearsed({ spec: { audiences: ['x'] } }, PATH.replace('builder', 'ghost'));
    expect(JSON.parse(answer.body)).toMatchObject({ code: 404, message: 'serviceaccounts "ghost" not found' });
  });
});

function encoded(object: object): string {
  return Buffer.from(JSON.stringify(object)).toString('base64url');
}

function changed(token: string, claims: object): string {
  const [header, payload = '', signature] = token.split('.');
  const original = JSON.parse(Buffer.from(payload, 'base64url').toString()) as object;
  return [header, encoded({ ...original, ...claims }), signature].join('.');
}
