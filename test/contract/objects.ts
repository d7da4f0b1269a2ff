// Objects over HTTP: every way to write one, each answer as tests like to look at it.

import { beforeAll } from '@jest/globals';
import { definition } from './admin.ts';
import { eventually } from './eventually.ts';
import type { ContractServer } from './server.ts';

/** An object, a list or a Status. */
export interface Body {
  readonly kind: string;
  readonly apiVersion: string;
  readonly metadata: {
    readonly name: string;
    readonly uid: string;
    readonly resourceVersion: string;
    readonly generation?: number;
    readonly managedFields?: readonly ManagedFields[];
    readonly [field: string]: unknown;
  };
  readonly message?: string;
  readonly reason?: string;
  readonly [field: string]: unknown;
}

interface ManagedFields {
  readonly manager: string;
  readonly operation: string;
  readonly subresource?: string;
  readonly fieldsV1: object;
}

export interface Answer {
  readonly status: number;
  /** The texts of the Warning headers. */
  readonly warnings: readonly string[];
  readonly body: Body;
}

type Write = (path: string, body: unknown) => Promise<Answer>;

export interface Objects {
  readonly get: (path: string) => Promise<Answer>;
  readonly post: Write;
  readonly put: Write;
  readonly merge: Write;
  readonly json: Write;
  readonly strategic: Write;
  /** Text is sent as it is. */
  readonly apply: Write;
  readonly delete: (path: string, body?: unknown) => Promise<Answer>;
  /** Returns the created object; throws if POST fails. */
  readonly make: (path: string, body: unknown) => Promise<Body>;
}

/** Requests of an administrator. */
export function objectsOf(server: ContractServer): Objects {
  const send = async (method: string, path: string, body?: unknown, contentType = 'application/json'): Promise<Answer> => {
    const text = typeof body === 'string' ? body : JSON.stringify(body);
    const headers = { authorization: `Bearer ${server.tokens.admin}`, ...(body !== undefined && { 'content-type': contentType }) };
    const answer = await server.request(method, path, { headers, ...(body !== undefined && { body: text }) });
    return { status: answer.status, warnings: warningsOf(answer.headers['warning']), body: JSON.parse(answer.body) as Body };
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
    make: async (path, body) => {
      const answer = await send('POST', path, body);
      if (answer.status !== 201) throw new Error(`POST ${path} answered ${JSON.stringify(answer)}`);
      return answer.body;
    },
  };
}

/** `409 AlreadyExists: configmaps "x" already exists`, or only `200`. */
export function outcome({ status, body }: Answer): string {
  if (body.kind !== 'Status' || body['status'] === 'Success') return String(status);
  return `${status}${body.reason === undefined ? '' : ` ${body.reason}`}: ${body.message}`;
}

/** Who owns what: `manager Update status {"f:status":…}`. */
export function owners({ metadata }: Body): readonly string[] {
  return (metadata.managedFields ?? []).map(({ manager, operation, subresource, fieldsV1 }) =>
    [manager, operation, ...(subresource === undefined ? [] : [subresource]), JSON.stringify(fieldsV1)].join(' '),
  );
}

export const NAMESPACE = 'life';
export const GROUP = 'life.test';
export const CONFIG_MAPS = `/api/v1/namespaces/${NAMESPACE}/configmaps`;
export const WIDGETS = `/apis/${GROUP}/v1/namespaces/${NAMESPACE}/widgets`;
/** Like widgets, without the status subresource. */
export const GADGETS = `/apis/${GROUP}/v1/namespaces/${NAMESPACE}/gadgets`;

export function configMap(name: string, rest: object = {}, metadata: object = {}): object {
  return { apiVersion: 'v1', kind: 'ConfigMap', metadata: { name, ...metadata }, ...rest };
}

export function widget(name: string, rest: object = {}, metadata: object = {}): object {
  return { apiVersion: `${GROUP}/v1`, kind: 'Widget', metadata: { name, ...metadata }, ...rest };
}

/** Before the first test: a namespace, and two kinds of custom resources in it. */
export function prepareWorld(server: ContractServer): Objects {
  const objects = objectsOf(server);
  beforeAll(async () => {
    await objects.make('/api/v1/namespaces', { apiVersion: 'v1', kind: 'Namespace', metadata: { name: NAMESPACE } });
    const version = { name: 'v1', served: true, storage: true, schema: { openAPIV3Schema: SCHEMA } };
    const definitions = [
      definition(GROUP, 'Widget', 'Namespaced', [{ ...version, subresources: { status: {} } }]),
      definition(GROUP, 'Gadget', 'Namespaced', [version]),
    ];
    for (const each of definitions) await objects.make('/apis/apiextensions.k8s.io/v1/customresourcedefinitions', each);
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

/** The texts of Warning headers. */
export function warningsOf(header: string | undefined): readonly string[] {
  const texts = header === undefined ? [] : header.split(/, (?=299 - ")/);
  return texts.map((text) => JSON.parse(text.slice('299 - '.length)) as string);
}
