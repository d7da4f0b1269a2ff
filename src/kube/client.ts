// KubeClient: typed verbs of the Kubernetes API. Throws StatusError for an error response and TransportError for an unusable or
// missing response; never repeats a write that the server may have executed.

import { type ApiObject, isStored, type Resource, ServiceAccounts, STORED_FIELDS, type Stored } from '../api/resources.ts';
import { apiVersionOf } from '../kubernetes/object.ts';
import { StatusError } from '../kubernetes/status.ts';
import { omitUndefined } from '../std/omit-undefined.ts';
import { collectionPath, nameOf, type ObjectName, objectPath } from './paths.ts';
import { toStatusError } from './response.ts';
import type { TokenRequest } from './reviews.ts';
import type { Transport, TransportRequest } from './transport.ts';
import { TransportError } from './transport-error.ts';
import { decodeWatch, type WatchEvent } from './watch-events.ts';

/** Options of every request. */
export interface CallOptions {
  readonly signal?: AbortSignal | undefined;
  /** Maximum time until the end of the response (of its headers for a watch), in milliseconds; undefined for the transport's timeout. */
  readonly timeoutMs?: number | undefined;
}

/** Selection of objects in a list or a watch; an empty selection selects all objects of the kind. */
export interface Selection {
  readonly namespace?: string | undefined;
  readonly labelSelector?: string | undefined;
  readonly fieldSelector?: string | undefined;
}

export interface ListOptions extends Selection, CallOptions {
  readonly limit?: number;
  readonly continue?: string | undefined;
  readonly resourceVersion?: string;
  readonly resourceVersionMatch?: 'Exact' | 'NotOlderThan';
}

export interface WatchOptions extends Selection, CallOptions {
  readonly resourceVersion?: string;
  /** True to request all existing objects first (WatchList), followed by a bookmark. */
  readonly sendInitialEvents?: boolean;
  readonly timeoutSeconds: number;
  /** Maximum time without a byte from the server, in milliseconds; the watch fails after it. */
  readonly idleMs: number;
}

export interface DeleteOptions extends CallOptions {
  readonly uid?: string;
  readonly resourceVersion?: string;
  readonly propagation?: 'Background' | 'Foreground' | 'Orphan';
}

export interface Page<T extends ApiObject> {
  readonly items: readonly Stored<T>[];
  readonly resourceVersion: string;
  /** Continue token of the next page; undefined on the last page. */
  readonly continue?: string;
}

/** A merge patch (an object) or a JSON patch (a list of operations). */
export type Patch = Readonly<Record<string, unknown>> | readonly Readonly<Record<string, unknown>>[];

/**
 * Client of one cluster; `fieldManager` is the client's name in managedFields. Methods that return `Stored` objects throw if an object in
 * the response lacks the metadata that `Stored` requires.
 */
export class KubeClient {
  readonly transport: Transport;
  readonly #fieldManager: string;

  constructor(transport: Transport, fieldManager: string) {
    this.transport = transport;
    this.#fieldManager = fieldManager;
  }

  get<T extends ApiObject>(resource: Resource<T>, name: ObjectName, options?: CallOptions): Promise<Stored<T>> {
    return this.#requestObject(resource, { method: 'GET', path: objectPath(resource, name) }, options);
  }

  /** Returns one page, or the whole list if there is no limit. */
  async list<T extends ApiObject>(resource: Resource<T>, options: ListOptions = {}): Promise<Page<T>> {
    const { limit, continue: cont, resourceVersion, resourceVersionMatch } = options;
    const query = { ...pickSelectors(options), limit: limit?.toString(), continue: cont, resourceVersion, resourceVersionMatch };
    const request = { method: 'GET', path: collectionPath(resource, options.namespace), query } as const;
    const page = toPage(resource, await this.#call(request, options));
    if (page === undefined) throw this.#invalidResponse(request, `a list of objects with ${STORED_FIELDS}`);
    return page;
  }

  /**
   * Yields the pages of a list, all of one resource version. Requests a page again with half as many objects if its response is too long.
   * Throws a StatusError (410) if the resource version expires before the last page.
   */
  async *pages<T extends ApiObject>(resource: Resource<T>, options: ListOptions = {}): AsyncGenerator<Page<T>> {
    let next = options.continue;
    let limit = options.limit ?? PAGE_LIMIT;
    do {
      const { page, fitting } = await this.#readFittingPage(resource, { ...options, continue: next }, limit);
      limit = fitting;
      next = page.continue;
      yield page;
    } while (next !== undefined);
  }

  /** Returns all objects of a list, read page by page. */
  async listAll<T extends ApiObject>(resource: Resource<T>, options?: ListOptions): Promise<readonly Stored<T>[]> {
    const all: Stored<T>[] = [];
    for await (const { items } of this.pages(resource, options)) all.push(...items);
    return all;
  }

  async #readFittingPage<T extends ApiObject>(resource: Resource<T>, options: ListOptions, limit: number): Promise<FittingPage<T>> {
    try {
      return { page: await this.list(resource, { ...options, limit }), fitting: limit };
    } catch (error) {
      if (limit <= 1 || !isTooLong(error)) throw error;
      return await this.#readFittingPage(resource, options, Math.floor(limit / 2));
    }
  }

  create<T extends ApiObject>(resource: Resource<T>, object: NoInfer<T>, options?: CallOptions): Promise<Stored<T>> {
    const path = collectionPath(resource, object.metadata.namespace);
    return this.#write(resource, { method: 'POST', path, body: addType(resource, object) }, options);
  }

  /** Replaces the object. If it has a resourceVersion, the server rejects the update unless that version is current. */
  update<T extends ApiObject>(resource: Resource<T>, object: NoInfer<T>, options?: CallOptions): Promise<Stored<T>> {
    const path = objectPath(resource, nameOf(object));
    return this.#write(resource, { method: 'PUT', path, body: addType(resource, object) }, options);
  }

  updateStatus<T extends ApiObject>(resource: Resource<T>, object: NoInfer<T>, options?: CallOptions): Promise<Stored<T>> {
    const path = objectPath(resource, nameOf(object), 'status');
    return this.#write(resource, { method: 'PUT', path, body: addType(resource, object) }, options);
  }

  /**
   * Sends a dry-run write: an update if the object has a resourceVersion, otherwise a create. The server validates and authorizes the
   * write without storing the object. Throws the same errors as the write.
   */
  async dryRun<T extends ApiObject>(resource: Resource<T>, object: NoInfer<T>, options?: CallOptions): Promise<void> {
    const { resourceVersion, namespace } = object.metadata;
    const isUpdate = resourceVersion !== undefined;
    const path = isUpdate ? objectPath(resource, nameOf(object)) : collectionPath(resource, namespace);
    const query = { dryRun: 'All', fieldManager: this.#fieldManager };
    const body = JSON.stringify(addType(resource, object));
    await this.#call({ method: isUpdate ? 'PUT' : 'POST', path, query, headers: JSON_TYPE, body }, options);
  }

  patch<T extends ApiObject>(resource: Resource<T>, name: ObjectName, patch: Patch, options?: CallOptions): Promise<Stored<T>> {
    return this.#write(resource, { method: 'PATCH', path: objectPath(resource, name), ...toPatchBody(patch) }, options);
  }

  patchStatus<T extends ApiObject>(resource: Resource<T>, name: ObjectName, patch: Patch, options?: CallOptions): Promise<Stored<T>> {
    return this.#write(resource, { method: 'PATCH', path: objectPath(resource, name, 'status'), ...toPatchBody(patch) }, options);
  }

  /** Applies the object (server-side apply). `force` takes over fields of other managers. */
  apply<T extends ApiObject>(
    resource: Resource<T>,
    object: NoInfer<T>,
    options: CallOptions & { readonly force?: boolean } = {},
  ): Promise<Stored<T>> {
    return this.#apply(resource, objectPath(resource, nameOf(object)), object, options);
  }

  /** Applies the status of the object (server-side apply). `force` takes over fields of other managers. */
  applyStatus<T extends ApiObject>(
    resource: Resource<T>,
    object: { readonly metadata: NoInfer<T['metadata']>; readonly status: unknown },
    options: CallOptions & { readonly force?: boolean } = {},
  ): Promise<Stored<T>> {
    return this.#apply(resource, objectPath(resource, nameOf(object), 'status'), object, options);
  }

  #apply<T extends ApiObject>(
    resource: Resource<T>,
    path: string,
    object: ApiObject,
    options: CallOptions & { readonly force?: boolean },
  ): Promise<Stored<T>> {
    const query = options.force === true ? { force: 'true' } : {};
    const request = {
      method: 'PATCH',
      path,
      query,
      body: addType(resource, object),
      contentType: 'application/apply-patch+yaml',
    } as const;
    return this.#write(resource, request, options);
  }

  /** Requests deletion. Returns the object if it still exists, for example because of finalizers. */
  async delete<T extends ApiObject>(resource: Resource<T>, name: ObjectName, options: DeleteOptions = {}): Promise<Stored<T> | undefined> {
    const { uid, resourceVersion, propagation } = options;
    const body = {
      kind: 'DeleteOptions',
      apiVersion: 'v1',
      preconditions: uid === undefined && resourceVersion === undefined ? undefined : { uid, resourceVersion },
      propagationPolicy: propagation,
    };
    const path = objectPath(resource, name);
    const response: T = await this.#call({ method: 'DELETE', path, headers: JSON_TYPE, body: JSON.stringify(body) }, options);
    return isStored(resource, response) && response.metadata.deletionTimestamp !== undefined ? response : undefined;
  }

  /** Requests a token for a service account (TokenRequest). */
  createToken(serviceAccount: ObjectName, spec: TokenRequest['spec'], options?: CallOptions): Promise<TokenRequest> {
    const body = { apiVersion: 'authentication.k8s.io/v1', kind: 'TokenRequest', metadata: {}, spec };
    const path = objectPath(ServiceAccounts, serviceAccount, 'token');
    return this.#call({ method: 'POST', path, headers: JSON_TYPE, body: JSON.stringify(body) }, options);
  }

  /** Creates one of the reviews in `reviews.ts`; the result is in the status of the returned object. */
  createReview<T>(resource: Resource<T>, review: NoInfer<Omit<T, 'apiVersion' | 'kind' | 'status'>>, options?: CallOptions): Promise<T> {
    const body = { apiVersion: apiVersionOf(resource), kind: resource.kind, ...review };
    return this.#call({ method: 'POST', path: collectionPath(resource), headers: JSON_TYPE, body: JSON.stringify(body) }, options);
  }

  /** Yields watch events until the server ends the watch. Throws if the server rejects the watch or the watch breaks. */
  async *watch<T extends ApiObject>(resource: Resource<T>, options: WatchOptions): AsyncGenerator<WatchEvent<T>> {
    const { resourceVersion, sendInitialEvents, timeoutSeconds } = options;
    const query = {
      ...pickSelectors(options),
      watch: 'true',
      allowWatchBookmarks: 'true',
      timeoutSeconds: String(timeoutSeconds),
      resourceVersion,
      sendInitialEvents: sendInitialEvents === true ? 'true' : undefined,
      resourceVersionMatch: sendInitialEvents === true ? 'NotOlderThan' : undefined,
    };
    const path = collectionPath(resource, options.namespace);
    const { signal, timeoutMs, idleMs } = options;
    const result = await this.transport.stream({ method: 'GET', path, query, signal, timeoutMs, idleMs });
    if (result.type === 'rejected') throw toStatusError(result.response);
    yield* decodeWatch(resource, result.chunks);
  }

  /** Returns the text at a path that is not a resource, such as `/version` or `/readyz`. */
  async getText(path: string, options?: CallOptions): Promise<string> {
    return (await this.#request({ method: 'GET', path, headers: { accept: '*/*' } }, options)).body;
  }

  #write<T extends ApiObject>(resource: Resource<T>, request: WriteRequest, options?: CallOptions): Promise<Stored<T>> {
    const { body, contentType = JSON_TYPE['content-type'], query, ...rest } = request;
    const headers = { 'content-type': contentType };
    const allQuery = { ...query, fieldManager: this.#fieldManager };
    return this.#requestObject(resource, { ...rest, query: allQuery, headers, body: JSON.stringify(body) }, options);
  }

  async #requestObject<T extends ApiObject>(resource: Resource<T>, request: TransportRequest, options?: CallOptions): Promise<Stored<T>> {
    const object: T = await this.#call(request, options);
    if (!isStored(resource, object)) throw this.#invalidResponse(request, `an object with ${STORED_FIELDS}`);
    return object;
  }

  async #call<T>(request: TransportRequest, options?: CallOptions): Promise<T> {
    const { body } = await this.#request(request, options);
    const value = parseJson(body);
    if (value === undefined) throw this.#invalidResponse(request, 'JSON');
    if (typeof value !== 'object' || value === null) throw this.#invalidResponse(request, 'an object');
    return value as T;
  }

  #invalidResponse({ method, path }: TransportRequest, expected: string): TransportError {
    return new TransportError('EBADMSG', `${method} ${this.transport.server}${path}: the response is not ${expected}`);
  }

  async #request(request: TransportRequest, { signal, timeoutMs }: CallOptions = {}): Promise<{ readonly body: string }> {
    const response = await this.transport.request({ ...request, signal, timeoutMs });
    if (response.status < 200 || response.status > 299) throw toStatusError(response);
    return response;
  }
}

/** Returns true for a 410 error: the server no longer has the requested resource version or page. */
export function isExpired(error: unknown): boolean {
  return error instanceof StatusError && error.code === 410;
}

/** Parses JSON; returns undefined if it is invalid. The parser's own error would quote the body, which may contain a token. */
function parseJson(body: string): unknown {
  try {
    return JSON.parse(body);
  } catch {
    return undefined;
  }
}

/** A page and the limit that was small enough for it. */
interface FittingPage<T extends ApiObject> {
  readonly page: Page<T>;
  readonly fitting: number;
}

function isTooLong(error: unknown): boolean {
  return error instanceof TransportError && error.code === 'EMSGSIZE';
}

interface WriteRequest {
  readonly method: 'POST' | 'PUT' | 'PATCH';
  readonly path: string;
  readonly query?: Readonly<Record<string, string>>;
  readonly body: unknown;
  readonly contentType?: string;
}

/** Default number of objects per page. */
const PAGE_LIMIT = 500;
const JSON_TYPE = { 'content-type': 'application/json' } as const;

function pickSelectors({ labelSelector, fieldSelector }: Selection): Readonly<Record<string, string | undefined>> {
  return { labelSelector, fieldSelector };
}

function toPatchBody(patch: Patch): Pick<WriteRequest, 'body' | 'contentType'> {
  return { body: patch, contentType: Array.isArray(patch) ? 'application/json-patch+json' : 'application/merge-patch+json' };
}

interface RawList<T> {
  readonly metadata?: { readonly resourceVersion?: string; readonly continue?: string };
  readonly items?: readonly T[] | null;
}

/** Converts a list to a page; returns undefined if the list or any item is invalid: one invalid item must not reach a store. */
function toPage<T extends ApiObject>(resource: Resource<T>, list: RawList<T> | null): Page<T> | undefined {
  const items = list?.items ?? [];
  if (!list?.metadata || !Array.isArray(items)) return undefined;
  const { resourceVersion = '', continue: cont } = list.metadata;
  const stored: Stored<T>[] = [];
  for (const item of items) {
    if (!isStored(resource, item)) return undefined;
    // Items of built-in lists lack apiVersion and kind; watch events have them.
    stored.push(addType(resource, item));
  }
  return omitUndefined<Page<T>>({ items: stored, resourceVersion, continue: cont || undefined });
}

/** Adds apiVersion and kind to an object without them. */
function addType<O extends ApiObject>(resource: Resource<unknown>, object: O): O {
  return { apiVersion: apiVersionOf(resource), kind: resource.kind, ...object };
}
