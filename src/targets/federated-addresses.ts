// Addresses of Secrets that name a service account on the hub. The audience of a token contains only the address that the token is sent to.
// A second Secret with the same address could send such a token to another server through another proxy, or use it for another Cluster. The
// age of a Secret does not show which of two Secrets named the address first, so Purser uses neither.

import type { Secret, Stored } from '../api/resources.ts';
import type { Lookup, Store } from '../kube/store.ts';
import { addressesOf, isFederated } from './credential.ts';
import { isManaged } from './registry.ts';

/** An index of the credential Secrets in one namespace by address. */
export class FederatedAddresses {
  readonly #secretsOf: readonly Lookup<Secret>[];

  /** `namespace` is Purser's namespace, the only one in which a Secret may name a service account. */
  constructor(credentials: readonly Store<Secret>[], namespace: string) {
    this.#secretsOf = credentials.map((store) =>
      store.index((secret) => (secret.metadata.namespace === namespace ? federatedAddresses(secret) : [])),
    );
  }

  /** Returns whether another Secret names an address of this Secret. */
  hasConflict(secret: Stored<Secret>): boolean {
    const { uid } = secret.metadata;
    return federatedAddresses(secret).some((server) =>
      this.#secretsOf.some((secretsOf) => secretsOf(server).some(({ metadata }) => metadata.uid !== uid)),
    );
  }
}

/** Cache of addresses by Secret, because every probe needs them. */
const known = new WeakMap<Secret, readonly string[]>();

function federatedAddresses(secret: Secret): readonly string[] {
  const addresses = known.get(secret) ?? (isFederated(secret) && !isManaged(secret) ? addressesOf(secret) : []);
  known.set(secret, addresses);
  return addresses;
}
