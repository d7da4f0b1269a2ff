// Addresses of Secrets that name a service account on the hub. The audience of a token contains only the address that the token is sent to.
// A second Secret with the same address could make Purser send such a token to another server through another proxy, or use the token for
// another Cluster. The age of a Secret does not show which of two Secrets named the address first, so Purser uses neither Secret.

import type { Secret, Stored } from '../api/resources.ts';
import type { Lookup, Store } from '../kube/store.ts';
import { isFederated, readAddresses } from './credential.ts';
import { isManaged } from './registry.ts';

/** An index of the credential Secrets in one namespace by address. */
export class FederatedAddresses {
  readonly #secretsOf: readonly Lookup<Secret>[];

  /** Creates an index of the Secrets in `namespace`: Purser's namespace, the only one in which a Secret can name a service account. */
  constructor(credentials: readonly Store<Secret>[], namespace: string) {
    this.#secretsOf = credentials.map((store) =>
      store.index((secret) => (secret.metadata.namespace === namespace ? findFederatedAddresses(secret) : [])),
    );
  }

  /** Returns whether another federated Secret in the namespace lists an address of this Secret; false if this Secret is not federated. */
  hasConflict(secret: Stored<Secret>): boolean {
    const { uid } = secret.metadata;
    return findFederatedAddresses(secret).some((server) =>
      this.#secretsOf.some((secretsOf) => secretsOf(server).some(({ metadata }) => metadata.uid !== uid)),
    );
  }
}

/** Cache of addresses by Secret, because every probe needs them. */
const addressCache = new WeakMap<Secret, readonly string[]>();

function findFederatedAddresses(secret: Secret): readonly string[] {
  const addresses = addressCache.get(secret) ?? (isFederated(secret) && !isManaged(secret) ? readAddresses(secret) : []);
  addressCache.set(secret, addresses);
  return addresses;
}
