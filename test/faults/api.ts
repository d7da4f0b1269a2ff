// Kubernetes client of the bench, independent of Purser's code: one request, one response, with a deadline.

import type { IncomingMessage } from 'node:http';
import { Agent, request as httpsRequest } from 'node:https';
import { text } from 'node:stream/consumers';

/** Kubernetes object with the fields that the bench reads. */
export interface KubeObject {
  readonly kind?: string;
  readonly metadata: Metadata;
  readonly type?: string;
  readonly immutable?: boolean;
  readonly data?: Readonly<Record<string, string>>;
  readonly spec?: Readonly<Record<string, unknown>>;
  readonly status?: ObjectStatus;
}

export interface Metadata {
  readonly name: string;
  readonly namespace?: string;
  readonly uid?: string;
  readonly resourceVersion?: string;
  readonly generation?: number;
  readonly annotations?: Readonly<Record<string, string>>;
  readonly finalizers?: readonly string[];
  readonly deletionTimestamp?: string;
}

export interface ObjectStatus {
  readonly observedGeneration?: number;
  readonly rotations?: number;
  readonly clusters?: number;
  readonly ready?: number;
  readonly updated?: number;
  readonly expirationTimestamp?: string;
  readonly token?: string;
  readonly authenticated?: boolean;
  readonly user?: { readonly username?: string };
  readonly conditions?: readonly Condition[];
}

export interface Condition {
  readonly type: string;
  readonly status: string;
  readonly reason?: string;
  readonly message?: string;
  readonly lastTransitionTime?: string;
}

/** Response with an error status. */
export class ApiError extends Error {
  readonly code: number;

  constructor(code: number, body: string) {
    super(`${code}: ${body.slice(0, 200)}`);
    this.code = code;
  }
}

const TIMEOUT_MS = 5_000;

/** Client of one API server, authenticated as the administrator or with another bearer token. */
export class Api {
  readonly #port: number;
  readonly #ca: () => string;
  readonly #bearer: string;
  #agent: Agent;

  constructor(port: number, ca: () => string, bearer = 'admintoken') {
    this.#port = port;
    this.#ca = ca;
    this.#bearer = bearer;
    this.#agent = this.#createAgent();
  }

  /** Returns a client of the same server that authenticates with another token. */
  as(bearer: string): Api {
    return new Api(this.#port, this.#ca, bearer);
  }

  get(path: string): Promise<KubeObject> {
    return this.#json('GET', path);
  }

  async list(path: string): Promise<readonly KubeObject[]> {
    return (await this.#json<{ readonly items: readonly KubeObject[] }>('GET', path)).items;
  }

  /** Returns the object, or undefined if it does not exist. */
  find(path: string): Promise<KubeObject | undefined> {
    return this.get(path).catch((error: unknown) => ignoreNotFound(error));
  }

  create(path: string, body: object): Promise<KubeObject> {
    return this.#json('POST', path, body);
  }

  update(path: string, body: object): Promise<KubeObject> {
    return this.#json('PUT', path, body);
  }

  patch(path: string, body: object): Promise<KubeObject> {
    return this.#json('PATCH', path, body, 'application/merge-patch+json');
  }

  apply(path: string, body: object): Promise<KubeObject> {
    return this.#json('PATCH', `${path}?fieldManager=bench&force=true`, body, 'application/apply-patch+yaml');
  }

  async delete(path: string, body: object = {}): Promise<void> {
    await this.#json('DELETE', path, body).catch(ignoreNotFound);
  }

  /** Sends any request; returns 200 for a success, the status of an error, or 0 without a response. */
  status(method: string, path: string, body?: object, type?: string): Promise<number> {
    return this.#json(method, path, body, type).then(
      () => 200,
      (error: unknown) => (error instanceof ApiError ? error.code : 0),
    );
  }

  /** Drops all connections; call it after a restart of the server. */
  reconnect(): void {
    this.#agent.destroy();
    this.#agent = this.#createAgent();
  }

  close(): void {
    this.#agent.destroy();
  }

  #createAgent(): Agent {
    return new Agent({ keepAlive: true, ca: this.#ca() });
  }

  async #json<T = KubeObject>(method: string, path: string, body?: object, type = 'application/json'): Promise<T> {
    const sent = body && JSON.stringify(body);
    const length = sent && { 'content-type': type, 'content-length': Buffer.byteLength(sent) };
    const headers = { authorization: `Bearer ${this.#bearer}`, ...length };
    const { promise, resolve, reject } = Promise.withResolvers<IncomingMessage>();
    const signal = AbortSignal.timeout(TIMEOUT_MS);
    const outgoing = httpsRequest({ host: '127.0.0.1', port: this.#port, agent: this.#agent, method, path, headers, signal }, resolve);
    outgoing.on('error', reject);
    outgoing.end(sent);
    const response = await promise;
    const read = await text(response);
    if ((response.statusCode ?? 0) >= 300) throw new ApiError(response.statusCode ?? 0, read);
    return JSON.parse(read) as T;
  }
}

function ignoreNotFound(error: unknown): undefined {
  if (!(error instanceof ApiError && error.code === 404)) throw error as Error;
}

/** URL paths of collections, and of objects if a name is given. */
export const paths = {
  tokens: (namespace: string, name = '') => joinPath(`/apis/tokens.purser.dev/v1alpha1/namespaces/${namespace}/managedtokens`, name),
  sets: (namespace: string, name = '') => joinPath(`/apis/tokens.purser.dev/v1alpha1/namespaces/${namespace}/managedtokensets`, name),
  clusters: (name = '') => joinPath('/apis/registry.purser.dev/v1alpha1/clusters', name),
  secrets: (namespace: string, name = '') => joinPath(`/api/v1/namespaces/${namespace}/secrets`, name),
  serviceAccounts: (namespace: string, name = '') => joinPath(`/api/v1/namespaces/${namespace}/serviceaccounts`, name),
  namespaces: (name = '') => joinPath('/api/v1/namespaces', name),
  pods: (namespace: string, name = '') => joinPath(`/api/v1/namespaces/${namespace}/pods`, name),
  rbac: (plural: string, name = '') => joinPath(`/apis/rbac.authorization.k8s.io/v1/${plural}`, name),
  crds: (name = '') => joinPath('/apis/apiextensions.k8s.io/v1/customresourcedefinitions', name),
  lease: '/apis/coordination.k8s.io/v1/namespaces/purser-system/leases/purser',
  reviews: '/apis/authentication.k8s.io/v1/tokenreviews',
} as const;

function joinPath(collection: string, name: string): string {
  return name === '' ? collection : `${collection}/${name}`;
}

export function base64(value: string): string {
  return Buffer.from(value).toString('base64');
}

/** Returns the status and reason of a condition, such as `True/Issued`, or an empty string if the condition is absent. */
export function conditionOf({ status }: KubeObject, type: string): string {
  const condition = status?.conditions?.find((each) => each.type === type);
  return condition === undefined ? '' : `${condition.status}/${condition.reason ?? ''}`;
}
