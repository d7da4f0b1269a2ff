// A hub whose objects the test writes, and replicas of the façade that receive its events when the test steps them.

import type { ServerResponse } from 'node:http';
import type { Socket } from 'node:net';
import { Writable } from 'node:stream';
import { Subject, share } from 'rxjs';
import type { User } from '../../../src/access/user.ts';
import { Visibility } from '../../../src/access/visibility.ts';
import type { Cluster } from '../../../src/api/cluster.gen.ts';
import type { ApiObject, ClusterRole, ClusterRoleBinding, Stored } from '../../../src/api/resources.ts';
import { BodyStream } from '../../../src/facade/body-stream.ts';
import { CLUSTER_LIST } from '../../../src/facade/clusters/cluster-list.ts';
import { computeWatchLimits, type WatchLimits } from '../../../src/facade/limits/concurrency.ts';
import type { ListSource } from '../../../src/facade/listwatch/history.ts';
import { createListEndpoints, createSharedLimits, type ListEndpoints } from '../../../src/facade/listwatch/list-endpoints.ts';
import { formatFacadeVersionAt } from '../../../src/facade/listwatch/version.ts';
import type { FacadeReply, FacadeRequest, StreamedReply } from '../../../src/facade/request.ts';
import type { KubeClient } from '../../../src/kube/client.ts';
import type { ListWatchEvent } from '../../../src/kube/list-watch.ts';
import { objectKeyOf } from '../../../src/kube/paths.ts';
import { ObjectStore, reflectBatches } from '../../../src/kube/store.ts';
import type { Reply } from '../../../src/kubernetes/reply.ts';
import { StatusError, serviceUnavailable } from '../../../src/kubernetes/status.ts';
import { FakeClock } from '../../support/clock.ts';
import { silentLog } from '../../support/silent-log.ts';

/** A collection of the hub, with its history. */
export class Collection<T extends ApiObject> {
  readonly objects = new Map<string, Stored<T>>();
  readonly events: ListWatchEvent<T>[] = [];
  readonly #hub: HandHub;

  constructor(hub: HandHub) {
    this.#hub = hub;
  }

  put(name: string, object: Omit<T, 'metadata'> & { readonly metadata?: ApiObject['metadata'] }): void {
    const resourceVersion = this.#hub.next();
    const key = objectKeyOf({ metadata: { ...object.metadata, name } });
    const uid = this.objects.get(key)?.metadata.uid ?? `uid-${resourceVersion}`;
    const whole = { ...object, metadata: { ...object.metadata, name, uid, resourceVersion } } as Stored<T>;
    this.objects.set(key, whole);
    this.events.push({ type: 'applied', object: whole, resourceVersion });
  }

  delete(key: string): void {
    const object = this.objects.get(key);
    if (object === undefined) return;
    const resourceVersion = this.#hub.next();
    this.objects.delete(key);
    this.events.push({ type: 'deleted', object: { ...object, metadata: { ...object.metadata, resourceVersion } }, resourceVersion });
  }

  bookmark(): void {
    this.events.push({ type: 'bookmark', resourceVersion: this.#hub.revision });
  }
}

/** The hub: its objects, and its responses to reviews. */
export class HandHub {
  #revision = 100;
  readonly clusters = new Collection<Cluster>(this);
  readonly roles = new Collection<ClusterRole>(this);
  readonly bindings = new Collection<ClusterRoleBinding>(this);
  /** Users whom an authorizer other than RBAC allows to list all clusters. */
  readonly listers = new Set<string>();
  isDown = false;
  /** True if the hub never responds to reviews. */
  isSilent = false;
  /** Delays every response to a review; undefined for immediate responses. */
  delayReview: (() => Promise<void>) | undefined;
  /** Delays the next response to a review. */
  #held: Promise<void> | undefined;
  reviews = 0;

  /** Returns the version of all objects for a caller who sees everything, `later` revisions from now. */
  version(later = 0): string {
    return formatFacadeVersionAt(this.#revision + later, Visibility.everything);
  }

  get revision(): string {
    return String(this.#revision);
  }

  next(): string {
    this.#revision += 1;
    return this.revision;
  }

  /** Delays the response to the next review until the returned function is called. The hub decides when it receives the review. */
  holdReview(): () => void {
    const { promise, resolve } = Promise.withResolvers<void>();
    this.#held = promise;
    return resolve;
  }

  readonly createReview = (async (_resource: unknown, review: { readonly spec: { readonly user?: string } }) => {
    this.reviews += 1;
    if (this.isSilent) return Promise.withResolvers<never>().promise;
    if (this.isDown) throw serviceUnavailable('down', 1);
    const allowed = this.listers.has(review.spec.user ?? '');
    const held = this.#held;
    this.#held = undefined;
    await held;
    await this.delayReview?.();
    return { ...review, status: { allowed } };
  }) as unknown as KubeClient['createReview'];

  putCluster(name: string, labels: Readonly<Record<string, string>> = {}, address = 'https://10.0.0.1'): void {
    const serverEndpoints = [{ clientCIDR: '0.0.0.0/0', serverAddress: address }];
    const spec = {
      orchestratorApiEndpoints: { serverEndpoints },
      authInfo: { controller: { kind: 'Secret', name: 's', namespace: 'n' } },
    } as const;
    this.clusters.put(name, { apiVersion: 'registry.purser.dev/v1alpha1', kind: 'Cluster', metadata: { labels }, spec });
  }

  /** Grants a subject permission to get all clusters, or those with these names. */
  grant(
    role: string,
    names: readonly string[] | 'all',
    subject: { readonly kind: string; readonly name: string; readonly namespace?: string },
  ): void {
    this.roles.put(role, { rules: [viewerRule(names)] });
    this.bindings.put(role, { roleRef: { apiGroup: 'rbac.authorization.k8s.io', kind: 'ClusterRole', name: role }, subjects: [subject] });
  }
}

export function viewerRule(names: readonly string[] | 'all') {
  const rule = { apiGroups: ['registry.purser.dev'], resources: ['clusters'], verbs: ['get'] };
  return names === 'all' ? rule : { ...rule, resourceNames: [...names] };
}

/** An informer that has received the first events of a collection. */
export class Follower<T extends ApiObject> implements ListSource<T> {
  readonly store = new ObjectStore<T>();
  readonly #events$ = new Subject<ListWatchEvent<T>>();
  readonly batches$ = this.#events$.pipe(
    reflectBatches(this.store, () => {}),
    share(),
  );
  readonly #collection: Collection<T>;
  readonly #hub: HandHub;
  #taken = 0;

  constructor(hub: HandHub, collection: Collection<T>) {
    this.#hub = hub;
    this.#collection = collection;
  }

  get isBehind(): boolean {
    return this.#taken < this.#collection.events.length;
  }

  /** Receives the next event. */
  step(): void {
    const event = this.#collection.events[this.#taken];
    if (event === undefined) return;
    this.#taken += 1;
    this.#events$.next(event);
  }

  /** Lists again, as after a 410 from the hub. */
  list(): void {
    this.#taken = this.#collection.events.length;
    this.#events$.next({ type: 'listed', objects: [...this.#collection.objects.values()], resourceVersion: this.#hub.revision });
  }
}

export interface ReplicaOptions {
  readonly historyCapacity?: number;
  readonly annotationPrefixes?: readonly string[];
  readonly watchLimits?: WatchLimits;
}

export interface ClusterListOptions extends ReplicaOptions {
  readonly hub: HandHub;
  readonly clock: FakeClock;
  readonly clusters: ListSource<Cluster>;
  readonly roles: ListSource<ClusterRole>;
  readonly bindings: ListSource<ClusterRoleBinding>;
}

/** Creates the endpoints of the cluster list, which do not run yet. */
export function createClusterList({
  clusters: objects,
  watchLimits: limits = computeWatchLimits(undefined),
  ...options
}: ClusterListOptions) {
  const [random, list] = [() => 0.5, CLUSTER_LIST];
  const shared = createSharedLimits([list], { clock: options.clock, random, watchLimits: limits });
  return createListEndpoints({ ...options, list, objects, random, log: silentLog, limits: shared });
}

/** One replica of the façade with one list, whose informers receive the events of the hub as the test steps them. */
export class ListReplica {
  readonly clock: FakeClock;
  readonly endpoints: ListEndpoints;
  /** Informers by the names that tests use. */
  readonly followers: ReadonlyMap<string, Steppable>;

  constructor(clock: FakeClock, endpoints: ListEndpoints, followers: Readonly<Record<string, Steppable>>) {
    this.clock = clock;
    this.endpoints = endpoints;
    this.followers = new Map(Object.entries(followers));
    this.endpoints.run();
    for (const follower of this.followers.values()) follower.list();
  }

  /** Receives all pending events, and lets watchers write them. */
  async catchUp(): Promise<void> {
    for (const follower of this.followers.values()) while (follower.isBehind) follower.step();
    await settle();
  }

  /** Lists the objects in a namespace, or all. */
  async get(query: string, caller: TestCaller, namespace?: string): Promise<Response> {
    return toResponse(this.endpoints.list(requestOf(query, caller, namespace)));
  }

  async getOne(
    name: string,
    caller: TestCaller,
    { query = '', accept, namespace }: { readonly query?: string; readonly accept?: string; readonly namespace?: string } = {},
  ): Promise<Response> {
    const request = requestOf(query, caller, namespace);
    const params = { ...request.params, name };
    return toResponse(this.endpoints.get({ ...request, preferences: { ...request.preferences, accept }, params }));
  }

  /** Opens a watch; the stream contains the events so far. */
  async watch(
    query: string,
    caller: TestCaller,
    accept?: string,
    { isStalled = false, namespace }: { readonly isStalled?: boolean; readonly namespace?: string | undefined } = {},
  ): Promise<WatchStream> {
    const gone = new AbortController();
    const request = { ...requestOf(`watch=true&${query}`, caller, namespace), signal: gone.signal };
    const reply = await this.endpoints.list(
      accept === undefined ? request : { ...request, preferences: { ...request.preferences, accept } },
    );
    if (!('write' in reply)) throw new Error('not a stream');
    const stream = new WatchStream();
    stream.isStalled = isStalled;
    const onClose = () => gone.abort();
    stream.once('close', onClose);
    writeReply(reply, stream, this.clock, () => stream.off('close', onClose)).catch(() => stream.destroy());
    await settle();
    return stream;
  }
}

/** The part of a Follower that tests step. */
export type Steppable = Pick<Follower<ApiObject>, 'list' | 'step' | 'isBehind'>;

/** One replica of the façade with the cluster list. */
export class Replica extends ListReplica {
  readonly clusters: Follower<Cluster>;
  readonly roles: Follower<ClusterRole>;
  readonly bindings: Follower<ClusterRoleBinding>;

  constructor(hub: HandHub, clock = new FakeClock(), options: ReplicaOptions = {}) {
    const [clusters, roles, bindings] = [
      new Follower(hub, hub.clusters),
      new Follower(hub, hub.roles),
      new Follower(hub, hub.bindings),
    ] as const;
    super(clock, createClusterList({ clusters, roles, bindings, hub, clock, ...options }), { roles, bindings, objects: clusters });
    this.clusters = clusters;
    this.roles = roles;
    this.bindings = bindings;
  }
}

/** Lets all work finish that needs no timer. */
export async function settle(): Promise<void> {
  for (let round = 0; round < 4; round++) await new Promise((resolve) => setImmediate(resolve));
}

export interface TestCaller {
  readonly user: User;
  isValid: boolean;
  /** Delays checks of the token. */
  checked?: Promise<void>;
}

export function callerOf(username: string, ...groups: readonly string[]): TestCaller {
  return { user: { username, uid: `uid-${username}`, groups: [...groups, 'system:authenticated'], extra: {} }, isValid: true };
}

/** Returns the same caller with another token. */
export function withToken(caller: TestCaller, id: number): TestCaller {
  return { ...caller, user: { ...caller.user, extra: { 'authentication.kubernetes.io/credential-id': [`JTI=${id}`] } } };
}

export function requestOf(query: string, caller: TestCaller, namespace?: string): FacadeRequest {
  return {
    method: 'GET',
    params: namespace === undefined ? {} : { namespace },
    query: new URLSearchParams(query),
    preferences: { accept: undefined, userAgent: undefined, pretty: new URLSearchParams(query).get('pretty') ?? undefined },
    contentType: undefined,
    userAgent: undefined,
    header: () => undefined,
    body: async () => Buffer.alloc(0),
    signal: new AbortController().signal,
    requestId: 'request',
    address: '10.0.0.1',
    isMultiplexed: false,
    bufferBytes: 0,
    caller: { user: caller.user, tokenId: caller.user.username, isStillValid: () => checkToken(caller) },
    warn: () => {},
  };
}

async function checkToken(caller: TestCaller): Promise<boolean> {
  await caller.checked;
  return caller.isValid;
}

export interface Response {
  readonly status: number;
  readonly headers: Readonly<Record<string, unknown>>;
  readonly text: string;
  readonly body: ListBody;
}

interface ListBody {
  readonly kind?: string;
  readonly message?: string;
  readonly reason?: string;
  readonly metadata: {
    readonly resourceVersion: string;
    readonly continue: string;
    readonly remainingItemCount?: number;
    readonly name?: string;
  };
  readonly items: readonly ListedObject[];
}

export interface ListedObject {
  readonly metadata: {
    readonly name: string;
    readonly namespace?: string;
    readonly resourceVersion: string;
    readonly labels?: Readonly<Record<string, string>>;
  };
}

async function toResponse(reply: Promise<FacadeReply>): Promise<Response> {
  try {
    const found = await reply;
    const { status, headers } = found;
    const text = 'write' in found ? await readBody(found) : textOf(found.body);
    found.onClosed?.();
    return { status, headers, text, body: parseList(text) };
  } catch (error) {
    if (!(error instanceof StatusError)) throw error;
    return { status: error.code, headers: {}, text: JSON.stringify(error.status), body: error.status as unknown as ListBody };
  }
}

function textOf(body: Reply['body']): string {
  if (typeof body !== 'string' && !Buffer.isBuffer(body)) throw new Error('the body is neither a string nor a Buffer');
  return body.toString();
}

function parseList(text: string): ListBody {
  try {
    return JSON.parse(text) as ListBody;
  } catch {
    return { metadata: { resourceVersion: '', continue: '' }, items: [] };
  }
}

async function readBody(reply: StreamedReply): Promise<string> {
  const stream = new WatchStream();
  await writeReply(reply, stream);
  return stream.text;
}

/** Writes a reply to its end, or until it takes over the stream and calls `onTaken`. */
export async function writeReply(reply: StreamedReply, stream: Writable, clock = new FakeClock(), onTaken = () => {}): Promise<void> {
  let isTaken = false;
  await reply.write(stream as unknown as ServerResponse, async (prepare) => {
    const result = await prepare();
    isTaken = true;
    onTaken();
    return { stream: new BodyStream(stream as unknown as Socket, { isChunked: false, clock }), result };
  });
  if (!isTaken) stream.end();
}

export interface WatchedEvent {
  readonly type: 'ADDED' | 'MODIFIED' | 'DELETED' | 'BOOKMARK' | 'ERROR';
  readonly object: ListedObject & {
    readonly code?: number;
    readonly message?: string;
    readonly metadata: { readonly annotations?: object };
  };
}

/** The reader's end of a stream; the reader can stall. */
export class WatchStream extends Writable {
  #text = '';
  #read = 0;
  #stalled: (() => void) | undefined;
  isStalled = false;

  constructor() {
    super({ highWaterMark: 256 });
  }

  override _write(chunk: Buffer, _encoding: BufferEncoding, done: () => void): void {
    this.#text += chunk.toString();
    if (this.isStalled) this.#stalled = done;
    else done();
  }

  get text(): string {
    return this.#text;
  }

  /** Returns the next events that have arrived. */
  take(count = Number.POSITIVE_INFINITY): readonly WatchedEvent[] {
    const lines = this.#text.slice(this.#read).split('\n').slice(0, -1).slice(0, count);
    this.#read += lines.reduce((sum, line) => sum + line.length + 1, 0);
    return lines.map((line) => JSON.parse(line) as WatchedEvent);
  }

  /** Ends a stall. */
  resumeReading(): void {
    this.isStalled = false;
    const done = this.#stalled;
    this.#stalled = undefined;
    done?.();
  }

  /** Disconnects. */
  leave(): void {
    this.destroy();
  }
}
