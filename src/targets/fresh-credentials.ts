// Credentials that are newer than those of the informers: read from the hub after a cluster rejected a credential.

import { type Secret, Secrets, type Stored } from '../api/resources.ts';
import type { KubeClient } from '../kube/client.ts';
import type { Clock } from '../std/clock.ts';
import { SingleFlight } from '../std/single-flight.ts';
import { isSameRegistration, type Registration } from './policy/registration.ts';
import { renewedName } from './policy/renewed-secret.ts';
import { type RegisteredCluster, reduceCredential, registrationOf } from './registry.ts';

/** The registered Secret of a cluster, and the one with its renewed token. */
export type CredentialSecrets = Pick<RegisteredCluster, 'credential' | 'renewed'>;

export interface FreshCredentialsOptions {
  readonly clock: Clock;
  /** The hub; undefined in tests without a hub, in which nothing is read. */
  readonly hub?: { readonly client: KubeClient };
  /** Namespaces of credential Secrets. */
  readonly credentialNamespaces: readonly string[];
}

/** Keeps newer credentials until the informers have received them. */
export class FreshCredentials {
  readonly #options: FreshCredentialsOptions;
  /** Newer credentials by Cluster name. */
  readonly #newer = new Map<string, { readonly stale: Registration; readonly secrets: CredentialSecrets }>();
  /** Time of the last read by Cluster name, on the monotonic clock. */
  readonly #readAt = new Map<string, number>();
  readonly #reading = new SingleFlight<void>();

  constructor(options: FreshCredentialsOptions) {
    this.#options = options;
  }

  /** Returns the registration with the newer credential, if there is one and the informers still have the old one; otherwise unchanged. */
  latest(registered: RegisteredCluster): RegisteredCluster {
    const { name } = registered.cluster.metadata;
    const newer = this.#newer.get(name);
    if (newer === undefined) return registered;
    if (isSameRegistration(newer.stale, registrationOf(registered))) return { ...registered, ...newer.secrets };
    this.#newer.delete(name);
    return registered;
  }

  /** Reads the Secrets again, at most once every ten seconds for each cluster. Ignores errors of the hub. */
  async refresh(registered: RegisteredCluster): Promise<void> {
    const { name } = registered.cluster.metadata;
    await this.#reading.do(name, async () => {
      const now = this.#options.clock.monotonic();
      if (now - (this.#readAt.get(name) ?? -Infinity) < MIN_INTERVAL_MS) return;
      this.#readAt.set(name, now);
      const secrets = await this.read(registered).catch(() => undefined);
      const stale = registrationOf(registered);
      if (secrets !== undefined && !isSameRegistration(stale, registrationOf({ ...registered, ...secrets })))
        this.#newer.set(name, { stale, secrets });
    });
  }

  /** Returns the Secrets as the hub has them now. Throws errors of requests to the hub. */
  async read({ cluster, credential, renewed }: RegisteredCluster, signal?: AbortSignal): Promise<CredentialSecrets> {
    const { hub, credentialNamespaces } = this.#options;
    const controller = cluster.spec.authInfo?.controller;
    const isReadable = controller?.kind === 'Secret' && credentialNamespaces.includes(controller.namespace);
    if (hub === undefined || !isReadable) return { credential, renewed };
    const { namespace, name } = controller;
    const [found, successor] = await Promise.all([name, renewedName(name)].map((each) => findSecret(hub.client, namespace, each, signal)));
    return { credential: found, renewed: successor };
  }

  /** Forgets a deleted Cluster. */
  forget(name: string): void {
    this.#newer.delete(name);
    this.#readAt.delete(name);
  }
}

const MIN_INTERVAL_MS = 10_000;
const TIMEOUT_MS = 5_000;

/** Returns a Secret; undefined if it does not exist. A list with one name needs no permission beyond those of the informers. */
async function findSecret(
  client: KubeClient,
  namespace: string,
  name: string,
  signal: AbortSignal | undefined,
): Promise<Stored<Secret> | undefined> {
  const { items } = await client.list(Secrets, { namespace, fieldSelector: `metadata.name=${name}`, signal, timeoutMs: TIMEOUT_MS });
  const [found] = items;
  return found && reduceCredential(found);
}
