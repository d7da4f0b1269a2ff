// Requests of an administrator, in a short form for tests.

import type { ApiResponse } from '../support/api-request.ts';
import { eventually } from './eventually.ts';
import type { ContractServer } from './server.ts';

export interface Metadata {
  readonly name: string;
  readonly namespace?: string;
  readonly resourceVersion: string;
  readonly uid: string;
}

export interface Listed {
  readonly kind: string;
  readonly metadata: { readonly resourceVersion: string; readonly continue?: string; readonly remainingItemCount?: number };
  readonly items: readonly { readonly metadata: Metadata }[];
}

type Headers = Readonly<Record<string, string>>;

export interface Admin {
  /** The whole answer to a request; `body` is sent as JSON unless it is text. */
  readonly ask: (method: string, path: string, headers?: Headers, body?: unknown) => Promise<ApiResponse>;
  readonly get: (path: string, headers?: Headers) => Promise<ApiResponse>;
  /** The objects at a path; throws unless there are any to be had. */
  readonly list: (path: string) => Promise<Listed>;
  /** The names of the objects at a path. */
  readonly names: (path: string) => Promise<readonly string[]>;
  readonly create: (path: string, object: object) => Promise<{ readonly metadata: Metadata }>;
  /** Applies a merge patch. */
  readonly patch: (path: string, patch: object) => Promise<{ readonly metadata: Metadata }>;
  readonly delete: (path: string) => Promise<void>;
  /** Creates a definition, and waits until `path` is served. */
  readonly define: (definition: object, path: string) => Promise<void>;
}

export function adminOf(server: ContractServer): Admin {
  const ask: Admin['ask'] = (method, path, headers = {}, body) => {
    const all = {
      authorization: `Bearer ${server.tokens.admin}`,
      ...(body !== undefined && { 'content-type': 'application/json' }),
      ...headers,
    };
    const text = typeof body === 'string' ? body : JSON.stringify(body);
    return server.request(method, path, { headers: all, ...(body !== undefined && { body: text }) });
  };
  const done = async <T>(method: string, path: string, headers?: Headers, body?: unknown): Promise<T> => {
    const answer = await ask(method, path, headers, body);
    if (answer.status > 299) throw new Error(`${method} ${path} answered ${answer.status}: ${answer.body}`);
    return JSON.parse(answer.body) as T;
  };
  const list: Admin['list'] = (path) => done('GET', path);
  return {
    ask,
    get: (path, headers) => ask('GET', path, headers),
    list,
    names: async (path) => (await list(path)).items.map(({ metadata }) => metadata.name),
    create: (path, object) => done('POST', path, {}, object),
    patch: (path, patch) => done('PATCH', path, { 'content-type': 'application/merge-patch+json' }, patch),
    delete: (path) => done('DELETE', path),
    define: async (declared, path) => {
      await done('POST', '/apis/apiextensions.k8s.io/v1/customresourcedefinitions', {}, declared);
      await eventually(async () => void (await list(path)));
    },
  };
}

/** A definition of one kind with these versions. */
export function definition(group: string, kind: string, scope: 'Cluster' | 'Namespaced', versions: readonly object[]): object {
  const singular = kind.toLowerCase();
  return {
    apiVersion: 'apiextensions.k8s.io/v1',
    kind: 'CustomResourceDefinition',
    metadata: { name: `${singular}s.${group}` },
    spec: { group, scope, names: { plural: `${singular}s`, singular, kind, listKind: `${kind}List` }, versions },
  };
}

/** The message of a Status. */
export function messageOf({ body }: ApiResponse): string {
  return (JSON.parse(body) as { readonly message: string }).message;
}
