// Which credential of Purser a Cluster refers to.

import type { Cluster } from '../../api/cluster.gen.ts';
import { fnv1a } from '../../std/hash.ts';

/** Returns `namespace/name` of the credential Secret; empty for Purser's own account on the hub, and without a credential. */
export function credentialKey({ spec }: Cluster): string {
  const controller = spec.authInfo?.controller;
  return controller?.kind === 'Secret' ? `${controller.namespace}/${controller.name}` : '';
}

/** Returns a digest of the key, for Secrets whose readers need not know the names of credentials; empty for an empty key. */
export function credentialDigest(cluster: Cluster): string {
  const key = credentialKey(cluster);
  return key === '' ? '' : fnv1a(key).toString(16).padStart(8, '0');
}
