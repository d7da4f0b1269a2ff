// Requests of the administrator to the server under test, by verb.

import type { ApiResponse } from '../support/api-request.ts';
import { eventually } from './eventually.ts';
import { sendRaw } from './requests.ts';
import type { ContractServer } from './server.ts';

export interface Metadata {
  readonly name: string;
  readonly namespace?: string;
  readonly resourceVersion: string;
  readonly uid: string;
}

export interface ObjectList {
  readonly kind: string;
  readonly metadata: { readonly resourceVersion: string; readonly continue?: string; readonly remainingItemCount?: number };
  readonly items: readonly { readonly metadata: Metadata }[];
}

type Headers = Readonly<Record<string, string>>;

/** Client of the administrator. Methods that return objects throw if the request fails. */
export interface Admin {
  /** Sends a request, with `body` as JSON unless it is a string, and returns the unparsed response. */
  readonly send: (method: string, path: string, headers?: Headers, body?: unknown) => Promise<ApiResponse>;
  /** Sends GET, and returns the unparsed response. */
  readonly get: (path: string, headers?: Headers) => Promise<ApiResponse>;
  readonly list: (path: string) => Promise<ObjectList>;
  /** Returns the names of the objects at a path. */
  readonly names: (path: string) => Promise<readonly string[]>;
  readonly create: (path: string, object: object) => Promise<{ readonly metadata: Metadata }>;
  /** Applies a merge patch. */
  readonly patch: (path: string, patch: object) => Promise<{ readonly metadata: Metadata }>;
  readonly delete: (path: string) => Promise<void>;
  /** Creates a CRD, and waits until `path` is served. */
  readonly define: (crd: object, path: string) => Promise<void>;
}

export function createAdmin(server: ContractServer): Admin {
  const send: Admin['send'] = (method, path, headers = {}, body) => sendRaw(server, path, { method, headers, body });
  const sendAndParse = async <T>(method: string, path: string, headers?: Headers, body?: unknown): Promise<T> => {
    const response = await send(method, path, headers, body);
    if (response.status > 299) throw new Error(`${method} ${path} returned ${response.status}: ${response.body}`);
    return JSON.parse(response.body) as T;
  };
  const list: Admin['list'] = (path) => sendAndParse('GET', path);
  return {
    send,
    get: (path, headers) => send('GET', path, headers),
    list,
    names: async (path) => (await list(path)).items.map(({ metadata }) => metadata.name),
    create: (path, object) => sendAndParse('POST', path, {}, object),
    patch: (path, patch) => sendAndParse('PATCH', path, { 'content-type': 'application/merge-patch+json' }, patch),
    delete: (path) => sendAndParse('DELETE', path),
    define: async (crd, path) => {
      await sendAndParse('POST', '/apis/apiextensions.k8s.io/v1/customresourcedefinitions', {}, crd);
      await eventually(async () => void (await list(path)));
    },
  };
}

/** Returns a CRD of one kind with these versions. */
export function definition(group: string, kind: string, scope: 'Cluster' | 'Namespaced', versions: readonly object[]): object {
  const singular = kind.toLowerCase();
  return {
    apiVersion: 'apiextensions.k8s.io/v1',
    kind: 'CustomResourceDefinition',
    metadata: { name: `${singular}s.${group}` },
    spec: { group, scope, names: { plural: `${singular}s`, singular, kind, listKind: `${kind}List` }, versions },
  };
}

/** Returns the message of a Status. */
export function messageOf({ body }: ApiResponse): string {
  return (JSON.parse(body) as { readonly message: string }).message;
}
