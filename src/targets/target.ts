// One target cluster in its current registration: addresses, credential and circuit breaker.

import type { CallOptions, KubeClient } from '../kube/client.ts';
import { rejectOnAbort } from '../kube/deadline.ts';
import { TransportError } from '../kube/transport-error.ts';
import { StatusError } from '../kubernetes/status.ts';
import { BoundedCache } from '../std/bounded-cache.ts';
import type { Clock } from '../std/clock.ts';
import { redactSecret } from '../std/sensitive.ts';
import { Once } from '../std/single-flight.ts';
import { admit, type Breaker, type CallOutcome, CLOSED_BREAKER, settle } from './circuit-breaker.ts';
import { secretsOf, type TargetCredential } from './credential.ts';
import { EndpointChoice } from './endpoint-choice.ts';
import type { PinnedEndpoints } from './endpoints.ts';
import type { HubIdentity } from './hub.ts';
import {
  canUseOtherAddress,
  IssueError,
  isClusterResponse,
  isOutage,
  isTimeout,
  redactError,
  toStatusFailure,
  toTransportFailure,
} from './issue-error.ts';

export interface TargetOptions {
  readonly clock: Clock;
  /** Addresses in order of preference. */
  readonly servers: readonly string[];
  /** Creates a client for an address, with the connections of another target if given. Throws an IssueError for a forbidden address. */
  readonly connect: (server: string, purpose: ClientPurpose, connections?: InheritedConnections) => KubeClient;
  /** Purser's credential; absent for a target that uses Purser's own client for the hub, which has its own credential. */
  readonly credential?: TargetCredential;
  /** Returns the endpoints to write to Secrets with tokens of the target. */
  readonly endpoints: () => PinnedEndpoints;
  /** Namespaces of the service accounts that the credential may issue tokens for; all by default. */
  readonly namespaces?: readonly string[] | undefined;
  /** Check that decides whether the target is the hub; absent in tests without a hub. */
  readonly hub?: HubIdentity;
  /** True if Purser verifies servers with the system roots, because the Cluster has no caBundle. */
  readonly usesSystemRoots?: boolean;
  /** True if other code uses the clients too, so the target does not close them. */
  readonly isShared?: boolean;
}

/** Use of a client: by the controllers, by the façade, or for probes. Each has its own connections, so that none waits for another. */
export type ClientPurpose = 'controllers' | 'facade' | 'probes';

/** Connections of another target. */
export type InheritedConnections = ReturnType<KubeClient['transport']['handOver']>;

/** Maximum number of connections per address and purpose. The requests of a probe are sequential. */
export const MAX_CONNECTIONS: Readonly<Record<ClientPurpose, number>> = { controllers: 16, facade: 16, probes: 1 };

/** One request to the target. It may be repeated at another address, so it must depend only on its arguments. */
export type TargetCall<T> = (client: KubeClient, options: CallOptions) => Promise<T>;

/** The part of a target that sends requests. */
export type TargetCaller = Pick<Target, 'call' | 'credential'>;

/** The part of a target that is needed to issue a token. */
export type TokenSource = Pick<Target, 'call' | 'credential' | 'clock' | 'hub' | 'namespaces' | 'username'>;

/** Maximum number of sets of accepted audiences to keep; limited, because tenants choose the audiences. */
const MAX_AUDIENCES = 64;

/** Sends requests to a target unless its circuit is open; tries its addresses in order. */
export class Target {
  readonly credential: TargetCredential | undefined;
  readonly hub: HubIdentity | undefined;
  readonly namespaces: readonly string[] | undefined;
  /** Purser's user name on the target. */
  readonly username = new Once<string>();
  /** Audiences of tokens that the API server accepted for its own API. Each key is a sorted list of audiences, as JSON. */
  readonly acceptedAudiences = new BoundedCache<true>(MAX_AUDIENCES);
  readonly clock: Clock;
  readonly #connect: TargetOptions['connect'];
  readonly #endpoints: TargetOptions['endpoints'];
  readonly #isShared: boolean;
  readonly #usesSystemRoots: boolean;
  readonly #choice: EndpointChoice;
  readonly #clients: Readonly<Record<ClientPurpose, Map<string, KubeClient>>> = {
    controllers: new Map(),
    facade: new Map(),
    probes: new Map(),
  };
  readonly #active: Record<ClientPurpose, number> = { controllers: 0, facade: 0, probes: 0 };
  #breaker: Breaker = CLOSED_BREAKER;
  #lastFailure = '';
  #isClosed = false;

  constructor(options: TargetOptions) {
    this.clock = options.clock;
    this.credential = options.credential;
    this.hub = options.hub;
    this.namespaces = options.namespaces;
    this.#endpoints = options.endpoints;
    this.#connect = options.connect;
    this.#isShared = options.isShared ?? false;
    this.#usesSystemRoots = options.usesSystemRoots ?? false;
    this.#choice = new EndpointChoice(options.servers);
  }

  /**
   * Returns the response to one request. Throws a StatusError for an error response, an IssueError if there is no usable response or the
   * circuit is open, and the reason of `signal` if it is aborted.
   */
  async call<T>(request: TargetCall<T>, signal?: AbortSignal): Promise<T> {
    return await this.#call(request, 'controllers', signal);
  }

  /** Returns the part of the target that issues tokens, over the connections of the façade. */
  forFacade(): TokenSource {
    const { credential, clock, hub, namespaces, username } = this;
    return { credential, clock, hub, namespaces, username, call: (request, signal) => this.#call(request, 'facade', signal) };
  }

  /** Throws an IssueError while the circuit is open or another request tests the cluster. Call it before work that needs the target. */
  rejectIfOpen(): void {
    this.#admit();
  }

  /** Creates a caller that sends probes, even while the circuit is open. Any response other than 502, 503 and 504 closes the circuit. */
  createProber(deadlineMs: number): TargetCaller {
    return { credential: this.credential, call: (request, signal) => this.#probe(request, deadlineMs, signal) };
  }

  /** Pinned endpoints to write to Secrets with tokens of the target. */
  get endpoints(): PinnedEndpoints {
    return this.#endpoints();
  }

  /** The address in use; undefined if there is none. */
  get activeServer(): string | undefined {
    return this.#choice.active;
  }

  /**
   * Takes over the connections of probes from a target with the same addresses, certificate authorities and proxy. After that, only this
   * target closes them. Does not take over other connections: they are idle most of the time, and keeping their pools would cost more
   * memory than a new connection is worth.
   */
  takeOver(former: Target): void {
    if (former.#isShared) return;
    for (const [server, { transport }] of former.#clients.probes)
      this.#clients.probes.set(server, this.#connect(server, 'probes', transport.handOver()));
  }

  /** Closes all connections immediately; requests in progress fail. */
  async close(): Promise<void> {
    this.#isClosed = true;
    const clients = this.#isShared ? [] : Object.values(this.#clients).flatMap((each) => [...each.values()]);
    await Promise.all(clients.map((client) => client.transport.close()));
  }

  async #call<T>(request: TargetCall<T>, purpose: ClientPurpose, signal: AbortSignal | undefined): Promise<T> {
    const admitted = this.#admit();
    this.#breaker = admitted;
    const mustQueue = this.#active[purpose] >= MAX_CONNECTIONS[purpose];
    this.#active[purpose] += 1;
    let outcome: CallOutcome = 'success';
    try {
      return await this.#callAnyAddress(request, { purpose, deadlineMs: DEADLINE_MS, signal });
    } catch (error) {
      outcome = mustQueue && isTimeout(error) ? 'abandoned' : toOutcome(error);
      throw this.#toRedactedError(error, signal);
    } finally {
      this.#active[purpose] -= 1;
      this.#breaker = settle(this.#breaker, { admitted, outcome }, this.clock.monotonic());
    }
  }

  #admit(): Breaker {
    const admission = admit(this.#breaker, this.clock.monotonic());
    if (admission.breaker === undefined) throw new IssueError('CircuitOpen', this.#lastFailure, { retryAfterMs: admission.waitMs });
    return admission.breaker;
  }

  async #probe<T>(request: TargetCall<T>, deadlineMs: number, signal: AbortSignal | undefined): Promise<T> {
    try {
      const response = await this.#callAnyAddress(request, { purpose: 'probes', deadlineMs, signal });
      this.#breaker = CLOSED_BREAKER;
      return response;
    } catch (error) {
      if (isClusterResponse(error)) this.#breaker = CLOSED_BREAKER;
      throw this.#toRedactedError(error, signal);
    }
  }

  async #callAnyAddress<T>(request: TargetCall<T>, { purpose, deadlineMs, signal }: CallParameters): Promise<T> {
    let endsAt = this.clock.monotonic() + deadlineMs;
    let first: unknown;
    for (const server of this.#choice.order(this.clock.monotonic())) {
      const token = this.credential?.type === 'serviceAccount' ? this.credential.tokens.get(server) : undefined;
      // The deadline excludes the request to the hub, whose failure is not a failure of the address.
      if (token !== undefined) endsAt += await this.#waitFor(token.get(), signal);
      try {
        const response = await request(this.#findOrCreateClient(server, purpose), { signal, timeoutMs: endsAt - this.clock.monotonic() });
        this.#choice.recordSuccess(server);
        return response;
      } catch (error) {
        // A canceled request is not a failure of the address.
        if (signal?.aborted) throw error;
        if (isClusterResponse(error)) this.#choice.recordSuccess(server);
        else this.#choice.recordFailure(server, this.clock.monotonic());
        first ??= error;
        if (!canUseOtherAddress(error)) throw error;
      }
    }
    throw first;
  }

  /**
   * Waits for a request to the hub. Returns its duration, in milliseconds. Throws its error, or the reason of `signal` if it is aborted.
   */
  async #waitFor(request: Promise<unknown>, signal: AbortSignal | undefined): Promise<number> {
    const startedAt = this.clock.monotonic();
    await (signal === undefined ? request : rejectOnAbort(request, signal));
    return this.clock.monotonic() - startedAt;
  }

  #findOrCreateClient(server: string, purpose: ClientPurpose): KubeClient {
    if (this.#isClosed)
      throw new IssueError('ClusterUnreachable', 'the registration of the cluster changed or was removed, or Purser is stopping');
    const clients = this.#clients[purpose];
    const client = clients.get(server) ?? this.#connect(server, purpose);
    clients.set(server, client);
    return client;
  }

  /** Redacts Purser's credential: a target could copy it into its response in an escaped form that the transport does not detect. */
  #toRedactedError(error: unknown, signal: AbortSignal | undefined): unknown {
    if (signal?.aborted) return error;
    const secrets = secretsOf(this.credential);
    if (error instanceof StatusError) {
      const response = secrets.reduce(redactError, error);
      this.#lastFailure = toStatusFailure(response).message;
      return response;
    }
    if (!(error instanceof TransportError)) return error;
    const failure = toTransportFailure(new TransportError(error.code, secrets.reduce(redactSecret, error.message)), this.#usesSystemRoots);
    this.#lastFailure = failure.message;
    return failure;
  }
}

/** Parameters of one request. */
interface CallParameters {
  readonly purpose: ClientPurpose;
  readonly deadlineMs: number;
  readonly signal: AbortSignal | undefined;
}

const DEADLINE_MS = 10_000;

/** Returns the outcome of a failed call for the circuit breaker. */
function toOutcome(error: unknown): CallOutcome {
  if (error instanceof StatusError) return isOutage(error) ? 'failure' : 'success';
  return error instanceof TransportError ? 'failure' : 'abandoned';
}
