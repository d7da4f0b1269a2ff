// Replays recorded lists and watches of clusters on the façade. Except for the recordings in DIFFERENT, the responses differ only in hidden
// fields and in the selfLink.

import { describe, expect, it } from '@jest/globals';
import { parse } from 'yaml';
import { encodeGoJson } from '../../src/std/go-text.ts';
import { type Recording, type Relaxation, recordings } from '../support/golden.ts';
import { clusterFacade } from './cluster-facade.ts';
import { eventually } from './eventually.ts';
import { cluster, definition } from './golden-clusters.ts';
import { itRespondsAsRecorded } from './replay.ts';
import { type ContractServer, contractServer } from './server.ts';
import { create, expectServed } from './world.ts';

const HUB = '/apis/registry.purser.dev/v1alpha1/clusters';
const FACADE = '/auth/v1/clusters';

/** Names of recordings to which the façade responds differently; each has a test below. */
const DIFFERENT = new Set(['list-noauth', 'list-forbidden', 'continue-tampered', 'watch-rv-abc']);

const server = contractServer();
const facade = clusterFacade(server, { install });

async function install(hub: ContractServer): Promise<void> {
  await create(hub, '/apis/apiextensions.k8s.io/v1/customresourcedefinitions', definition());
  await eventually(() => expectServed(hub, HUB));
  for (let number = 1; number <= 25; number++) await create(hub, `${HUB}?fieldManager=kubectl-create`, cluster(number));
}

describe('cluster list of the façade', () => {
  const replayed = recordings('cluster-lists').filter(({ name }) => !DIFFERENT.has(name));
  itRespondsAsRecorded(facade, replayed.map(atFacade), { relax: ({ name }) => (name === 'list-yaml' ? inYaml : hideFields) });

  it('rejects callers without credentials', async () => {
    const { status, headers, body } = await facade.request('GET', FACADE);
    expect({ status, challenge: headers['www-authenticate'] }).toEqual({ status: 401, challenge: 'Bearer' });
    expect(body).toContain('"reason":"Unauthorized"');
  });

  it('returns an empty list to callers without permissions', async () => {
    const { status, body } = await facade.request('GET', FACADE, { headers: { authorization: 'Bearer alicetoken' } });
    expect(status).toBe(200);
    expect(body).toMatch(/^\{"apiVersion":"registry.purser.dev\/v1alpha1","items":\[\],"kind":"ClusterList","metadata":\{"continue":"",/);
  });

  it('rejects continue tokens from before the start of the façade as expired', async () => {
    const tampered = recordings('cluster-lists').find(({ name }) => name === 'continue-tampered');
    const { status, body } = await facade.request('GET', atFacade(tampered as Recording).request.path, admin());
    expect(status).toBe(410);
    expect(body).toContain('The provided continue parameter is too old');
  });

  it('rejects a watch from an invalid version with 400 and the recorded message', async () => {
    const recording = recordings('cluster-lists').find(({ name }) => name === 'watch-rv-abc') as Recording;
    const { status, body } = await facade.request('GET', atFacade(recording).request.path, admin());
    const recorded = JSON.parse(recording.response.body ?? '') as object;
    expect([status, JSON.parse(body)]).toEqual([400, { ...recorded, reason: 'BadRequest', code: 400 }]);
  });

  it('forbids shared caching, and varies by Authorization', async () => {
    const { headers } = await facade.request('GET', FACADE, { headers: { ...admin().headers, 'if-none-match': '*' } });
    expect(headers['etag']).toBeUndefined();
    expect(headers['cache-control']).toBe('no-cache, private');
    expect(headers['vary']).toContain('Authorization');
  });

  it.each([
    [
      'application/json;as=Table;v=v1;g=meta.k8s.io',
      200,
      /^\{"kind":"Table","apiVersion":"meta.k8s.io\/v1","metadata":\{"resourceVersion":"\d+"\}/,
    ],
    ['application/json;as=PartialObjectMetadataList;v=v1;g=meta.k8s.io', 200, /^\{"kind":"PartialObjectMetadataList"/],
    ['application/vnd.kubernetes.protobuf', 406, /only the following media types are accepted/],
    ['application/vnd.kubernetes.protobuf,application/json', 200, /^\{"apiVersion"/],
  ])('responds to a list with Accept: %s with %d', async (accept, status, body) => {
    const response = await facade.request('GET', FACADE, { headers: { ...admin().headers, accept } });
    expect(response.status).toBe(status);
    expect(response.body).toMatch(body);
  });
});

function admin() {
  return { headers: { authorization: 'Bearer admintoken' } };
}

function atFacade({ request, response, ...rest }: Recording): Recording {
  const { summary } = response;
  const withLink = summary === undefined ? {} : { summary: { ...summary, metadata: { ...summary.metadata, selfLink: FACADE } } };
  return {
    ...rest,
    request: { ...request, path: request.path.replace(HUB, FACADE), headers: { ...admin().headers, ...request.headers } },
    response: { ...response, ...withLink },
  };
}

/** Removes the fields that the façade hides from a recorded body. */
const hideFields: Relaxation = (recorded, actual) => [recorded.replace(/^\{.*\}$/gm, toPublicLine), actual];

const inYaml: Relaxation = (recorded, actual) => [encodeGoJson(toPublic(parse(recorded))), encodeGoJson(parse(actual))];

interface PublicObject {
  readonly kind?: string;
  readonly type?: string;
  readonly object?: PublicObject;
  readonly items?: readonly PublicObject[];
  readonly metadata?: Readonly<Record<string, unknown>>;
}

function toPublicLine(line: string): string {
  const value = JSON.parse(line) as PublicObject;
  if (value.kind === 'ClusterList' && value.items !== undefined) return encodeGoJson(toPublic(value));
  if (value.object?.kind !== 'Cluster') return line;
  return `{"type":"${value.type}","object":${encodeGoJson(toPublic(value.object))}}`;
}

function toPublic(value: PublicObject): PublicObject {
  const { managedFields, ...metadata } = value.metadata ?? {};
  if (managedFields !== undefined && !Array.isArray(managedFields)) throw new Error('managedFields is not a list');
  if (value.kind !== 'ClusterList') return { ...value, metadata };
  return { ...value, items: (value.items ?? []).map(toPublic), metadata: { ...metadata, selfLink: FACADE } };
}
