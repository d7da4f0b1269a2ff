// The façade's list of ManagedTokens, compared with the same requests to its hub: responses differ only in hidden fields, versions and links.

import { beforeAll, describe, expect, it } from '@jest/globals';
import { parse } from 'yaml';
import type { ManagedToken } from '../../src/api/managed-token.gen.ts';
import { ManagedTokens } from '../../src/api/resources.ts';
import { MANAGED_TOKEN_LIST } from '../../src/facade/managed-tokens/managed-token-list.ts';
import { waitUntilServed } from '../../src/kube/discovery.ts';
import { type Fields, isFields, type KubeObject } from '../../src/kubernetes/object.ts';
import { fieldsOf } from '../../src/kubernetes/untrusted.ts';
import { systemClock as clock } from '../../src/std/clock.ts';
import { clusterFacade } from './cluster-facade.ts';
import { WIRE_KINDS } from './listed-kinds.ts';
import { contractServer } from './server.ts';

const server = contractServer();
const facade = clusterFacade(server);
const HUB = '/apis/tokens.purser.dev/v1alpha1';
const FACADE = '/auth/v1';
const TABLE = 'application/json;as=Table;v=v1;g=meta.k8s.io';
const METADATA = 'application/json;as=PartialObjectMetadataList;v=v1;g=meta.k8s.io';
const [, [, tokens]] = WIRE_KINDS as unknown as readonly [unknown, (typeof WIRE_KINDS)[number]];

beforeAll(async () => {
  const { hub } = facade;
  await waitUntilServed(hub, [ManagedTokens], { clock, random: Math.random, signal: AbortSignal.timeout(30_000) });
  await tokens.prepare(hub);
  for (const key of tokens.keys) await tokens.put(hub, key, { env: key.endsWith('a') ? 'prod' : 'dev' });
  const status = {
    observedGeneration: 1,
    secretName: 'a',
    expirationTimestamp: '2026-03-01T13:00:00Z',
    rotations: 3,
    tokenDigest: 'hidden',
    anchors: [{ cluster: 'hidden', namespace: 'hidden', serviceAccount: 'hidden', clusterUID: 'hidden', credential: 'hidden' }],
    conditions: [{ type: 'Ready', status: 'True', reason: 'Issued', message: 'Ready.', lastTransitionTime: '2026-03-01T12:00:00Z' }],
  };
  const path = `${HUB}/namespaces/team-a/managedtokens/a/status`;
  const headers = { authorization: `Bearer ${server.tokens.admin}`, 'content-type': 'application/merge-patch+json' };
  expect((await server.request('PATCH', path, { headers, body: JSON.stringify({ status }) })).status).toBe(200);
});

interface ParsedResponse {
  readonly status: number;
  readonly body: Fields;
}

async function send(to: 'hub' | 'facade', path: string, accept?: string): Promise<ParsedResponse> {
  const [at, root] = to === 'hub' ? [server, HUB] : [facade, FACADE];
  const headers = { authorization: `Bearer ${server.tokens.admin}`, ...(accept !== undefined && { accept }) };
  const { status, body } = await at.request('GET', `${root}${path}`, { headers });
  return { status, body: parse(body) as Fields };
}

/** Returns a response from the hub or from the façade without the differences that docs/facade-differences.md states. */
function comparable({ status, body }: ParsedResponse): unknown {
  const { metadata, items, rows, ...rest } = body;
  const { selfLink: _, resourceVersion: __, continue: next, ...others } = fieldsOf(metadata);
  // A single object also has public metadata.
  if (rest['kind'] === 'ManagedToken') return { status, ...publicForm(body) };
  return {
    status,
    ...rest,
    metadata: { ...others, hasNext: typeof next === 'string' && next !== '' },
    ...(Array.isArray(items) && { items: items.map(publicForm) }),
    ...(Array.isArray(rows) && { rows: rows.map(comparableRow) }),
  };
}

/** Returns a row with its public object. The age of an object differs between requests. */
function comparableRow(row: unknown): object {
  const { cells, object, ...rest } = fieldsOf(row);
  return {
    ...rest,
    cells: (cells as readonly unknown[]).map((cell) => (/^\d+[sm]\S*$/.test(String(cell)) ? 'age' : cell)),
    object: publicForm(object),
  };
}

function publicForm(object: unknown): object {
  const { apiVersion, kind, metadata, spec, status } = fieldsOf(object);
  const listed: KubeObject = MANAGED_TOKEN_LIST.toPublic({ metadata, spec, status } as unknown as ManagedToken);
  return {
    apiVersion,
    kind,
    metadata: { ...listed.metadata, resourceVersion: '' },
    ...(isFields(spec) && { spec: listed['spec'] }),
    ...(isFields(status) && { status: listed['status'] }),
  };
}

describe('list of ManagedTokens compared with the hub', () => {
  it.each([
    ['all objects', '/managedtokens', undefined],
    ['objects in one namespace', '/namespaces/team-b/managedtokens', undefined],
    ['a namespace that does not exist', '/namespaces/none/managedtokens', undefined],
    ['one object', '/namespaces/team-a/managedtokens/a', undefined],
    ['a missing object', '/namespaces/team-a/managedtokens/none', undefined],
    ['a page', '/managedtokens?limit=2', undefined],
    ['labels', '/managedtokens?labelSelector=env%3Dprod', undefined],
    ['a name', '/managedtokens?fieldSelector=metadata.name%3Da', undefined],
    ['a name and a namespace', '/managedtokens?fieldSelector=metadata.name%3Da,metadata.namespace%3Dteam-b', undefined],
    ['a selectable field', '/managedtokens?fieldSelector=spec.clusterName%3Dnone', undefined],
    ['another field', '/managedtokens?fieldSelector=spec.revocation%3DNone', undefined],
    ['an invalid label selector', '/managedtokens?labelSelector=a%3D%3D%3Db', undefined],
    ['an invalid continue token', '/managedtokens?continue=x', undefined],
    ['a table', '/namespaces/team-a/managedtokens', TABLE],
    ['a table with whole objects', '/namespaces/team-a/managedtokens?includeObject=Object', TABLE],
    ['a table of one object', '/namespaces/team-a/managedtokens/a', TABLE],
    ['metadata', '/managedtokens', METADATA],
    ['YAML', '/managedtokens', 'application/yaml'],
  ])('responds like the hub to a request for %s', async (_, path, accept) => {
    const [hub, listed] = [await send('hub', path, accept), await send('facade', path, accept)];
    expect(comparable(listed)).toEqual(comparable(hub));
    expect(JSON.stringify(listed)).not.toContain('hidden');
  });

  it('returns a ManagedToken with its public fields only', async () => {
    const { body } = await send('facade', '/namespaces/team-a/managedtokens/a');
    expect(body).toEqual({ ...publicForm(body), metadata: body['metadata'] });
    expect(Object.keys(fieldsOf(body['metadata'])).sort()).toEqual(
      ['creationTimestamp', 'generation', 'labels', 'name', 'namespace', 'resourceVersion', 'uid'].sort(),
    );
  });
});
