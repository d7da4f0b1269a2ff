// Responses from the façade's token endpoint, compared with those from the server itself.

import { beforeAll, describe, expect, it } from '@jest/globals';
import { CoreV1Api, KubeConfig } from '@kubernetes/client-node';
import type { ApiRequest } from '../support/api-request.ts';
import { eventually } from './eventually.ts';
import { contractFacade } from './facade.ts';
import { contractServer } from './server.ts';
import { CLUSTER, createTokenWorld, withoutManagedFields } from './token-world.ts';
import { create, expectAllowed } from './world.ts';

const server = contractServer({ issuer: 'https://hub.test' });
beforeAll(() => createTokenWorld(server), 60_000);
const facade = contractFacade(server);

const PATH = '/api/v1/namespaces/team-a/serviceaccounts/builder/token';
const requestToken = (token: string, more: ApiRequest = {}) =>
  facade.request('POST', `/orchestrator/${CLUSTER}${PATH}`, {
    body: '{"spec":{"audiences":["x"]}}',
    ...more,
    headers: { authorization: `Bearer ${token}`, ...more.headers },
  });

/** Requests a token for the service account from the hub. */
async function hubToken(audiences: readonly string[] = []): Promise<string> {
  const { body } = await server.request('POST', PATH, {
    headers: { authorization: `Bearer ${server.tokens.admin}`, 'content-type': 'application/json' },
    body: JSON.stringify({ spec: { audiences } }),
  });
  return (JSON.parse(body) as { status: { token: string } }).status.token;
}

/** Replaces the parts that differ between two responses. */
function normalize(body: string): string {
  return (
    withoutManagedFields(body)
      .replace(/eyJ[\w-]+\.[\w-]+\.[\w-]+/g, 'TOKEN')
      .replace(/\d{4}-\d\d-\d\dT\d\d:\d\d:\d\dZ/g, 'TIME')
      // The package of the scheme differs between builds of the server.
      .replace(/scheme \\"[^"]*"/, 'SCHEME')
  );
}

function unknownFields(count: number, length: number): object {
  return Object.fromEntries(Array.from({ length: count }, (_, index) => [`x${index}`.padEnd(length, 'y'), 1]));
}

describe('token endpoint of the façade', () => {
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
    ['the name of the service account', '', { body: text({ metadata: { name: 'builder', namespace: 'team-a' }, spec }) }],
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
      'an invalid lifetime and an invalid binding',
      '',
      { body: text({ spec: { ...spec, expirationSeconds: 1, boundObjectRef: { kind: 'Secret', name: 'ghost' } } }) },
    ],
    [
      'an invalid name and an invalid lifetime',
      '',
      { body: text({ metadata: { name: 'nope' }, spec: { ...spec, expirationSeconds: 1 } }) },
    ],
    ['an invalid UID and an invalid lifetime', '', { body: text({ metadata: { uid: 'u' }, spec: { ...spec, expirationSeconds: 1 } }) }],
    [
      'YAML in request and response',
      '',
      { headers: { 'content-type': 'application/yaml', accept: 'application/yaml' }, body: 'spec:\n  audiences: [x]\n  unknown: 1\n' },
    ],
    ['an indented response', '?pretty=true', { body: text({ spec }) }],
    ['an indented error', '', { headers: { 'user-agent': 'curl/8' }, body: '{' }],
    [
      'unknown fields at every level',
      '?fieldValidation=Strict',
      {
        body: '{"a":1,"metadata":{"b":2,"labels":{"c":"d","c":"e"}},"spec":{"audiences":["x"],"boundObjectRef":{"kind":"Secret","name":"bindme","f":1}},"status":{"g":1}}',
      },
    ],
    ['a status of the wrong type', '', { body: '{"spec":{"audiences":["x"]},"status":{"expirationTimestamp":5}}' }],
    [
      'null for every field',
      '',
      { body: '{"metadata":null,"spec":{"audiences":["x"],"expirationSeconds":null,"boundObjectRef":null},"status":null}' },
    ],
    ['a Pod', '', { body: text({ apiVersion: 'v1', kind: 'Pod' }) }],
    ['a list of Deployments', '', { body: text({ apiVersion: 'apps/v1', kind: 'DeploymentList' }) }],
    ['a Deployment of another version', '', { body: text({ apiVersion: 'apps/v1beta9', kind: 'Deployment' }) }],
    ['an unsatisfiable Accept', '', { headers: { accept: 'application/xml' }, body: text({ spec }) }],
    [
      'a Table or JSON as accepted types',
      '',
      { headers: { accept: 'application/json;as=Table;v=v1;g=meta.k8s.io,application/json' }, body: text({ spec }) },
    ],
    ['150 unknown fields', '', { body: text({ spec, ...unknownFields(150, 1) }) }],
    ['150 unknown fields in strict validation', '?fieldValidation=Strict', { body: text({ spec, ...unknownFields(150, 1) }) }],
    ['20 unknown fields with long names', '', { body: text({ spec, ...unknownFields(20, 300) }) }],
    ['a non-ASCII unknown field', '', { body: text({ spec, größe: 1 }) }],
    ['an empty Content-Encoding', '', { headers: { 'content-encoding': '' }, body: text({ spec }) }],
    ['charset=utf8', '', { headers: { 'content-type': 'application/json; charset=utf8' }, body: text({ spec }) }],
    ['a fieldManager of 129 characters', `?fieldManager=${'m'.repeat(129)}`, { body: text({ spec }) }],
    ['invalid options', '?dryRun=x&fieldManager=%01&fieldValidation=y', { body: text({ spec }) }],
    ['an invalid timeout', '?timeout=abc', { body: text({ spec }) }],
    ['a timeout', '?timeout=5s', { body: text({ spec }) }],
  ])('responds like the target to a request with %s', async (_name, query, { headers, body }) => {
    const all = { authorization: `Bearer ${server.tokens.admin}`, 'content-type': 'application/json', ...headers };
    const request = { headers: all, ...(body !== undefined && { body }) };
    const direct = await server.request('POST', `${PATH}${query}`, request);
    const actual = await facade.request('POST', `/orchestrator/${CLUSTER}${PATH}${query}`, request);
    const toCompared = (response: typeof direct) => ({
      status: response.status,
      type: response.headers['content-type'],
      warning: response.headers['warning'],
      body: normalize(response.body),
    });
    expect(toCompared(actual)).toEqual(toCompared(direct));
  });
});

describe('authentication of callers of the façade', () => {
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
    const name = `${CLUSTER}/team-a`;
    const issue = { verb: 'issue', group: 'registry.purser.dev', resource: 'clusters', subresource: 'token', name };
    await eventually(() => expectAllowed(server, 'system:serviceaccount:team-a:builder', issue));
  });

  it('accepts a token for the audiences of the hub', async () => {
    expect((await requestToken(await hubToken())).status).toBe(201);
  });

  it('rejects a token for other audiences', async () => {
    expect((await requestToken(await hubToken(['https://elsewhere.test']))).status).toBe(401);
  });

  it.each<readonly [string, (token: string) => string]>([
    ['without an algorithm', (token) => `${encode({ alg: 'none' })}.${token.split('.')[1]}.`],
    ['of another issuer', (token) => withClaims(token, { iss: 'https://evil.test' })],
    ['of another service account', (token) => withClaims(token, { sub: 'system:serviceaccount:kube-system:admin' })],
    ['with a flipped bit', (token) => token.replace(/.(?=.{20}$)/, (char) => (char === 'A' ? 'B' : 'A'))],
  ])('rejects a forged token %s', async (_case, forge) => {
    expect((await requestToken(forge(await hubToken()))).status).toBe(401);
  });

  it('accepts the static token of a caller with the official JavaScript client', async () => {
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

describe('dry run of a token request to the façade', () => {
  const dryRun = (body: object, path = PATH) =>
    facade.request('POST', `/orchestrator/${CLUSTER}${path}?dryRun=All`, {
      headers: { authorization: `Bearer ${server.tokens.alice}`, 'content-type': 'application/json' },
      body: JSON.stringify(body),
    });

  const bound = (kind: string, name: string) => ({ spec: { audiences: ['x'], boundObjectRef: { kind, apiVersion: 'v1', name } } });
  it.each([
    ['a missing Secret', bound('Secret', 'ghost'), { code: 404, message: 'secrets "ghost" not found' }],
    [
      'a Pod of another service account',
      bound('Pod', 'other'),
      { code: 400, message: expect.stringContaining('different serviceaccount name.') },
    ],
    [
      'an invalid lifetime',
      { spec: { audiences: ['x'], expirationSeconds: 599 } },
      { code: 422, message: expect.stringContaining('less than 10 minutes') },
    ],
    [
      'a name that does not match',
      { metadata: { name: 'nope' }, spec: { audiences: ['x'] } },
      { code: 422, message: expect.stringContaining('must match') },
    ],
    [
      'a UID that does not match',
      { metadata: { uid: 'nope' }, spec: { audiences: ['x'] } },
      { code: 409, message: expect.stringContaining('the UID in the token request (nope)') },
    ],
  ])('rejects a dry run with %s', async (_name, body, expected) => {
    const response = await dryRun(body);
    expect(JSON.parse(response.body)).toMatchObject(expected);
  });

  it('rejects a dry run for a missing service account', async () => {
    const response = await dryRun({ spec: { audiences: ['x'] } }, PATH.replace('builder', 'ghost'));
    expect(JSON.parse(response.body)).toMatchObject({ code: 404, message: 'serviceaccounts "ghost" not found' });
  });
});

function encode(object: object): string {
  return Buffer.from(JSON.stringify(object)).toString('base64url');
}

function withClaims(token: string, claims: object): string {
  const [header, payload = '', signature] = token.split('.');
  const original = JSON.parse(Buffer.from(payload, 'base64url').toString()) as object;
  return [header, encode({ ...original, ...claims }), signature].join('.');
}
