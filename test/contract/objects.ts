// Client that reads and writes objects as the administrator, and the ConfigMaps, widgets and gadgets that tests write.

import { beforeAll } from '@jest/globals';
import { definition } from './admin.ts';
import { eventually } from './eventually.ts';
import { type Body, type KubeResponse, sendRaw, warningsOf } from './requests.ts';
import type { ContractServer } from './server.ts';
import { create } from './world.ts';

type Write = (path: string, body: unknown) => Promise<KubeResponse>;

export interface ObjectClient {
  readonly get: (path: string) => Promise<KubeResponse>;
  readonly post: Write;
  readonly put: Write;
  readonly merge: Write;
  readonly json: Write;
  readonly strategic: Write;
  /** Server-side apply; a string is sent unchanged. */
  readonly apply: Write;
  readonly delete: (path: string, body?: unknown) => Promise<KubeResponse>;
  /** Returns the created object; throws if POST fails. */
  readonly create: (path: string, object: object) => Promise<Body>;
}

/** Creates a client that sends requests as the administrator. */
export function createObjectClient(server: ContractServer): ObjectClient {
  const send = async (method: string, path: string, body?: unknown, contentType = 'application/json'): Promise<KubeResponse> => {
    const headers = body === undefined ? {} : { 'content-type': contentType };
    const response = await sendRaw(server, path, { method, headers, body });
    return { status: response.status, warnings: warningsOf(response), body: JSON.parse(response.body) as Body };
  };
  const patch =
    (type: string): Write =>
    (path, body) =>
      send('PATCH', path, body, `application/${type}`);
  return {
    get: (path) => send('GET', path),
    post: (path, body) => send('POST', path, body),
    put: (path, body) => send('PUT', path, body),
    merge: patch('merge-patch+json'),
    json: patch('json-patch+json'),
    strategic: patch('strategic-merge-patch+json'),
    apply: patch('apply-patch+yaml'),
    delete: (path, body) => send('DELETE', path, body),
    create: (path, object) => create(server, path, object),
  };
}

/** Returns the owners of fields, each as `manager Update status {"f:status":…}`. */
export function fieldManagers({ metadata }: Body): readonly string[] {
  return (metadata.managedFields ?? []).map(({ manager, operation, subresource, fieldsV1 }) =>
    [manager, operation, ...(subresource === undefined ? [] : [subresource]), JSON.stringify(fieldsV1)].join(' '),
  );
}

export const NAMESPACE = 'life';
export const GROUP = 'life.test';
export const CONFIG_MAPS = `/api/v1/namespaces/${NAMESPACE}/configmaps`;
export const WIDGETS = `/apis/${GROUP}/v1/namespaces/${NAMESPACE}/widgets`;
/** Collection of gadgets, which are widgets without the status subresource. */
export const GADGETS = `/apis/${GROUP}/v1/namespaces/${NAMESPACE}/gadgets`;

export function configMap(name: string, rest: object = {}, metadata: object = {}): object {
  return { apiVersion: 'v1', kind: 'ConfigMap', metadata: { name, ...metadata }, ...rest };
}

export function widget(name: string, rest: object = {}, metadata: object = {}): object {
  return { apiVersion: `${GROUP}/v1`, kind: 'Widget', metadata: { name, ...metadata }, ...rest };
}

/** Creates a namespace with widgets and gadgets before the first test of the file. */
export function prepareWorld(server: ContractServer): ObjectClient {
  const objects = createObjectClient(server);
  beforeAll(async () => {
    await objects.create('/api/v1/namespaces', { apiVersion: 'v1', kind: 'Namespace', metadata: { name: NAMESPACE } });
    const version = { name: 'v1', served: true, storage: true, schema: { openAPIV3Schema: SCHEMA } };
    const crds = [
      definition(GROUP, 'Widget', 'Namespaced', [{ ...version, subresources: { status: {} } }]),
      definition(GROUP, 'Gadget', 'Namespaced', [version]),
    ];
    for (const crd of crds) await objects.create('/apis/apiextensions.k8s.io/v1/customresourcedefinitions', crd);
    await eventually(async () => {
      for (const path of [WIDGETS, GADGETS]) if ((await objects.get(path)).status !== 200) throw new Error(`${path} is not served`);
    });
  }, 60_000);
  return objects;
}

const SCHEMA = {
  type: 'object',
  properties: {
    spec: {
      type: 'object',
      properties: {
        size: { type: 'integer', maximum: 100 },
        color: { type: 'string', default: 'red' },
        tags: { type: 'array', items: { type: 'string' }, 'x-kubernetes-list-type': 'set' },
        parts: {
          type: 'array',
          items: { type: 'object', required: ['name'], properties: { name: { type: 'string' }, count: { type: 'integer' } } },
          'x-kubernetes-list-type': 'map',
          'x-kubernetes-list-map-keys': ['name'],
        },
        slots: { type: 'object', additionalProperties: { type: 'object', properties: { part: { type: 'string' } } } },
        plain: { type: 'array', items: { type: 'string' } },
        free: { type: 'object', 'x-kubernetes-preserve-unknown-fields': true },
        atom: { type: 'object', 'x-kubernetes-map-type': 'atomic', additionalProperties: { type: 'string' } },
      },
    },
    status: { type: 'object', properties: { ready: { type: 'boolean' }, count: { type: 'integer' } } },
  },
};
