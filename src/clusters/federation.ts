// Clusters that reject tokens issued by the hub.

import { reviewAccess } from '../access/hub-review.ts';
import type { KubeClient } from '../kube/client.ts';
import type { Target } from '../targets/target.ts';
import { toFederationFault } from './policy/access.ts';
import type { Fault } from './policy/conditions.ts';

/**
 * Returns the fault of a cluster that rejects tokens issued by the hub, with their issuer and audience and a remedy; any other fault
 * unchanged. Checks with a review on the hub whether clusters can read its keys. Throws only when `signal` aborts.
 */
export async function explainRejection(
  fault: Fault,
  { credential, activeServer = '' }: Pick<Target, 'credential' | 'activeServer'>,
  hub: Pick<KubeClient, 'createReview'>,
  signal: AbortSignal,
): Promise<Fault> {
  const token = credential?.type === 'serviceAccount' ? credential.tokens.get(activeServer) : undefined;
  if (fault.reason !== 'CredentialRejected' || token === undefined) return fault;
  return toFederationFault(token, await areKeysPublic(hub, signal));
}

const ANONYMOUS = { username: 'system:anonymous', uid: '', groups: ['system:unauthenticated'], extra: {} };
const KEYS = { nonResourceAttributes: { path: '/openid/v1/jwks', verb: 'get' } };

/** Returns whether the hub publishes its keys; true if that is unknown. */
async function areKeysPublic(hub: Pick<KubeClient, 'createReview'>, signal: AbortSignal): Promise<boolean> {
  try {
    return (await reviewAccess(hub, ANONYMOUS, KEYS, { signal, timeoutMs: TIMEOUT_MS })).allowed;
  } catch {
    signal.throwIfAborted();
    return true;
  }
}

const TIMEOUT_MS = 5_000;
