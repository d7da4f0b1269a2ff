// One target cluster as it is registered at present: its addresses, our credential there, and how it has answered lately.

import type { CallOptions, KubeClient } from '../kube/client.ts';
import { TransportError } from '../kube/transport-error.ts';
import { StatusError } from '../kubernetes/status.ts';
import type { Clock } from '../std/clock.ts';
import { withoutSecret } from '../std/sensitive.ts';
import { admit, type Breaker, CLOSED, type Outcome, settled } from './breaker.ts';
import type { Credential } from './credential.ts';
import { EndpointChoice } from './endpoints.ts';
import { redacted, statusFailure, transportFailure } from './failure.ts';
import type { HubIdentity } from './hub.ts';
import { IssueError } from './issue-error.ts';
import { Once } from './once.ts';
import { isAnswer, isTimeout, mayTryElsewhere, outcomeOf } from './outcome.ts';
import type { PinnedEndpoints } from './pinned-endpoints.ts';

export interface TargetOptions {
  readonly clock: Clock;
  /** In the order of preference. */
  readonly servers: readonly string[];
  /** Makes a client of a server. Throws an IssueError if the server must not be spoken to. */
  readonly connect: (server: string, purpose: Purpose) => KubeClient;
  /** Absent on the hub, whose client has its own. */
  readonly credential?: Credential;
  /** Returns the endpoints that tokens of the target may be written next to. */
  readonly endpoints: () => PinnedEndpoints;
  /** Namespaces of the service accounts that the credential may issue tokens for; all by default. */
  readonly namespaces?: readonly string[] | undefined;
  /** Recognizes the hub; absent in tests without one. */
  readonly hub?: HubIdentity;
  /** Whether servers are held against the roots of the system, because the Cluster has no caBundle. */
  readonly usesSystemRoots?: boolean;
  /** Whether others use the clients, too: then they are not closed. */
  readonly isShared?: boolean;
}

/**
 * What a client is for. A probe must not wait for a connection that slow requests hold, nor a rotation for one that those
 * hold who call the façade.
 */
export type Purpose = 'requests' | 'calls' | 'probes';

/** How many connections to one address there are for each purpose. The questions of a probe follow each other. */
export const CONNECTIONS: Readonly<Record<Purpose, number>> = { requests: 16, calls: 16, probes: 1 };

/** One request to the target, made of nothing but its arguments: it may be made again at another address. */
export type Ask<T> = (client: KubeClient, options: CallOptions) => Promise<T>;

/** Whoever sends requests to a target: as everybody does, or as a probe. */
export type Asker = Pick<Target, 'call' | 'credential'>;

/** What it takes to have a target issue a token. */
export type TokenSource = Pick<Target, 'call' | 'credential' | 'clock' | 'hub' | 'namespaces' | 'username'>;

/** Sends requests to a target, one address after the other, while the target is worth asking. */
export class Target {
  readonly credential: Credential | undefined;
  readonly hub: HubIdentity | undefined;
  readonly namespaces: readonly string[] | undefined;
  /** Who we are there. */
  readonly username = new Once<string>();
  readonly clock: Clock;
  readonly #connect: TargetOptions['connect'];
  readonly #endpoints: TargetOptions['endpoints'];
  readonly #isShared: boolean;
  readonly #usesSystemRoots: boolean;
  readonly #choice: EndpointChoice;
  readonly #clients: Readonly<Record<Purpose, Map<string, KubeClient>>> = { requests: new Map(), calls: new Map(), probes: new Map() };
  readonly #underWay: Record<Purpose, number> = { requests: 0, calls: 0, probes: 0 };
  #breaker: Breaker = CLOSED;
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
   * The answer to one request. Throws a StatusError when the target refuses, an IssueError when there is no usable
   * answer or the circuit is open, and the reason of `signal` when that aborts.
   */
  async call<T>(ask: Ask<T>, signal?: AbortSignal): Promise<T> {
    return await this.#call(ask, 'requests', signal);
  }

  /** The same target for those who call the façade: however many they are, nobody else waits for them. */
  forCalls(): TokenSource {
    const { credential, clock, hub, namespaces, username } = this;
    return { credential, clock, hub, namespaces, username, call: (ask, signal) => this.#call(ask, 'calls', signal) };
  }

  /** Throws an IssueError while the circuit is open: for whoever would have to ask others before it asks here. */
  rejectIfOpen(): void {
    this.#admitted();
  }

  /** Asks also while the circuit is open, which any answer closes, a refusal as well: for whoever finds out how the target is. */
  prober(deadlineMs: number): Asker {
    return { credential: this.credential, call: (ask, signal) => this.#probe(ask, deadlineMs, signal) };
  }

  /** The endpoints that tokens of the target may be written next to: all of them are pinned. */
  get endpoints(): PinnedEndpoints {
    return this.#endpoints();
  }

  /** The address that is used now. */
  get activeServer(): string | undefined {
    return this.#choice.active;
  }

  /** Ends every connection at once; requests under way fail. */
  async close(): Promise<void> {
    this.#isClosed = true;
    const clients = this.#isShared ? [] : Object.values(this.#clients).flatMap((each) => [...each.values()]);
    await Promise.all(clients.map((client) => client.transport.close()));
  }

  async #call<T>(ask: Ask<T>, purpose: Purpose, signal: AbortSignal | undefined): Promise<T> {
    const admitted = this.#admitted();
    this.#breaker = admitted;
    const mustQueue = this.#underWay[purpose] >= CONNECTIONS[purpose];
    this.#underWay[purpose] += 1;
    let outcome: Outcome = 'success';
    try {
      return await this.#anywhere(ask, { purpose, deadlineMs: DEADLINE_MS, signal });
    } catch (error) {
      outcome = mustQueue && isTimeout(error) ? 'abandoned' : outcomeOf(error);
      throw this.#explained(error, signal);
    } finally {
      this.#underWay[purpose] -= 1;
      this.#breaker = settled(this.#breaker, { admitted, outcome }, this.clock.monotonic());
    }
  }

  #admitted(): Breaker {
    const admission = admit(this.#breaker, this.clock.monotonic());
    if (admission.breaker === undefined) throw new IssueError('CircuitOpen', this.#lastFailure, { retryAfterMs: admission.waitMs });
    return admission.breaker;
  }

  async #probe<T>(ask: Ask<T>, deadlineMs: number, signal: AbortSignal | undefined): Promise<T> {
    try {
      const answer = await this.#anywhere(ask, { purpose: 'probes', deadlineMs, signal });
      this.#breaker = CLOSED;
      return answer;
    } catch (error) {
      if (isAnswer(error)) this.#breaker = CLOSED;
      throw this.#explained(error, signal);
    }
  }

  async #anywhere<T>(ask: Ask<T>, { purpose, deadlineMs, signal }: Terms): Promise<T> {
    const endsAt = this.clock.monotonic() + deadlineMs;
    let first: unknown;
    for (const server of this.#choice.order(this.clock.monotonic())) {
      try {
        const answer = await ask(this.#client(server, purpose), { signal, timeoutMs: endsAt - this.clock.monotonic() });
        this.#choice.worked(server);
        return answer;
      } catch (error) {
        // Whoever calls a request off says nothing of the address.
        if (signal?.aborted) throw error;
        if (isAnswer(error)) this.#choice.worked(server);
        else this.#choice.failed(server, this.clock.monotonic());
        first ??= error;
        if (!mayTryElsewhere(error)) throw error;
      }
    }
    throw first;
  }

  #client(server: string, purpose: Purpose): KubeClient {
    if (this.#isClosed) throw new IssueError('ClusterUnreachable', 'its registration has changed meanwhile');
    const clients = this.#clients[purpose];
    const client = clients.get(server) ?? this.#connect(server, purpose);
    clients.set(server, client);
    return client;
  }

  /** A target knows our credential and could write it into whatever it answers, in an escaped form that the transport does not see. */
  #explained(error: unknown, signal: AbortSignal | undefined): unknown {
    if (signal?.aborted) return error;
    const secret = this.credential?.type === 'token' ? this.credential.token.reveal() : undefined;
    if (error instanceof StatusError) {
      const refusal = redacted(error, secret);
      this.#lastFailure = statusFailure(refusal).message;
      return refusal;
    }
    if (!(error instanceof TransportError)) return error;
    const failure = transportFailure(new TransportError(error.code, withoutSecret(error.message, secret)), this.#usesSystemRoots);
    this.#lastFailure = failure.message;
    return failure;
  }
}

/** How a request is made. */
interface Terms {
  readonly purpose: Purpose;
  readonly deadlineMs: number;
  readonly signal: AbortSignal | undefined;
}

const DEADLINE_MS = 10_000;
