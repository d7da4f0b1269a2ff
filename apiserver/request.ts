// A request: its meaning by method and URL, and its form after authentication.

import { pathSegmentProblems } from '../src/kubernetes/names.ts';
import { parseFieldSelector, requiredName } from '../src/kubernetes/selectors/field-selector.ts';
import type { Preferences } from '../src/kubernetes/wire/negotiate.ts';
import { flag } from '../src/kubernetes/wire/query.ts';
import type { User } from './access/user.ts';

export type RequestInfo = ResourceRequest | PathRequest;

/** A request for a resource of an API group. */
export interface ResourceRequest {
  readonly type: 'resource';
  /** get, list, watch, create, update, patch, delete, deletecollection; empty for methods that mean nothing here. */
  readonly verb: string;
  readonly group: string;
  readonly version: string;
  readonly namespace: string;
  /** True if the path continues below a namespace. */
  readonly isInNamespace: boolean;
  readonly resource: string;
  readonly name: string;
  readonly subresource: string;
  /** Path segments from the resource on. */
  readonly parts: readonly string[];
}

/** Any other request: discovery, health, OpenAPI. */
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

/** `path` is percent-decoded, as Go's URL.Path is; one slash too many at either end does not matter. */
export function requestInfo(method: string, path: string, query: URLSearchParams): RequestInfo {
  const [prefix, ...segments] = path.replace(/^\/+|\/+$/g, '').split('/');
  // The core group has no name in paths.
  const [group = '', version = '', ...below] = prefix === 'api' ? ['', ...segments] : segments;
  const isResource = (prefix === 'api' || prefix === 'apis') && below.length > 0;
  if (!isResource) return { type: 'path', verb: method.toLowerCase(), path };
  const place = placeOf(below);
  return { type: 'resource', group, version, ...place, ...verbAndName(VERBS[method] ?? '', place.name, query) };
}

type Place = Pick<ResourceRequest, 'namespace' | 'isInNamespace' | 'resource' | 'name' | 'subresource' | 'parts'>;

function placeOf(below: readonly string[]): Place {
  const namespace = below[0] === 'namespaces' ? (below[1] ?? '') : '';
  const isInNamespace = leadsThroughNamespace(below);
  const parts = isInNamespace ? below.slice(2) : below;
  const [resource = '', name = '', subresource = ''] = parts;
  return { namespace, isInNamespace, resource, name, subresource, parts };
}

function leadsThroughNamespace(parts: readonly string[]): boolean {
  return parts[0] === 'namespaces' && parts.length > 2 && parts[2] !== 'status' && parts[2] !== 'finalize';
}

function verbAndName(verb: string, name: string, query: URLSearchParams): { verb: string; name: string } {
  if (name !== '') return { verb, name };
  if (verb === 'delete') return { verb: 'deletecollection', name };
  if (verb !== 'get') return { verb, name };
  return { verb: flag(query, 'watch') ? 'watch' : 'list', name: nameInSelector(query) };
}

/** A list that can only hold one object is authorised by that object's name. */
function nameInSelector(query: URLSearchParams): string {
  try {
    const name = requiredName(parseFieldSelector(query.get('fieldSelector') ?? '')) ?? '';
    return pathSegmentProblems(name).length === 0 ? name : '';
  } catch {
    // The list itself reports the error of the selector.
    return '';
  }
}

/** A request as it arrived. */
export interface Incoming {
  readonly method: string;
  /** Path and query as they came. */
  readonly url: string;
  readonly headers: Readonly<Record<string, readonly string[] | undefined>>;
  /** Reads the whole body; 413 when it is too large. */
  readonly body: () => Promise<Buffer>;
  /** Aborted when the caller goes away or the server stops. */
  readonly signal: AbortSignal;
}

/** A request that has been authenticated and may proceed. */
export interface ApiRequest extends Pick<Incoming, 'method' | 'body' | 'signal'> {
  readonly info: RequestInfo;
  readonly path: string;
  readonly query: URLSearchParams;
  readonly user: User;
  readonly preferences: Preferences;
  readonly contentType: string | undefined;
  readonly userAgent: string | undefined;
  header(name: string): string | undefined;
  /** Refuses, by throwing 403, callers who may not do this, too, at the same place. */
  authorize(verb: string): void;
  /** Adds a Warning header to the response. */
  readonly warn: (text: string) => void;
}
