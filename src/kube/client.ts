// KubeClient: the verbs of the Kubernetes API, typed by resource descriptors. Throws StatusError for what the server
// refuses and TransportError when there is no answer; never retries a write.

import { type ApiObject, type Resource, ServiceAccounts } from '../api/resources.ts';
import { StatusError } from '../kubernetes/status.ts';
import type { CallOptions, DeleteOptions, ListOptions, Page, Patch, Selection, WatchOptions, WriteOptions } from './calls.ts';
import { joined, pageOf, typed } from './page.ts';
import { apiVersionOf, collectionPath, nameOf, type ObjectName, objectPath } from './paths.ts';
import { replyError } from './reply-error.ts';
import type { TokenRequest } from './reviews.ts';
import type { Transport } from './transport.ts';
import { TransportError } from './transport-error.ts';
import type { TransportRequest } from './transport-request.ts';
import { decodeWatch, type WatchEvent } from './watch-events.ts';

type Subresource = 'status' | undefined;

/** The API of one cluster. `fieldManager` names us in managedFields. */
export class KubeClient {
  readonly transport: Transport;
  readonly #fieldManager: string;

  constructor(transport: Transport, fieldManager: string) {
    this.transport = transport;
    this.#fieldManager = fieldManager;
  }

  get<T extends ApiObject>(resource: Resource<T>, name: ObjectName, options?: CallOptions): Promise<T> {
    return this.#object({ method: 'GET', path: objectPath(resource, name) }, options);
  }

  /** One page; without a limit, all. */
  async list<T extends ApiObject>(resource: Resource<T>, options: ListOptions = {}): Promise<Page<T>> {
    const { limit, continue: cont, resourceVersion, resourceVersionMatch } = options;
    const query = { ...selectors(options), limit: limit?.toString(), continue: cont, resourceVersion, resourceVersionMatch };
    const request = { method: 'GET', path: collectionPath(resource, options.namespace), query } as const;
    const page = pageOf(resource, await this.#call(request, options));
    if (page === undefined) throw this.#unreadable(request, 'a list');
    return page;
  }

  /**
   * Yields a list page by page, all of one version. A page that is longer than the transport reads is requested again with half as many
   * objects. Throws 410 if the version expires on the way.
   */
  async *pages<T extends ApiObject>(resource: Resource<T>, options: ListOptions = {}): AsyncGenerator<Page<T>> {
    let next = options.continue;
    let limit = options.limit ?? PAGE_LIMIT;
    do {
      const { page, fitting } = await this.#fittingPage(resource, { ...options, continue: next }, limit);
      limit = fitting;
      next = page.continue;
      yield page;
    } while (next !== undefined);
  }

  async #fittingPage<T extends ApiObject>(resource: Resource<T>, options: ListOptions, limit: number): Promise<FittingPage<T>> {
    try {
      return { page: await this.list(resource, { ...options, limit }), fitting: limit };
    } catch (error) {
      if (limit <= 1 || !isTooLong(error)) throw error;
      return await this.#fittingPage(resource, options, Math.floor(limit / 2));
    }
  }

  /** All pages of a list. Starts again, once, when the pages expire on the way. */
  async listAll<T extends ApiObject>(resource: Resource<T>, options: Omit<ListOptions, 'continue'> = {}): Promise<Page<T>> {
    try {
      return await joined(this.pages(resource, options));
    } catch (error) {
      if (!isExpired(error)) throw error;
      return await joined(this.pages(resource, options));
    }
  }

  create<T extends ApiObject>(resource: Resource<T>, object: T, options?: WriteOptions): Promise<T> {
    const path = collectionPath(resource, object.metadata.namespace);
    return this.#write({ method: 'POST', path, body: typed(resource, object) }, options);
  }

  /** Replaces the object; with a resourceVersion in it, only if it is still that version. */
  update<T extends ApiObject>(resource: Resource<T>, object: T, options?: WriteOptions): Promise<T> {
    return this.#put(resource, object, undefined, options);
  }

  updateStatus<T extends ApiObject>(resource: Resource<T>, object: T, options?: WriteOptions): Promise<T> {
    return this.#put(resource, object, 'status', options);
  }

  patch<T extends ApiObject>(resource: Resource<T>, name: ObjectName, patch: Patch, options?: WriteOptions): Promise<T> {
    return this.#patch(objectPath(resource, name), patch, options);
  }

  patchStatus<T extends ApiObject>(resource: Resource<T>, name: ObjectName, patch: Patch, options?: WriteOptions): Promise<T> {
    return this.#patch(objectPath(resource, name, 'status'), patch, options);
  }

  /** Server-side apply of everything that we want of the object. `force` takes fields from other managers. */
  apply<T extends ApiObject>(resource: Resource<T>, object: T, options: WriteOptions & { readonly force?: boolean } = {}): Promise<T> {
    const path = objectPath(resource, nameOf(object));
    const query = options.force === true ? { force: 'true' } : {};
    const request = { method: 'PATCH', path, query, body: typed(resource, object), contentType: 'application/apply-patch+yaml' } as const;
    return this.#write(request, options);
  }

  /** Asks for the deletion; the object may stay for its finalizers. */
  async delete(resource: Resource<unknown>, name: ObjectName, options: DeleteOptions = {}): Promise<void> {
    const { uid, resourceVersion, propagation } = options;
    const body = {
      kind: 'DeleteOptions',
      apiVersion: 'v1',
      preconditions: uid === undefined && resourceVersion === undefined ? undefined : { uid, resourceVersion },
      propagationPolicy: propagation,
      dryRun: options.dryRun === true ? ['All'] : undefined,
    };
    const path = objectPath(resource, name);
    await this.#call({ method: 'DELETE', path, headers: JSON_TYPE, body: JSON.stringify(body) }, options);
  }

  /** A token of a service account (TokenRequest). */
  createToken(account: ObjectName, spec: TokenRequest['spec'], options?: CallOptions): Promise<TokenRequest> {
    const body = { apiVersion: 'authentication.k8s.io/v1', kind: 'TokenRequest', metadata: {}, spec };
    const path = objectPath(ServiceAccounts, account, 'token');
    return this.#call({ method: 'POST', path, headers: JSON_TYPE, body: JSON.stringify(body) }, options);
  }

  /** Asks a question of `reviews.ts`; the answer is in the status of what comes back. */
  createReview<T>(resource: Resource<T>, review: NoInfer<Omit<T, 'apiVersion' | 'kind' | 'status'>>, options?: CallOptions): Promise<T> {
    const body = { apiVersion: apiVersionOf(resource), kind: resource.kind, ...review };
    return this.#call({ method: 'POST', path: collectionPath(resource), headers: JSON_TYPE, body: JSON.stringify(body) }, options);
  }

  /** Events as they happen, until the server ends the watch. Throws as soon as the watch is refused or breaks. */
  async *watch<T extends ApiObject>(resource: Resource<T>, options: WatchOptions): AsyncGenerator<WatchEvent<T>> {
    const { resourceVersion, sendInitialEvents, timeoutSeconds } = options;
    const query = {
      ...selectors(options),
      watch: 'true',
      allowWatchBookmarks: 'true',
      timeoutSeconds: String(timeoutSeconds),
      resourceVersion,
      ...(sendInitialEvents === true && { sendInitialEvents: 'true', resourceVersionMatch: 'NotOlderThan' }),
    };
    const path = collectionPath(resource, options.namespace);
    const { signal, timeoutMs, idleMs } = options;
    const reply = await this.transport.stream({ method: 'GET', path, query, signal, timeoutMs, idleMs });
    if (reply.type === 'refused') throw replyError(reply.reply);
    yield* decodeWatch<T>(reply.chunks);
  }

  /** The text at a path outside of the resources, such as `/version` or `/readyz`. */
  async getText(path: string, options?: CallOptions): Promise<string> {
    return (await this.#request({ method: 'GET', path, headers: { accept: '*/*' } }, options)).body;
  }

  #put<T extends ApiObject>(resource: Resource<T>, object: T, subresource: Subresource, options?: WriteOptions): Promise<T> {
    return this.#write({ method: 'PUT', path: objectPath(resource, nameOf(object), subresource), body: typed(resource, object) }, options);
  }

  #patch<T extends ApiObject>(path: string, patch: Patch, options?: WriteOptions): Promise<T> {
    const contentType = Array.isArray(patch) ? 'application/json-patch+json' : 'application/merge-patch+json';
    return this.#write({ method: 'PATCH', path, body: patch, contentType }, options);
  }

  #write<T extends ApiObject>(request: WriteRequest, options: WriteOptions = {}): Promise<T> {
    const { body, contentType = JSON_TYPE['content-type'], query, ...rest } = request;
    const common = { fieldManager: this.#fieldManager, dryRun: options.dryRun === true ? 'All' : undefined };
    const headers = { 'content-type': contentType };
    return this.#object({ ...rest, query: { ...query, ...common }, headers, body: JSON.stringify(body) }, options);
  }

  /** An object as every server should answer it: whoever gets one relies on its metadata. */
  async #object<T extends ApiObject>(request: TransportRequest, options?: CallOptions): Promise<T> {
    const object: T = await this.#call(request, options);
    if (typeof object.metadata !== 'object' || object.metadata === null) throw this.#unreadable(request, 'an object with metadata');
    return object;
  }

  async #call<T>(request: TransportRequest, options?: CallOptions): Promise<T> {
    const { body } = await this.#request(request, options);
    const value = parsed(body);
    if (value === undefined) throw this.#unreadable(request, 'JSON');
    if (typeof value !== 'object' || value === null) throw this.#unreadable(request, 'an object');
    return value as T;
  }

  #unreadable({ method, path }: TransportRequest, wanted: string): TransportError {
    return new TransportError('EBADMSG', `${method} ${this.transport.server}${path}: the answer is not ${wanted}`);
  }

  async #request(request: TransportRequest, { signal, timeoutMs }: CallOptions = {}): Promise<{ readonly body: string }> {
    const reply = await this.transport.request({ ...request, signal, timeoutMs });
    if (reply.status < 200 || reply.status > 299) throw replyError(reply);
    return reply;
  }
}

/** Whether an error says that a version or a page is no longer known. */
export function isExpired(error: unknown): boolean {
  return error instanceof StatusError && error.code === 410;
}

/** The parser's own message would quote the body, which may hold a token. */
function parsed(body: string): unknown {
  try {
    return JSON.parse(body);
  } catch {
    return undefined;
  }
}

/** A page, and the limit that was small enough for it. */
interface FittingPage<T> {
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

const PAGE_LIMIT = 500;
const JSON_TYPE = { 'content-type': 'application/json' } as const;

function selectors({ labelSelector, fieldSelector }: Selection): Readonly<Record<string, string | undefined>> {
  return { labelSelector, fieldSelector };
}
