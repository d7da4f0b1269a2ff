// The recorded lists and watches of clusters, asked of the façade: the same answers but for what is not public, and a selfLink.

import { describe, expect, it } from '@jest/globals';
import { parse } from 'yaml';
import { goJson } from '../../src/std/go-text.ts';
import { type Recording, type Relaxation, recordings } from '../support/golden.ts';
import { clusterFacade } from './cluster-facade.ts';
import { eventually } from './eventually.ts';
import { cluster, definition } from './golden-clusters.ts';
import { itAnswersAsRecorded } from './recorded.ts';
import { type ContractServer, contractServer } from './server.ts';
import { create, isServed } from './world.ts';

const HUB = '/apis/registry.purser.dev/v1alpha1/clusters';
const FACADE = '/auth/v1/clusters';

/** What the façade answers in its own way, each with a test below. */
const DIFFERENT = new Set(['list-noauth', 'list-forbidden', 'continue-tampered']);

const server = contractServer();
const facade = clusterFacade(server, { install });

async function install(hub: ContractServer): Promise<void> {
  await create(hub, '/apis/apiextensions.k8s.io/v1/customresourcedefinitions', definition());
  await eventually(() => isServed(hub, HUB));
  for (let number = 1; number <= 25; number++) await create(hub, `${HUB}?fieldManager=kubectl-create`, cluster(number));
}

describe('the cluster list of the façade', () => {
  const asked = recordings('cluster-lists').filter(({ name }) => !DIFFERENT.has(name));
  itAnswersAsRecorded(facade, asked.map(atFacade), { relax: ({ name }) => (name === 'list-yaml' ? inYaml : shown) });

  it('knows nobody without credentials', async () => {
    const { status, headers, body } = await facade.request('GET', FACADE);
    expect({ status, challenge: headers['www-authenticate'] }).toEqual({ status: 401, challenge: 'Bearer' });
    expect(body).toContain('"reason":"Unauthorized"');
  });

  it('is empty for those without rights', async () => {
    const { status, body } = await facade.request('GET', FACADE, { headers: { authorization: 'Bearer alicetoken' } });
    expect(status).toBe(200);
    expect(body).toMatch(/^\{"apiVersion":"registry.purser.dev\/v1alpha1","items":\[\],"kind":"ClusterList","metadata":\{"continue":"",/);
  });

  it('does not go back to what was before it was there', async () => {
    const tampered = recordings('cluster-lists').find(({ name }) => name === 'continue-tampered');
    const { status, body } = await facade.request('GET', atFacade(tampered as Recording).request.path, admin());
    expect(status).toBe(410);
    expect(body).toContain('The provided continue parameter is too old');
  });

  it('may be kept by nobody, and says what it depends on', async () => {
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
  ])('comes as %s', async (accept, status, body) => {
    const answer = await facade.request('GET', FACADE, { headers: { ...admin().headers, accept } });
    expect(answer.status).toBe(status);
    expect(answer.body).toMatch(body);
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

/** A recorded body as the façade shows it. */
const shown: Relaxation = (recorded, actual) => [recorded.replace(/^\{.*\}$/gm, publicLine), actual];

const inYaml: Relaxation = (recorded, actual) => [goJson(publicValue(parse(recorded))), goJson(parse(actual))];

interface Shown {
  readonly kind?: string;
  readonly type?: string;
  readonly object?: Shown;
  readonly items?: readonly Shown[];
  readonly metadata?: Readonly<Record<string, unknown>>;
}

function publicLine(line: string): string {
  const value = JSON.parse(line) as Shown;
  if (value.kind === 'ClusterList' && value.items !== undefined) return goJson(publicValue(value));
  if (value.object?.kind !== 'Cluster') return line;
  return `{"type":"${value.type}","object":${goJson(publicValue(value.object))}}`;
}

function publicValue(value: Shown): Shown {
  const { managedFields, ...metadata } = value.metadata ?? {};
  if (managedFields !== undefined && !Array.isArray(managedFields)) throw new Error('managed fields that are no list');
  if (value.kind !== 'ClusterList') return { ...value, metadata };
  return { ...value, items: (value.items ?? []).map(publicValue), metadata: { ...metadata, selfLink: FACADE } };
}
