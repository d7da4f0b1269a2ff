// The part of a hub that one ManagedToken needs, on the wire: optimistic locking like Kubernetes, faults on demand, and a record of
// forbidden writes.

import type { ManagedToken } from '../../src/api/managed-token.gen.ts';
import { Label } from '../../src/api/names.ts';
import type { Secret } from '../../src/api/resources.ts';
import type { WireHandler, WireReply, WireRequest } from '../support/wire-server.ts';

export type Fault = (request: WireRequest, reply: WireReply) => void;

const CLUSTERS = '/apis/registry.purser.dev/v1alpha1/clusters';
const SECRETS = '/api/v1/namespaces/team-a/secrets';
const TOKEN = '/apis/tokens.purser.dev/v1alpha1/namespaces/team-a/managedtokens/ci';

export class ScriptedHub {
  token: ManagedToken;
  readonly secrets = new Map<string, Secret>();
  isAllowed = true;
  /** Set of the Cluster; undefined for none. */
  clusterSet: string | undefined;
  /** True if the hub rejects all writes of Secrets. */
  isReadOnly = false;
  /** Faults for the next requests, one each. */
  readonly faults: Fault[] = [];
  /** Mutating webhook for written Secrets. */
  webhook: (secret: Secret) => Secret = (secret) => secret;
  /** Called between a write of a Secret and its response. */
  meanwhile: () => void = () => {};
  /** Requests that were served without a fault, such as `PUT secrets`. */
  readonly served: string[] = [];
  /** Writes to Secrets that are not the ManagedToken's. */
  readonly trespasses: string[] = [];
  #version = 100;

  constructor(token: ManagedToken) {
    this.token = this.#stamp(token);
  }

  readonly handler: WireHandler = (request, reply) => {
    const fault = this.faults.shift();
    return fault === undefined ? this.serve(request, reply) : fault(request, reply);
  };

  /** Serves a request without faults. */
  serve(request: WireRequest, reply: WireReply): void {
    const { method, path, body } = request;
    if (path.startsWith(CLUSTERS)) return reply.json(200, this.#clusterList());
    this.served.push(`${method} ${shortOf(path)}`);
    if (path.endsWith('/subjectaccessreviews')) return reply.json(201, this.#review());
    if (this.isReadOnly && path.startsWith(SECRETS) && method !== 'GET') return reply.json(403, failureStatus(403, 'Forbidden'));
    if (path === SECRETS && method === 'POST') return this.#create(JSON.parse(body) as Secret, reply);
    if (path.startsWith(`${SECRETS}/`)) return this.#secret(path.slice(SECRETS.length + 1), request, reply);
    if (path.startsWith(TOKEN)) return this.#writeToken(request, reply);
    return reply.json(404, failureStatus(404, 'NotFound'));
  }

  /** Writes a Secret as another client. */
  put(secret: Secret): void {
    this.secrets.set(secret.metadata.name ?? '', this.#stamp(secret));
  }

  change(change: (token: ManagedToken) => ManagedToken): void {
    const changed = change(this.token);
    const generation = (this.token.metadata.generation ?? 0) + (changed.spec === this.token.spec ? 0 : 1);
    this.token = this.#stamp({ ...changed, metadata: { ...changed.metadata, generation } });
  }

  #clusterList(): object {
    const labels = this.clusterSet === undefined ? {} : { [Label.clusterSet]: this.clusterSet };
    return {
      kind: 'ClusterList',
      metadata: { resourceVersion: '1' },
      items: [{ metadata: { name: 'one', uid: 'one', resourceVersion: '1', labels } }],
    };
  }

  #review(): object {
    return { apiVersion: 'authorization.k8s.io/v1', kind: 'SubjectAccessReview', spec: {}, status: { allowed: this.isAllowed } };
  }

  #create(secret: Secret, reply: WireReply): void {
    const name = secret.metadata.name ?? '';
    if (this.secrets.has(name)) return reply.json(409, failureStatus(409, 'AlreadyExists'));
    return reply.json(201, this.#store(name, { ...secret, metadata: { ...secret.metadata, uid: `secret-${++this.#version}` } }));
  }

  #store(name: string, sent: Secret): Secret {
    const secret = this.#stamp(this.webhook(sent));
    this.secrets.set(name, secret);
    this.meanwhile();
    return secret;
  }

  #secret(name: string, { method, body }: WireRequest, reply: WireReply): void {
    const stored = this.secrets.get(name);
    if (stored === undefined) return reply.json(404, failureStatus(404, 'NotFound'));
    if (method === 'GET') return reply.json(200, stored);
    const sent = JSON.parse(body) as Secret & { readonly preconditions?: Secret['metadata'] };
    const { resourceVersion, uid } = sent.preconditions ?? sent.metadata;
    const isAnyVersion = method === 'DELETE' && resourceVersion === undefined;
    if ((resourceVersion !== stored.metadata.resourceVersion && !isAnyVersion) || uid !== stored.metadata.uid)
      return reply.json(409, failureStatus(409, 'Conflict'));
    if (!this.#isOurs(stored)) this.trespasses.push(`${method} ${name}`);
    if (method === 'DELETE') return reply.json(200, this.#delete(name, stored));
    if (stored.immutable === true || sent.type !== stored.type) return reply.json(422, failureStatus(422, 'Invalid'));
    return reply.json(200, this.#store(name, sent));
  }

  /** Deletes a Secret, or marks it if it has finalizers, and returns it. */
  #delete(name: string, stored: Secret): Secret {
    if (stored.metadata.finalizers === undefined) {
      this.secrets.delete(name);
      return stored;
    }
    const { deletionTimestamp = '2026-01-01T00:00:00Z' } = stored.metadata;
    return this.#store(name, { ...stored, metadata: { ...stored.metadata, deletionTimestamp } });
  }

  /** Returns whether the ManagedToken owns a Secret, or its status names the Secret. */
  #isOurs({ metadata: { uid, ownerReferences = [] } }: Secret): boolean {
    return ownerReferences.some((owner) => owner.uid === this.token.metadata.uid) || this.token.status?.secretRef?.uid === uid;
  }

  #writeToken({ method, body }: WireRequest, reply: WireReply): void {
    const sent = JSON.parse(body) as ManagedToken;
    if (sent.metadata.resourceVersion !== this.token.metadata.resourceVersion) return reply.json(409, failureStatus(409, 'Conflict'));
    const { finalizers } = sent.metadata;
    const metadata = { ...this.token.metadata, ...(finalizers && { finalizers }) };
    this.token = this.#stamp(
      method === 'PUT' ? { ...this.token, ...(sent.status && { status: sent.status }) } : { ...this.token, metadata },
    );
    return reply.json(200, this.token);
  }

  #stamp<T extends { readonly metadata: Secret['metadata'] }>(object: T): T {
    return { ...object, metadata: { ...object.metadata, namespace: 'team-a', resourceVersion: String(++this.#version) } };
  }
}

/** Returns the resource without its group and name. */
function shortOf(path: string): string {
  const [, , , , ...rest] = path.split('/').filter((part) => part !== '' && part !== 'apis');
  return path.endsWith('subjectaccessreviews') ? 'subjectaccessreviews' : [rest[0], rest[2]].filter(Boolean).join('/');
}

/** Returns the Status of a failure. */
export function failureStatus(code: number, reason: string): object {
  return { kind: 'Status', apiVersion: 'v1', metadata: {}, status: 'Failure', message: `scripted ${reason}`, reason, code };
}
