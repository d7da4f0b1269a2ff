// Addresses of Secrets that name a service account of the hub. The audience of a token contains only the address that the token is sent
// to, so that all Secrets with an address must reach the same server: the oldest Secret determines its certificate authorities and proxy.

import type { Secret, Stored } from '../api/resources.ts';
import type { Lookup, Store } from '../kube/store.ts';
import { isFederated, type Route, readRoute } from './credential.ts';
import { isManaged } from './registered-cluster.ts';

/** An index of the credential Secrets of one namespace by address. */
export class FederatedAddresses {
  readonly #secretsOf: readonly Lookup<Secret>[];

  /** `namespace` is that of Purser, in which alone a Secret may name a service account. */
  constructor(credentials: readonly Store<Secret>[], namespace: string) {
    this.#secretsOf = credentials.map((store) =>
      store.index((secret) => (secret.metadata.namespace === namespace ? routeOf(secret).servers : [])),
    );
  }

  /** Returns whether the oldest Secret with an address of this Secret has another certificate authority or proxy, or an unreadable one. */
  isTaken(secret: Stored<Secret>): boolean {
    const { servers, digest } = routeOf(secret);
    return servers.some((server) => {
      const oldest = this.#secretsOf.flatMap((secretsOf) => secretsOf(server)).reduce(older, secret);
      return oldest.metadata.uid !== secret.metadata.uid && (digest === undefined || routeOf(oldest).digest !== digest);
    });
  }
}

const routes = new WeakMap<Secret, Route>();

function routeOf(secret: Secret): Route {
  const known = routes.get(secret);
  if (known !== undefined) return known;
  const route = isFederated(secret) && !isManaged(secret) ? readRoute(secret) : NO_ROUTE;
  routes.set(secret, route);
  return route;
}

const NO_ROUTE: Route = { servers: [], digest: undefined };

/** Returns the older of two Secrets; of two that were created in the same second, the one with the lower UID. */
function older(a: Stored<Secret>, b: Stored<Secret>): Stored<Secret> {
  return ageOf(a) <= ageOf(b) ? a : b;
}

function ageOf({ metadata: { creationTimestamp = '', uid } }: Stored<Secret>): string {
  return `${creationTimestamp} ${uid}`;
}
