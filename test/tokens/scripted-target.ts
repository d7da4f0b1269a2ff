// The part of a target that one service account needs, on the wire: tokens, the anchors that they are bound to, and reviews.

import type { Clock } from '../../src/std/clock.ts';
import { formatTimestamp } from '../../src/std/timestamp.ts';
import type { WireHandler, WireReply, WireRequest } from '../support/wire-server.ts';
import { ACCOUNT_UID, errorStatus, jwt, SUBJECT } from '../targets/wire-target.ts';

const ACCOUNT = '/api/v1/namespaces/deploy/serviceaccounts/deployer';
const SECRETS = '/api/v1/namespaces/deploy/secrets';

interface Anchor {
  readonly metadata: {
    readonly name: string;
    readonly uid: string;
    readonly resourceVersion: string;
    readonly labels?: Readonly<Record<string, string>>;
    readonly ownerReferences?: readonly { readonly uid: string }[];
  };
}

interface Issued {
  readonly audiences: readonly string[];
  readonly accountUID: string;
  readonly anchorUID: string | undefined;
  readonly expiresAt: number;
}

interface PostedRequest {
  readonly metadata: { readonly uid?: string };
  readonly spec: {
    readonly audiences: readonly string[];
    readonly expirationSeconds: number;
    readonly boundObjectRef?: { readonly name: string; readonly uid?: string };
  };
}

export class ScriptedTarget {
  /** Times of issuances. */
  readonly issuedAt: number[] = [];
  readonly anchors = new Map<string, Anchor>();
  readonly #clock: Clock;
  readonly #tokens = new Map<string, Issued>();
  #accountUID = ACCOUNT_UID;
  #count = 0;

  constructor(clock: Clock) {
    this.#clock = clock;
  }

  readonly handler: WireHandler = (request, reply) => {
    const { method, path, body } = request;
    if (path === `${ACCOUNT}/token`) return this.#issue(JSON.parse(body) as PostedRequest, reply);
    if (path === ACCOUNT)
      return reply.json(200, { metadata: { name: 'deployer', namespace: 'deploy', uid: this.#accountUID, resourceVersion: '1' } });
    if (path.endsWith('/tokenreviews')) return this.#review(request, reply);
    if (path === SECRETS && method === 'POST') return this.#create(JSON.parse(body) as Anchor, reply);
    if (path.startsWith(`${SECRETS}/`)) return this.#anchor(path.slice(SECRETS.length + 1), request, reply);
    return reply.json(404, errorStatus(404, `no ${path}`));
  };

  /** Returns whether the API accepts the token. */
  accepts(token: string): boolean {
    const issued = this.#tokens.get(token);
    return issued !== undefined && this.#isAlive(issued);
  }

  /** Re-creates the service account, which deletes its anchors. */
  recreateAccount(): void {
    this.#accountUID = `account-${++this.#count}`;
    for (const [name, { metadata }] of this.anchors) {
      if (!metadata.ownerReferences?.some(({ uid }) => uid === this.#accountUID)) this.anchors.delete(name);
    }
  }

  #isAlive({ accountUID, anchorUID, expiresAt }: Issued): boolean {
    const isBound = anchorUID === undefined || [...this.anchors.values()].some(({ metadata }) => metadata.uid === anchorUID);
    return accountUID === this.#accountUID && isBound && expiresAt > this.#clock.now();
  }

  #issue({ metadata, spec }: PostedRequest, reply: WireReply): void {
    if (metadata.uid !== undefined && metadata.uid !== this.#accountUID) return refuse(reply, 409, 'serviceaccounts');
    const { boundObjectRef: bound, audiences, expirationSeconds } = spec;
    const anchorUID = bound && this.anchors.get(bound.name)?.metadata.uid;
    if (bound !== undefined && anchorUID === undefined) return refuse(reply, 404, 'secrets');
    if (bound?.uid !== undefined && bound.uid !== anchorUID) return refuse(reply, 409, 'secrets');
    const at = Math.floor(this.#clock.now() / 1000);
    const expiresAt = (at + expirationSeconds) * 1000;
    const serviceaccount = { name: 'deployer', uid: this.#accountUID };
    const kubernetes = { namespace: 'deploy', serviceaccount, ...(bound && { secret: { name: bound.name, uid: anchorUID } }) };
    const times = { iat: at, nbf: at, exp: at + expirationSeconds };
    const token = jwt({ sub: SUBJECT, aud: audiences, ...times, jti: `jti-${++this.#count}`, 'kubernetes.io': kubernetes });
    this.#tokens.set(token, { audiences, accountUID: this.#accountUID, anchorUID, expiresAt });
    this.issuedAt.push(this.#clock.now());
    const response = { apiVersion: 'authentication.k8s.io/v1', kind: 'TokenRequest', metadata: { uid: this.#accountUID }, spec };
    const headers = { date: new Date(this.#clock.now()).toUTCString() };
    reply.json(201, { ...response, status: { token, expirationTimestamp: formatTimestamp(expiresAt) } }, headers);
  }

  #review({ body }: WireRequest, reply: WireReply): void {
    const { spec } = JSON.parse(body) as { spec: { token: string; audiences: readonly string[] } };
    const issued = this.#tokens.get(spec.token);
    const audiences = spec.audiences.filter((audience) => issued?.audiences.includes(audience));
    const isGood = issued !== undefined && this.#isAlive(issued) && audiences.length > 0;
    const status = isGood ? { authenticated: true, user: { username: SUBJECT }, audiences } : { authenticated: false };
    reply.json(201, { apiVersion: 'authentication.k8s.io/v1', kind: 'TokenReview', metadata: {}, spec: {}, status });
  }

  #create(anchor: Anchor, reply: WireReply): void {
    const { name } = anchor.metadata;
    if (this.anchors.has(name)) return refuse(reply, 409, 'secrets', 'AlreadyExists');
    this.anchors.set(name, {
      ...anchor,
      metadata: { ...anchor.metadata, uid: `anchor-${++this.#count}`, resourceVersion: String(this.#count) },
    });
    reply.json(201, this.anchors.get(name));
  }

  #anchor(name: string, { method, body }: WireRequest, reply: WireReply): void {
    const anchor = this.anchors.get(name);
    if (anchor === undefined) return refuse(reply, 404, 'secrets', 'NotFound');
    if (method === 'DELETE') {
      const { preconditions } = JSON.parse(body) as { preconditions: { uid: string } };
      if (preconditions.uid !== anchor.metadata.uid) return refuse(reply, 409, 'secrets', 'Conflict');
      this.anchors.delete(name);
    }
    reply.json(200, anchor);
  }
}

function refuse(reply: WireReply, code: number, kind: string, reason = code === 404 ? 'NotFound' : 'Conflict'): void {
  reply.json(code, errorStatus(code, `scripted ${reason}`, { reason, details: { kind } }));
}
