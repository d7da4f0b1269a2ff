// A target on the wire that authenticates Purser by the tokens that it issued: reviews, anchors and tokens for Purser's service account,
// all on the simulated clock.

import type { Clock } from '../../src/std/clock.ts';
import { formatTimestamp } from '../../src/std/timestamp.ts';
import type { WireHandler, WireReply, WireRequest } from '../support/wire-server.ts';
import { errorStatus, jwt } from '../targets/wire-target.ts';

const SERVICE_ACCOUNT = '/api/v1/namespaces/purser-system/serviceaccounts/purser';
const SECRETS = '/api/v1/namespaces/purser-system/secrets';
export const USERNAME = 'system:serviceaccount:purser-system:purser';

interface Anchor {
  readonly metadata: {
    readonly namespace: string;
    readonly name: string;
    readonly resourceVersion: string;
    readonly uid: string;
    readonly labels?: Readonly<Record<string, string>>;
  };
}

interface Issued {
  readonly username: string;
  readonly generation: number;
  readonly anchorUID: string | undefined;
  readonly expiresAt: number;
}

/** A request to the target. */
export interface TargetRequest {
  /** Method and resource, such as `POST token`. */
  readonly name: string;
  readonly at: number;
  readonly bearer: string;
}

let count = 0;

export class ScriptedCluster {
  readonly anchors = new Map<string, Anchor>();
  /** Requests other than probes. */
  readonly requests: TargetRequest[] = [];
  /** Bearer of the last probe. */
  probedWith = '';
  /** All tokens so far. */
  readonly issued = new Map<string, Issued>();
  /** Lifetime that is granted, in seconds; the requested one by default. */
  grantedSeconds: number | undefined;
  /** Claims and fields of responses that differ from correct ones. */
  changes: { readonly claims?: object; readonly isOpaque?: boolean; readonly username?: string } = {};
  /** Offset of the target's clock from the simulated clock, in milliseconds. */
  skewMs = 0;
  /** Responds in place of the target and returns true; returns false if the target must respond. */
  intercept: (name: string, reply: WireReply) => boolean = () => false;
  readonly #clock: Clock;
  #generation = 0;

  constructor(clock: Clock) {
    this.#clock = clock;
  }

  readonly handler: WireHandler = (request, reply) => {
    const bearer = request.headers.authorization?.replace(/^Bearer /, '') ?? '';
    const name = nameOf(request);
    if (name === 'GET readyz') this.probedWith = bearer;
    if (!isProbe(name)) this.requests.push({ name, at: this.#clock.now(), bearer });
    if (this.intercept(name, reply)) return;
    const issued = this.issued.get(bearer);
    if (issued === undefined || !this.isAlive(issued)) return reply.json(401, errorStatus(401, 'Unauthorized', { reason: 'Unauthorized' }));
    this.#serve(request, reply, issued);
  };

  /** Issues a token as an administrator does for registration. */
  issueToken(seconds = 31_536_000, more: { readonly username?: string } = {}): string {
    const { username = USERNAME } = more;
    return this.#newToken(seconds, { username });
  }

  /** Returns whether the API accepts a token. */
  accepts(token: string): boolean {
    const issued = this.issued.get(token);
    return issued !== undefined && this.isAlive(issued);
  }

  /** Invalidates all tokens, as a new signing key or a re-created service account does. */
  invalidate(): void {
    this.#generation += 1;
  }

  isAlive({ generation, anchorUID, expiresAt }: Issued): boolean {
    const isBound = anchorUID === undefined || [...this.anchors.values()].some(({ metadata }) => metadata.uid === anchorUID);
    return generation === this.#generation && isBound && expiresAt > this.#now();
  }

  #now(): number {
    return this.#clock.now() + this.skewMs;
  }

  #serve(request: WireRequest, reply: WireReply, { username }: Issued): void {
    const { method, path, body } = request;
    if (path === '/readyz') return reply.text(200, 'ok');
    if (path === '/version') return reply.json(200, { gitVersion: 'v1.36.4' });
    if (path.endsWith('/selfsubjectreviews')) return reply.json(201, { status: { userInfo: { username } } });
    if (path.endsWith('/selfsubjectaccessreviews')) return reply.json(201, { status: { allowed: true } });
    if (path === `${SERVICE_ACCOUNT}/token`) return this.#issue(body, reply);
    if (path === SECRETS && method === 'GET') return this.#list(request, reply);
    if (path === SECRETS && method === 'POST') return this.#create(JSON.parse(body) as Anchor, reply);
    if (path.startsWith(`${SECRETS}/`)) return this.#anchor(path.slice(SECRETS.length + 1), request, reply);
    return reply.json(404, errorStatus(404, `no ${path}`, { reason: 'NotFound' }));
  }

  #issue(body: string, reply: WireReply): void {
    const { spec } = JSON.parse(body) as {
      readonly spec: { readonly expirationSeconds: number; readonly boundObjectRef?: { readonly name: string; readonly uid?: string } };
    };
    const bound = spec.boundObjectRef;
    const anchor = bound && this.anchors.get(bound.name);
    if (bound !== undefined && anchor?.metadata.uid !== bound.uid) return refuse(reply, 404, 'NotFound');
    const seconds = this.grantedSeconds ?? spec.expirationSeconds;
    const { username = USERNAME } = this.changes;
    const token = this.#newToken(seconds, { username, ...(anchor && { anchor }) });
    const expirationTimestamp = formatTimestamp(this.#now() + seconds * 1_000);
    const response = { apiVersion: 'authentication.k8s.io/v1', kind: 'TokenRequest', metadata: {}, spec };
    reply.json(201, { ...response, status: { token, expirationTimestamp } }, { date: new Date(this.#now()).toUTCString() });
  }

  #newToken(seconds: number, { username, anchor }: { readonly username: string; readonly anchor?: Anchor }): string {
    const at = Math.floor(this.#now() / 1_000);
    const secret = anchor && { secret: { name: anchor.metadata.name, uid: anchor.metadata.uid } };
    const kubernetes = { namespace: 'purser-system', serviceaccount: { name: 'purser', uid: 'account-uid' }, ...secret };
    const claims = { sub: username, aud: ['api'], iat: at, nbf: at, exp: at + seconds, 'kubernetes.io': kubernetes, jti: `jti-${++count}` };
    const token = this.changes.isOpaque === true ? `opaque-token-${++count}` : jwt({ ...claims, ...this.changes.claims });
    const { username: actual = username } = this.changes;
    const expiresAt = (at + seconds) * 1_000;
    this.issued.set(token, { username: actual, generation: this.#generation, anchorUID: anchor?.metadata.uid, expiresAt });
    return token;
  }

  #create(anchor: Anchor, reply: WireReply): void {
    const { name } = anchor.metadata;
    if (this.anchors.has(name)) return refuse(reply, 409, 'AlreadyExists');
    const metadata = { ...anchor.metadata, uid: `anchor-${++count}`, resourceVersion: '1' };
    this.anchors.set(name, { ...anchor, metadata });
    reply.json(201, this.anchors.get(name));
  }

  #list({ query }: WireRequest, reply: WireReply): void {
    const [key = '', value] = (query.get('labelSelector') ?? '').split('=');
    const items = [...this.anchors.values()].filter(({ metadata }) => metadata.labels?.[key] === value);
    reply.json(200, { kind: 'SecretList', apiVersion: 'v1', metadata: { resourceVersion: '1' }, items });
  }

  #anchor(name: string, { method, body }: WireRequest, reply: WireReply): void {
    const anchor = this.anchors.get(name);
    if (anchor === undefined) return refuse(reply, 404, 'NotFound');
    if (method === 'DELETE') {
      const { preconditions } = JSON.parse(body) as { readonly preconditions: { readonly uid: string } };
      if (preconditions.uid !== anchor.metadata.uid) return refuse(reply, 409, 'Conflict');
      this.anchors.delete(name);
    }
    reply.json(200, anchor);
  }
}

/** Responds with 403 as the authorizer of a target does. */
export function forbid(reply: WireReply): true {
  const message = `User "${USERNAME}" cannot create resource "secrets" in API group "" in the namespace "purser-system"`;
  reply.json(403, errorStatus(403, message, { reason: 'Forbidden' }));
  return true;
}

function refuse(reply: WireReply, code: number, reason: string): void {
  reply.json(code, errorStatus(code, `scripted ${reason}`, { reason, details: { kind: 'secrets' } }));
}

/** Returns the method and the last known part of the path, such as `DELETE secrets`. */
function nameOf({ method, path }: WireRequest): string {
  const part = path.startsWith(SECRETS) ? 'secrets' : path.slice(path.lastIndexOf('/') + 1);
  return `${method} ${part}`;
}

function isProbe(name: string): boolean {
  return /readyz|version|selfsubjectaccessreviews/.test(name);
}
