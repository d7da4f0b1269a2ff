// Received and authorized requests; parses the verb, resource and name from the method and URL.

import { validatePathSegment } from '../src/kubernetes/names.ts';
import { findRequiredName, parseFieldSelector } from '../src/kubernetes/selectors/field-selector.ts';
import type { Preferences } from '../src/kubernetes/wire/negotiate.ts';
import { readFlag } from '../src/kubernetes/wire/query.ts';
import type { User } from './access/user.ts';

export type RequestInfo = ResourceRequest | PathRequest;

/** A request for a resource of an API group. */
export interface ResourceRequest {
  readonly type: 'resource';
  /** get, list, watch, create, update, patch, delete or deletecollection; empty for other methods. */
  readonly verb: string;
  readonly group: string;
  readonly version: string;
  readonly namespace: string;
  /** True for a path below `namespaces/NAME/`, except for the subresources `status` and `finalize` of the namespace. */
  readonly isInNamespace: boolean;
  readonly resource: string;
  readonly name: string;
  readonly subresource: string;
  /** Path segments, starting with the resource. */
  readonly parts: readonly string[];
}

/** A request for a path that is not a resource, such as discovery, health or OpenAPI. */
export interface PathRequest {
  readonly type: 'path';
  readonly verb: string;
  readonly path: string;
}

const VERBS: Readonly<Record<string, string>> = {
  POST: 'create',
  GET: 'get',
  HEAD: 'get',
  PUT: 'update',
  PATCH: 'patch',
  DELETE: 'delete',
};

/** Parses the verb and the resource or path of a request. `path` is percent-decoded; slashes around a resource's path are ignored. */
export function parseRequestInfo(method: string, path: string, query: URLSearchParams): RequestInfo {
  const [prefix, ...segments] = path.replace(/^\/+|\/+$/g, '').split('/');
  // The core group has no name in paths.
  const [group = '', version = '', ...below] = prefix === 'api' ? ['', ...segments] : segments;
  const isResource = (prefix === 'api' || prefix === 'apis') && below.length > 0;
  if (!isResource) return { type: 'path', verb: method.toLowerCase(), path };
  const location = parseLocation(below);
  return { type: 'resource', group, version, ...location, ...parseVerbAndName(VERBS[method] ?? '', location.name, query) };
}

type Location = Pick<ResourceRequest, 'namespace' | 'isInNamespace' | 'resource' | 'name' | 'subresource' | 'parts'>;

function parseLocation(below: readonly string[]): Location {
  const namespace = below[0] === 'namespaces' ? (below[1] ?? '') : '';
  const isInNamespace = isBelowNamespace(below);
  const parts = isInNamespace ? below.slice(2) : below;
  const [resource = '', name = '', subresource = ''] = parts;
  return { namespace, isInNamespace, resource, name, subresource, parts };
}

function isBelowNamespace(parts: readonly string[]): boolean {
  return parts[0] === 'namespaces' && parts.length > 2 && parts[2] !== 'status' && parts[2] !== 'finalize';
}

function parseVerbAndName(verb: string, name: string, query: URLSearchParams): { verb: string; name: string } {
  if (name !== '') return { verb, name };
  if (verb === 'delete') return { verb: 'deletecollection', name };
  if (verb !== 'get') return { verb, name };
  return { verb: readFlag(query, 'watch') ? 'watch' : 'list', name: findNameInSelector(query) };
}

/** Returns the name that the field selector requires; empty for no name or an invalid name. A list or watch is authorized for that name. */
function findNameInSelector(query: URLSearchParams): string {
  try {
    const name = findRequiredName(parseFieldSelector(query.get('fieldSelector') ?? '')) ?? '';
    return validatePathSegment(name).length === 0 ? name : '';
  } catch {
    // The endpoint reports the selector's error.
    return '';
  }
}

/** A received request. */
export interface IncomingRequest {
  readonly method: string;
  /** Path and query, percent-encoded. */
  readonly url: string;
  readonly headers: Readonly<Record<string, readonly string[] | undefined>>;
  /** Reads the whole body. Throws 413 for a body beyond the limit. */
  readonly body: () => Promise<Buffer>;
  /** Aborted when the caller disconnects or the server stops. */
  readonly signal: AbortSignal;
}

/** An authenticated and authorized request. */
export interface ApiRequest extends Pick<IncomingRequest, 'method' | 'body' | 'signal'> {
  readonly info: RequestInfo;
  readonly path: string;
  readonly query: URLSearchParams;
  readonly user: User;
  readonly preferences: Preferences;
  readonly contentType: string | undefined;
  readonly userAgent: string | undefined;
  header(name: string): string | undefined;
  /** Throws 403 unless the caller may also use `verb` on the target of the request. */
  authorize(verb: string): void;
  /** Adds a Warning header to the response. */
  readonly warn: (text: string) => void;
}
