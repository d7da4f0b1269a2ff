// Recognizes the hub among the targets: a Cluster with any name and credential can represent the hub.

import type { KeyObject } from 'node:crypto';
import { Namespaces } from '../api/resources.ts';
import type { CallOptions, KubeClient } from '../kube/client.ts';
import { rejectOnAbort } from '../kube/deadline.ts';
import { parseServiceAccountNamespace } from '../kubernetes/service-account.ts';
import { isSignedBy, KEY_SET_PATH, parseKeySet } from '../kubernetes/signing-keys.ts';
import { StatusError } from '../kubernetes/status.ts';
import { uidOf } from '../kubernetes/untrusted.ts';
import { omitUndefined } from '../std/omit-undefined.ts';
import { Once } from '../std/single-flight.ts';
import type { TargetCredential } from './credential.ts';
import type { PinnedEndpoints } from './endpoints.ts';
import { IssueError } from './issue-error.ts';
import { normalizeServer } from './policy/registration.ts';

/** The hub and Purser's namespace on it. */
export interface HubSettings {
  /** Value of --hub-cluster: the name of the Cluster that represents the hub; undefined if it is not set. */
  readonly clusterName?: string | undefined;
  readonly client: KubeClient;
  /** Purser's namespace on the hub. */
  readonly namespace: string;
}

/** A target that may be the hub, and Purser's user on it. */
export interface HubCandidate {
  readonly credential: TargetCredential | undefined;
  /** Purser's user name on the target. */
  readonly username: string;
  call<T>(request: (client: KubeClient, options: CallOptions) => Promise<T>): Promise<T>;
}

/** Returns the hub's address and certificate authority as Purser itself uses them: no Cluster can change these. */
export function toHubEndpoints({ client }: HubSettings): PinnedEndpoints {
  const { server, ca } = client.transport;
  return omitUndefined({
    servers: [normalizeServer(server) ?? server],
    caBundle: ca === undefined ? undefined : Buffer.from(ca).toString('base64'),
  });
}

/**
 * Returns whether one of these addresses is an address of the hub: the one that Purser uses, or a DNS name that pods use for their API
 * server.
 */
export function isHubAddress(hub: HubSettings, servers: readonly string[]): boolean {
  const own = toHubEndpoints(hub).servers;
  return servers.some((server) => own.includes(server) || API_SERVER_NAMES.test(new URL(server).hostname));
}

/**
 * Decides whether one target is the hub, and keeps the decision until the target is replaced. Each attempt to decide sends at most three
 * requests, and only for a target namespace that has the name of Purser's namespace.
 */
export class HubIdentity {
  readonly #hub: HubSettings;
  readonly #isHub: boolean;
  readonly #found = new Once<boolean>();

  /** Creates the identity of a target; `isHub` is true if the registration alone identifies the target as the hub. */
  constructor(hub: HubSettings, isHub: boolean) {
    this.#hub = hub;
    this.#isHub = isHub;
  }

  /** Returns whether a namespace of the target is, or may be, Purser's own namespace. Throws an IssueError if a request fails. */
  async isPurserNamespace(namespace: string, target: HubCandidate, signal: AbortSignal): Promise<boolean> {
    if (namespace !== this.#hub.namespace || this.#isHub) return namespace === this.#hub.namespace;
    // Several callers may wait for one result, so none of them can cancel the requests.
    return await rejectOnAbort(
      this.#found.get(() => this.#mayBeHub(target)),
      signal,
    );
  }

  /**
   * Returns whether the target may be the hub. Checks whether a key of the hub signed Purser's token; if that is inconclusive, compares the
   * UIDs of kube-system. Returns true if Purser is not permitted to read a UID, or if a UID is missing.
   */
  async #mayBeHub(target: HubCandidate): Promise<boolean> {
    const token = target.credential?.type === 'token' ? target.credential.token.reveal() : undefined;
    const keys = token === undefined ? undefined : await this.#readSigningKeys();
    if (token !== undefined && keys !== undefined) {
      if (keys.some((key) => isSignedBy(token, key))) return true;
      if (token.split('.').length === 3 && parseServiceAccountNamespace(target.username) !== undefined) return false;
    }
    const targetNamespace = await ignoreRejection(target.call((client, options) => client.get(Namespaces, KUBE_SYSTEM, options)));
    const hubNamespace = targetNamespace && (await ignoreRejection(this.#hub.client.get(Namespaces, KUBE_SYSTEM)));
    const uids = [uidOf(targetNamespace), uidOf(hubNamespace)];
    return uids.includes(undefined) || uids[0] === uids[1];
  }

  /** Returns the keys with which the hub signs service account tokens; undefined if the hub rejects the request or has no usable key. */
  async #readSigningKeys(): Promise<readonly KeyObject[] | undefined> {
    const text = await ignoreRejection(this.#hub.client.getText(KEY_SET_PATH));
    return text === undefined ? undefined : parseKeySet(text);
  }
}

/** DNS names of the API server inside a cluster. */
const API_SERVER_NAMES = /^kubernetes(\.default(\.svc(\..+)?)?)?$/;
const KUBE_SYSTEM = { name: 'kube-system' };

/** Returns the response; undefined if its status is 401, 403 or 404. Throws an IssueError for all other errors. */
async function ignoreRejection<T>(response: Promise<T>): Promise<T | undefined> {
  try {
    return await response;
  } catch (error) {
    if (error instanceof StatusError && REJECTION_CODES.has(error.code)) return undefined;
    const cause = error instanceof Error && error.message !== '' ? `: ${error.message}` : '';
    throw new IssueError('IdentityUnknown', `a request to compare the cluster with the hub failed${cause}`);
  }
}

const REJECTION_CODES: ReadonlySet<number> = new Set([401, 403, 404]);
